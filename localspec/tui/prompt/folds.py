"""The marks of long pastes in a text area: made, unfolded, taken out as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.chat.compose.message import Enclosures, is_long, is_too_long

if TYPE_CHECKING:
    from localspec.tui.prompt.area import PromptArea


class Folds:
    """What the marks stand for is in the enclosures; where they are, in the area."""

    def __init__(self, enclosures: Enclosures, area: PromptArea) -> None:
        self._enclosures = enclosures
        self._area = area

    def folded(self, text: str) -> str:
        """What stands in the line for a text that was pasted."""
        return self._enclosures.fold(text) if is_long(text) else text

    def shortened(self, text: str) -> str:
        """What stands in the line for a text that was written elsewhere."""
        return self._enclosures.fold(text) if is_too_long(text) else text.removesuffix("\n")

    def before_cursor(self) -> int:
        """How many characters before the cursor are a mark; 0 if it is not behind one."""
        at = self._area.index
        mark = self._enclosures.mark_around(self._area.text, at)
        return at - mark.start() if mark is not None and at == mark.end() else 0

    def unfold(self) -> bool:
        """Put the text of the mark at the cursor in its place; False if it is too long for that."""
        mark = self._enclosures.mark_around(self._area.text, self._area.index)
        pasted = self._enclosures.pasted(mark[0]) if mark is not None else ""
        if is_too_long(pasted):
            return False
        if mark is not None:
            self._area.put(pasted, mark.start(), mark.end())
        return True
