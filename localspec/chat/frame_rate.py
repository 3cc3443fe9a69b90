"""How often the screen is drawn while a reply streams.

The engine's threads wait for one another many times a token. What the screen takes of a core, a model on all
cores loses twice that of its speed, so the screen keeps to a share of it, on slow machines by drawing less often.
"""

from __future__ import annotations

import time
from collections.abc import Callable

FRAME_S = 1 / 10
SHARE = 0.015
"""Of one core."""
LEEWAY_S = 0.03
"""For what is drawn at once: a conversation that opens, the first words of a reply."""


class FrameRate:
    """To be asked every ``FRAME_S``; of two frames that follow each other, one is always drawn."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, spent_s: Callable[[], float] = time.process_time
    ) -> None:
        """``spent_s`` is the processor time of the app, the thread that writes to the terminal included."""
        self._clock = clock
        self._spent_s = spent_s
        self.begin()

    def begin(self) -> None:
        """There is something to draw from now on."""
        self._began_s = self._clock()
        self._spent_before_s = self._spent_s()
        self._left_out = False

    def due(self) -> bool:
        """Whether to draw this frame."""
        spent_s = self._spent_s() - self._spent_before_s
        allowed_s = SHARE * (self._clock() - self._began_s) + LEEWAY_S
        self._left_out = not self._left_out and spent_s > allowed_s
        return not self._left_out
