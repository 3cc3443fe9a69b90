"""What takes long, said in rare whole sentences."""

from __future__ import annotations

import time
from collections.abc import Callable

from localspec.runtime.options import Progress

FIRST_S = 3.0
"""Before this nobody wonders."""
BETWEEN_S = 15.0


class Waiting:
    """Judges when a sentence is due. Callable from any thread, one at a time."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._due_s = 0.0
        self.begin()

    def begin(self) -> Progress:
        """Something begins that may take long; its progress is to be told to what is returned."""
        self._due_s = self._clock() + FIRST_S
        return self.show

    def show(self, what: str, fraction: float) -> None:
        """How far it has come, 0..1; said if it is time to."""
        if self._clock() >= self._due_s:
            self._due_s = self._clock() + BETWEEN_S
            self._say(f"{what[:1].upper()}{what[1:]}: {fraction * 100:.0f} per cent done.")
