"""The time for which rejected proposals stay on screen: a moment, or until more text comes."""

from __future__ import annotations

from collections.abc import Callable

GHOST_S = 0.3


class GhostTimer:
    """A timer that is read, not waited for."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: float | None = None

    @property
    def lasts(self) -> bool:
        """True while there is something on screen to take away."""
        return self._until is not None

    def begin(self) -> None:
        """Start: something is on screen from now on."""
        self._until = self._clock() + GHOST_S

    def end(self) -> None:
        """Stop: nothing is on screen any more."""
        self._until = None

    def over(self) -> bool:
        """True, once, when the moment has passed."""
        if self._until is None or self._clock() < self._until:
            return False
        self._until = None
        return True
