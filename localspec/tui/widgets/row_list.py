"""Lists that redraw only the rows that differ, and whose highlight is moved by the keys of the field beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets.option_list import Option

from localspec.tui.textual_fixes.option_list import GuardedOptionList

_HIGHLIGHTED = "option-list--option-highlighted"


class Row(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=Row)


class QuietList(GuardedOptionList, can_focus=False):
    """The look of lists. Never takes the focus, which stays with the field beside it.

    In the terminal's own sixteen colours, of which nobody knows how they contrast, all text of the highlighted row has
    the one colour that themes pair with the bar; grey or green would be lost on it.
    """

    DEFAULT_CSS = """
    QuietList {
        border: none; padding: 0; background: $background; color: $foreground; height: 1fr;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
    }
    QuietList > .option-list--option { padding: 0 1; }
    QuietList > .option-list--option-highlighted { background: $panel; color: $foreground; text-style: bold; }
    QuietList > .option-list--option-hover { background: $surface; }
    QuietList:ansi > .option-list--option-highlighted {
        background: $block-cursor-background; color: $block-cursor-foreground;
    }
    """

    def move(self, step: int) -> None:
        """Go up or down by so many rows, and stay at the ends."""
        if self.highlighted is not None:
            self.highlighted = max(0, min(self.option_count - 1, self.highlighted + step))

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if not self.app.native_ansi_color or not self._is_highlighted(self.scroll_offset.y + y):
            return strip
        colour = self.get_visual_style("option-list--option", _HIGHLIGHTED).rich_style.color
        return Strip(Segment.apply_style(strip, post_style=Style(color=colour, dim=False)), strip.cell_length)

    def _is_highlighted(self, line: int) -> bool:
        return line < len(self._lines) and self._lines[line][0] == self.highlighted


class RowList(QuietList, Generic[R], can_focus=False):
    """Rows, one of them highlighted; a row may be a heading, which cannot be."""

    DEFAULT_CSS = """
    RowList > .option-list--option-disabled { color: $foreground; }
    """

    class Marked(Message):
        """The user highlighted a row."""

        def __init__(self, row_id: str) -> None:
            super().__init__()
            self.row_id = row_id

    def __init__(self, draw: Callable[[R], Content], is_heading: Callable[[R], bool] = lambda row: False) -> None:
        super().__init__(markup=False)
        self._draw = draw
        self._is_heading = is_heading
        self._rows: list[R] = []
        self._filling = False

    @property
    def marked(self) -> str | None:
        """The id of the highlighted row, at once; ``Marked`` comes later. None without rows."""
        return self._rows[self.highlighted].id if self.highlighted is not None and self._rows else None

    def fill(self, rows: Sequence[R], marked: str | None) -> None:
        """Draw the rows that differ, and highlight the row of this id."""
        self._filling = True
        ids = [row.id for row in rows]
        if ids == [row.id for row in self._rows]:
            for index, (old, new) in enumerate(zip(self._rows, rows, strict=True)):
                if old != new:
                    self.replace_option_prompt_at_index(index, self._draw(new))
        else:
            self.set_options([Option(self._draw(row), id=row.id, disabled=self._is_heading(row)) for row in rows])
        self._rows = list(rows)
        at = ids.index(marked) if marked in ids else None
        if self.highlighted != at:
            self.highlighted = at
        self._filling = False

    def move(self, step: int) -> None:
        """Go up or down by so many rows, past headings, and stay at the ends."""
        open_rows = [index for index, row in enumerate(self._rows) if not self._is_heading(row)]
        if self.highlighted not in open_rows:
            return
        at = open_rows.index(self.highlighted) + step
        self.highlighted = open_rows[max(0, min(len(open_rows) - 1, at))]
        if 0 < self.highlighted == open_rows[0]:
            self.scroll_home(animate=False)  # to the heading

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and not self._filling:
            self.post_message(self.Marked(str(self.get_option_at_index(highlighted).id)))
