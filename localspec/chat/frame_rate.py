"""The frame rate of the screen while a reply streams.

The engine's threads wait for one another many times a token, so that a model on all cores loses twice the share of a
core that the screen takes. The screen therefore keeps to a small share, on slow machines by drawing less often.
"""

from __future__ import annotations

import time
from collections.abc import Callable

FRAME_S = 1 / 10
SHARE = 0.015
"""The share of one core that drawing may take."""
LEEWAY_S = 0.03
"""Processor time besides, for a conversation that opens or the first words of a reply."""


class FrameRate:
    """Decides every ``FRAME_S`` about a frame; of two frames in a row one is always drawn."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, spent_s: Callable[[], float] = time.process_time
    ) -> None:
        """``spent_s`` is the processor time of the app, the thread that writes to the terminal included."""
        self._clock = clock
        self._spent_s = spent_s
        self.begin()

    def begin(self) -> None:
        """Start counting: there is something to draw from now on."""
        self._began_s = self._clock()
        self._spent_before_s = self._spent_s()
        self._left_out = False

    def due(self) -> bool:
        """True if this frame is to be drawn."""
        spent_s = self._spent_s() - self._spent_before_s
        allowed_s = SHARE * (self._clock() - self._began_s) + LEEWAY_S
        self._left_out = not self._left_out and spent_s > allowed_s
        return not self._left_out
