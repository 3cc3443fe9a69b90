"""The pairs in rows, below them the repositories found on the Hub, one of them highlighted."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

from localspec.base.visible import visible_line
from localspec.chat.pairs.browser import Browser, row_of
from localspec.chat.pairs.entry import QUIET, TEXT, row
from localspec.chat.pairs.hub_words import model_row
from localspec.models.pairs.suitability import AMBER, GREEN, RED
from localspec.tui.widgets.row_list import RowList

_LOOKS = {QUIET: "$quiet", TEXT: "", GREEN: "$success", AMBER: "$warning", RED: "$error"}


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair, a repository or a heading as it is drawn."""

    id: str
    parts: tuple[tuple[str, str], ...]
    """Texts with their looks."""
    is_heading: bool = False


class PairList(RowList[PairRow], can_focus=False):
    """Moved by the screen's keys."""

    DEFAULT_CSS = "PairList { padding: 0 1; }"

    class Marked(RowList.Marked):
        """The user highlighted a row."""

    def __init__(self) -> None:
        super().__init__(_drawn, lambda row: row.is_heading)

    def show(self, browser: Browser) -> None:
        """Draw the rows that differ: pairs, and below them repositories of the Hub."""
        cells = max(40, self.size.width - 4)
        rows = [PairRow(entry.pair.id, tuple(row(entry, cells))) for entry in browser.entries]
        if browser.hub_heading:
            # An id that no row of a pair or a repository has.
            rows.append(PairRow("hub", ((f"  {browser.hub_heading}", QUIET),), is_heading=True))
        for model in browser.models:
            name, columns = model_row(model, cells)
            rows.append(PairRow(row_of(model), ((name, TEXT), (columns, QUIET))))
        self.fill(rows, browser.marked_row)


def _drawn(row: PairRow) -> Content:
    return Content.assemble(*((visible_line(text), _LOOKS[look]) for text, look in row.parts))
