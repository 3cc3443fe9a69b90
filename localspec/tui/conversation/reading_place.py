"""The reader's place in a conversation, kept while the turns above it grow or shrink."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.containers import VerticalScroll

from localspec.tui.conversation.page import Page
from localspec.tui.conversation.turn_view import TurnView


@dataclass(frozen=True, slots=True)
class ReadingPlace:
    """A visible turn and the row it begins at."""

    view: TurnView
    row: int

    @staticmethod
    def find(pane: VerticalScroll, views: Iterable[TurnView]) -> ReadingPlace | None:
        """The place of the first turn in view."""
        for view in views:
            if view.display and (row := _row(view)) + view.size.height > pane.scroll_y:
                return ReadingPlace(view, row) if row < pane.scroll_y + pane.size.height else None
        return None

    def keep(self, pane: VerticalScroll) -> None:
        """Scroll by as many rows as the turn has moved."""
        moved = _row(self.view) - self.row if self.view.is_attached else 0
        if moved:
            pane.scroll_relative(y=moved, animate=False, immediate=True)


def _row(view: TurnView) -> int:
    """The row at which a turn begins, from the top of the conversation; 0 if it is on no page."""
    page = view.parent
    return page.virtual_region.y + view.virtual_region.y if isinstance(page, Page) else 0
