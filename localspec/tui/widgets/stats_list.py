"""Groups of replies in rows, one of them highlighted."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from localspec.tui.stats.rows import Row
from localspec.tui.widgets.stats_page import drawn


class StatsList(OptionList, can_focus=False):
    """The screen's keys move it."""

    DEFAULT_CSS = """
    StatsList {
        border: none; padding: 0; background: $background; color: $foreground; height: auto;
        scrollbar-size: 0 1; scrollbar-gutter: stable; scrollbar-background: $background;
        scrollbar-color: $panel; scrollbar-color-hover: $quiet; scrollbar-color-active: $accent;
        scrollbar-background-hover: $background; scrollbar-background-active: $background;
    }
    StatsList > .option-list--option { padding: 0 1; text-wrap: nowrap; text-overflow: clip; }
    StatsList > .option-list--option-highlighted { background: $panel; color: $foreground; text-style: bold; }
    StatsList:ansi > .option-list--option-highlighted {
        background: $block-cursor-background; color: $block-cursor-foreground;
    }
    StatsList > .option-list--option-hover { background: $surface; }
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

    def show(self, rows: Sequence[Row], marked: str | None) -> None:
        """Draw what differs."""
        self._filling = True
        ids = [row.id for row in rows]
        if ids == [row.id for row in self._rows]:
            for index, (old, new) in enumerate(zip(self._rows, rows, strict=True)):
                if old != new:
                    self.replace_option_prompt_at_index(index, drawn(new.text))
        else:
            self.set_options([Option(drawn(row.text), id=row.id) for row in rows])
        self._rows = list(rows)
        at = ids.index(marked) if marked in ids else None
        if self.highlighted != at:
            self.highlighted = at
        self._filling = False

    def move(self, step: int) -> None:
        """Go up or down, and stay at the ends."""
        if self.highlighted is not None:
            self.highlighted = max(0, min(self.option_count - 1, self.highlighted + step))

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and not self._filling:
            self.post_message(self.Marked(str(self.get_option_at_index(highlighted).id)))
