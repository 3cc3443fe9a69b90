"""How long rejected proposals are in sight: for a moment, or until more text comes."""

from __future__ import annotations

from collections.abc import Callable

GHOST_S = 0.3


class GhostTimer:
    """Of the latest round alone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: float | None = None

    @property
    def lasts(self) -> bool:
        """Whether there is still something to take away."""
        return self._until is not None

    def begin(self) -> None:
        """Something is in sight from now on."""
        self._until = self._clock() + GHOST_S

    def end(self) -> None:
        """Nothing is in sight any more."""
        self._until = None

    def over(self) -> bool:
        """Whether the moment has passed; told once."""
        if self._until is None or self._clock() < self._until:
            return False
        self._until = None
        return True
