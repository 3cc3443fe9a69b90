"""The turn that the reader has chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar


class Choosable(Protocol):
    """A widget that can show that it is chosen."""

    def choose(self, chosen: bool) -> None:
        """Show that it is chosen, or no longer."""
        ...


T = TypeVar("T", bound=Choosable)


class Selection(Generic[T]):
    """The chosen widget, at most one, which shows that it is chosen."""

    def __init__(self) -> None:
        self._view: T | None = None

    @property
    def view(self) -> T | None:
        return self._view

    def choose(self, view: T) -> None:
        """Choose this one and no other."""
        self.clear()
        self._view = view
        view.choose(True)

    def clear(self) -> None:
        """Choose none."""
        if self._view is not None:
            self._view.choose(False)
            self._view = None

    def forget(self) -> None:
        """Choose none, without drawing: the widgets are gone."""
        self._view = None

    def step(self, views: Sequence[T], step: int) -> T | None:
        """Choose the previous or next widget, at first the last; past the end, none."""
        at = views.index(self._view) if self._view in views else len(views)
        at = max(0, at + step)
        self.clear()
        if at < len(views):
            self.choose(views[at])
        return self._view
