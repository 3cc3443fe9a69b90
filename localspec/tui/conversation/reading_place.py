"""Where in a conversation the reader is, so that it stays in place while what is above grows or shrinks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.containers import VerticalScroll

from localspec.tui.conversation.page import Page
from localspec.tui.conversation.turn import TurnView


@dataclass(frozen=True, slots=True)
class ReadingPlace:
    """A turn that can be seen, and the row it begins at."""

    turn: TurnView
    row: int

    @staticmethod
    def find(pane: VerticalScroll, turns: Iterable[TurnView]) -> ReadingPlace | None:
        """At the first of the turns that is in view."""
        for turn in turns:
            if turn.display and (row := _row(turn)) + turn.size.height > pane.scroll_y:
                return ReadingPlace(turn, row) if row < pane.scroll_y + pane.size.height else None
        return None

    def keep(self, pane: VerticalScroll) -> None:
        """Scroll by as much as the turn has moved."""
        moved = _row(self.turn) - self.row if self.turn.is_attached else 0
        if moved:
            pane.scroll_relative(y=moved, animate=False, immediate=True)


def _row(turn: TurnView) -> int:
    """Where a turn begins, in rows from the very top; 0 if it is on no page."""
    page = turn.parent
    return page.virtual_region.y + turn.virtual_region.y if isinstance(page, Page) else 0
