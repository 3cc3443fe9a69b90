"""The settings in rows under the headings of their sections, one of them highlighted."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from localspec.tui.settings_browser import HEADING, QUIET, STRONG, TEXT, WARNING, Part, Row

LOOKS = {QUIET: "$quiet", TEXT: "", STRONG: "bold", WARNING: "$warning"}


class SettingList(OptionList, can_focus=False):
    """Never takes the focus: whoever types, types into the filter or the field."""

    DEFAULT_CSS = """
    SettingList {
        border: none; padding: 0; background: $background; color: $foreground; height: 1fr;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; scrollbar-background: $background;
        scrollbar-color: $panel; scrollbar-color-hover: $quiet; scrollbar-color-active: $accent;
        scrollbar-background-hover: $background; scrollbar-background-active: $background;
    }
    SettingList > .option-list--option { padding: 0 1; }
    SettingList > .option-list--option-highlighted { background: $panel; color: $foreground; text-style: bold; }
    SettingList:ansi > .option-list--option-highlighted {
        background: $block-cursor-background; color: $block-cursor-foreground;
    }
    SettingList > .option-list--option-hover { background: $surface; }
    SettingList > .option-list--option-disabled { color: $foreground; }
    """

    class Marked(Message):
        """The reader has gone to a row."""

        def __init__(self, row_id: str) -> None:
            super().__init__()
            self.row_id = row_id

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._rows: list[Row] = []
        self._filling = False

    @property
    def cells(self) -> int:
        """The width of a row."""
        return max(30, self.size.width - 4)

    def show(self, rows: Sequence[Row], marked: str | None) -> None:
        """Draw what differs."""
        self._filling = True
        ids = [row.id for row in rows]
        if ids == [row.id for row in self._rows]:
            for index, (old, new) in enumerate(zip(self._rows, rows, strict=True)):
                if old != new:
                    self.replace_option_prompt_at_index(index, content(new.parts))
        else:
            self.set_options([Option(content(row.parts), id=row.id, disabled=row.kind == HEADING) for row in rows])
        self._rows = list(rows)
        at = ids.index(marked) if marked in ids else None
        if self.highlighted != at:
            self.highlighted = at
        self._filling = False

    def move(self, step: int) -> None:
        """Go up or down by so many rows, past headings, and stay at the ends."""
        open_rows = [index for index, row in enumerate(self._rows) if row.kind != HEADING]
        if self.highlighted not in open_rows:
            return
        at = open_rows.index(self.highlighted) + step
        self.highlighted = open_rows[max(0, min(len(open_rows) - 1, at))]
        if self.highlighted == open_rows[0]:
            self.scroll_home(animate=False)

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and not self._filling:
            self.post_message(self.Marked(str(self.get_option_at_index(highlighted).id)))


def content(parts: Sequence[Part]) -> Content:
    return Content.assemble(*((text, LOOKS[look]) for text, look in parts))
