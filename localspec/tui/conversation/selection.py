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
        self._view: T | None = None

    @property
    def view(self) -> T | None:
        return self._view

    def choose(self, view: T) -> None:
        """Choose it, and no other."""
        self.clear()
        self._view = view
        view.choose(True)

    def clear(self) -> None:
        """None."""
        if self._view is not None:
            self._view.choose(False)
            self._view = None

    def forget(self) -> None:
        """The turns are gone, and need not show anything any more."""
        self._view = None

    def step(self, views: Sequence[T], step: int) -> T | None:
        """The turn before or after the one chosen, at first the last; past the end none is."""
        at = views.index(self._view) if self._view in views else len(views)
        at = max(0, at + step)
        self.clear()
        if at < len(views):
            self.choose(views[at])
        return self._view
