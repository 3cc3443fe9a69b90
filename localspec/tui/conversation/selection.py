"""Which turn the reader has chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar


class Choosable(Protocol):
    """What can show that it is chosen."""

    def choose(self, chosen: bool) -> None:
        """Show that it is, or is no longer."""
        ...


T = TypeVar("T", bound=Choosable)


class Selection(Generic[T]):
    """One turn, or none; the turn shows it."""

    def __init__(self) -> None:
        self._turn: T | None = None

    @property
    def turn(self) -> T | None:
        return self._turn

    def choose(self, turn: T) -> None:
        """Choose it, and no other."""
        self.clear()
        self._turn = turn
        turn.choose(True)

    def clear(self) -> None:
        """None."""
        if self._turn is not None:
            self._turn.choose(False)
            self._turn = None

    def forget(self) -> None:
        """The turns are gone, and need not show anything any more."""
        self._turn = None

    def step(self, turns: Sequence[T], step: int) -> T | None:
        """The turn before or after the one chosen, at first the last; past the end none is."""
        at = turns.index(self._turn) if self._turn in turns else len(turns)
        at = max(0, at + step)
        self.clear()
        if at < len(turns):
            self.choose(turns[at])
        return self._turn
