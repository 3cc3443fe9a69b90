"""Progress of what takes long, in rare whole sentences."""

from __future__ import annotations

import time
from collections.abc import Callable

from localspec.base.visible import capitalised
from localspec.runtime.options import Progress

FIRST_S = 3.0
"""Seconds before the first sentence."""
BETWEEN_S = 15.0


class ProgressSentences:
    """Says how far something has come, every ``BETWEEN_S`` seconds. For any thread, one at a time."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._due_s = 0.0
        self.begin()

    def begin(self) -> Progress:
        """Begin anew; returns ``show``, to be called with the progress."""
        self._due_s = self._clock() + FIRST_S
        return self.show

    def show(self, what: str, fraction: float) -> None:
        """Take in the progress, 0 to 1; a sentence is written if one is due."""
        if self._clock() >= self._due_s:
            self._due_s = self._clock() + BETWEEN_S
            self._say(f"{capitalised(what)}: {fraction * 100:.0f} per cent done.")
