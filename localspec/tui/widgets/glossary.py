"""Words and their meanings in two columns, each wrapped in its own column."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

NARROWEST_MEANING = 24
"""The fewest cells for a meaning beside its word; with less room it is drawn below."""


class Glossary(Widget):
    """A heading over rows of (word, meaning)."""

    DEFAULT_CSS = "Glossary { height: auto; }"

    def __init__(self, title: str, rows: Sequence[tuple[Content, str]], word_cells: int) -> None:
        """``word_cells`` is the room for the longest word and the space behind it."""
        super().__init__()
        self._title = title
        self._rows = rows
        self._word_cells = word_cells

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))

    def render(self) -> Content:
        return Content("\n").join(self.lines(self.content_size.width))

    def lines(self, width: int) -> list[Content]:
        """The heading and all rows in lines of ``width`` cells."""
        lines = [Content.styled(self._title, "$accent bold")]
        beside = width - self._word_cells >= NARROWEST_MEANING
        indent = self._word_cells if beside else 2
        for word, meaning in self._rows:
            said = [Content.styled(part, "$quiet") for part in wrap(meaning, max(1, width - indent))] or [Content("")]
            first = Content.assemble(word, " " * (indent - word.cell_length), said.pop(0)) if beside else word
            lines += [first, *(Content.assemble(" " * indent, part) for part in said)]
        return lines
