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
        self.view: T | None = None

    def choose(self, view: T) -> None:
        """Choose this one and no other."""
        self.clear()
        self.view = view
        view.choose(True)

    def clear(self) -> None:
        if self.view is not None:
            self.view.choose(False)
            self.view = None

    def forget(self) -> None:
        """Choose none, without drawing: the widgets are gone."""
        self.view = None

    def step(self, views: Sequence[T], step: int) -> T | None:
        """Choose the previous or next widget, at first the last; past the end, none."""
        at = views.index(self.view) if self.view in views else len(views)
        at = max(0, at + step)
        self.clear()
        if at < len(views):
            self.choose(views[at])
        return self.view
