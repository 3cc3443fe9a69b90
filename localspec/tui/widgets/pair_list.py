"""The pairs in rows, one of them highlighted."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from localspec.pairs.suitability import AMBER, GREEN, RED
from localspec.tui.pairs.entry import QUIET, TEXT, Entry, row

_LOOKS = {QUIET: "$quiet", TEXT: "", GREEN: "$success", AMBER: "$warning", RED: "$error"}


class PairList(OptionList, can_focus=False):
    """Never takes the focus: whoever types, types into the filter."""

    DEFAULT_CSS = """
    PairList {
        border: none; padding: 0 1; background: $background; color: $foreground; height: 1fr;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; scrollbar-background: $background;
        scrollbar-color: $panel; scrollbar-color-hover: $quiet; scrollbar-color-active: $accent;
        scrollbar-background-hover: $background; scrollbar-background-active: $background;
    }
    PairList > .option-list--option { padding: 0 1; }
    PairList > .option-list--option-highlighted { background: $panel; color: $foreground; text-style: bold; }
    PairList:ansi > .option-list--option-highlighted {
        background: $block-cursor-background; color: $block-cursor-foreground;
    }
    PairList > .option-list--option-hover { background: $surface; }
    """

    class Marked(Message):
        """The reader has gone to a pair."""

        def __init__(self, pair_id: str) -> None:
            super().__init__()
            self.pair_id = pair_id

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._rows: list[tuple[str, list[tuple[str, str]]]] = []
        self._filling = False

    def show(self, entries: Sequence[Entry], marked: Entry | None) -> None:
        """Draw what differs."""
        cells = max(40, self.size.width - 4)
        rows = [(entry.pair.id, self._parts(entry, cells, entry == marked)) for entry in entries]
        self._filling = True
        if [pair_id for pair_id, _ in rows] == [pair_id for pair_id, _ in self._rows]:
            for index, (old, new) in enumerate(zip(self._rows, rows, strict=True)):
                if old != new:
                    self.replace_option_prompt_at_index(index, _content(new[1]))
        else:
            self.set_options([Option(_content(parts), id=pair_id) for pair_id, parts in rows])
        self._rows = rows
        ids = [pair_id for pair_id, _ in rows]
        at = ids.index(marked.pair.id) if marked else None
        if self.highlighted != at:
            self.highlighted = at
        self._filling = False

    def _parts(self, entry: Entry, cells: int, highlighted: bool) -> list[tuple[str, str]]:
        """A row; what is quiet would be lost on the bar of a theme that takes the terminal's own colours."""
        parts = row(entry, cells)
        if highlighted and self.app.native_ansi_color:
            return [(text, TEXT if look == QUIET else look) for text, look in parts]
        return parts

    def move(self, step: int) -> None:
        """Go up or down by one, and stay at the ends."""
        if self.highlighted is not None:
            self.highlighted = max(0, min(self.option_count - 1, self.highlighted + step))

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and not self._filling:
            self.post_message(self.Marked(str(self.get_option_at_index(highlighted).id)))


def _content(parts: Sequence[tuple[str, str]]) -> Content:
    return Content.assemble(*((text, _LOOKS[look]) for text, look in parts))
