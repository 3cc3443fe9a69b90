"""Marks that stand for long pastes in the text area."""

from __future__ import annotations

from localspec.chat.compose.message import Enclosures, is_long, is_too_long
from localspec.tui.prompt.area import PromptArea


class Folds:
    """Makes marks, and puts text in their place. The pasted texts are in the enclosures, the marks in the area."""

    def __init__(self, enclosures: Enclosures, area: PromptArea) -> None:
        self._enclosures = enclosures
        self._area = area

    def folded(self, text: str) -> str:
        """Return the text to insert for a paste: itself, or a mark if it is long."""
        return self._enclosures.fold(text) if is_long(text) else text

    def shortened(self, text: str) -> str:
        """Return the text to insert for one written in an editor: itself, or a mark if it is too long to edit here."""
        return self._enclosures.fold(text) if is_too_long(text) else text.removesuffix("\n")

    def inside(self, line: str, column: int) -> tuple[int, int] | None:
        """Return the columns of the mark whose inside a place is in; None if it is in none."""
        mark = self._enclosures.mark_around(line, column)
        return mark.span() if mark is not None and mark.start() < column < mark.end() else None

    def unfold(self) -> bool:
        """Put the text of the mark at the cursor in its place; False if it is too long for that."""
        mark = self._enclosures.mark_around(self._area.text, self._area.index)
        pasted = self._enclosures.pasted(mark[0]) if mark is not None else ""
        if is_too_long(pasted):
            return False
        if mark is not None:
            self._area.put(pasted, mark.start(), mark.end())
        return True
