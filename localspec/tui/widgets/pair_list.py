"""The pairs in rows, one of them highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from localspec.base.visible import visible_line
from localspec.chat.pairs.entry import QUIET, TEXT, Entry, row
from localspec.models.pairs.suitability import AMBER, GREEN, RED
from localspec.tui.widgets.row_list import RowList

_LOOKS = {QUIET: "$quiet", TEXT: "", GREEN: "$success", AMBER: "$warning", RED: "$error"}


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair as it is drawn."""

    id: str
    parts: tuple[tuple[str, str], ...]
    """Texts with their looks."""


class PairList(RowList[PairRow], can_focus=False):
    """Moved by the screen's keys."""

    DEFAULT_CSS = "PairList { padding: 0 1; }"

    class Marked(RowList.Marked):
        """The user highlighted a pair."""

        @property
        def pair_id(self) -> str:
            return self.row_id

    def __init__(self) -> None:
        super().__init__(_drawn)

    def show(self, entries: Sequence[Entry], marked: Entry | None) -> None:
        """Draw the rows that differ."""
        cells = max(40, self.size.width - 4)
        rows = [PairRow(entry.pair.id, tuple(row(entry, cells))) for entry in entries]
        self.fill(rows, marked.pair.id if marked else None)


def _drawn(row: PairRow) -> Content:
    return Content.assemble(*((visible_line(text), _LOOKS[look]) for text, look in row.parts))
