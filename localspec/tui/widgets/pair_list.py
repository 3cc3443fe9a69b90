"""The pairs in rows, below them the repositories found on the Hub, one of them highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from localspec.base.visible import visible_line
from localspec.chat.pairs.browser import Browser, row_of
from localspec.chat.pairs.entry import QUIET, TEXT, Entry, row
from localspec.chat.pairs.hub_words import model_row
from localspec.models.pairs.suitability import AMBER, GREEN, RED
from localspec.tui.widgets.row_list import RowList

_BLOCK = 60
"""A third of the most pairs that are rows at a time; there may be thousands."""
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

    def __init__(self) -> None:
        super().__init__(_drawn, lambda row: row.is_heading)

    def show(self, browser: Browser) -> None:
        """Draw the rows that differ: downloads, then pairs, then repositories of the Hub."""
        cells = max(40, self.size.width - 4)
        entries = browser.entries
        first, last = _window(entries, browser.marked_row)
        rows = [PairRow(entry.pair.id, tuple(row(entry, cells))) for entry in entries[first:last]]
        if (queued_n := sum(entry.is_queued for entry in entries)) and not first:
            rows.insert(queued_n, _heading(":pairs", "Pairs"))
            rows.insert(0, _heading(":queue", f"Downloads: {browser.queue_heading}"))
        if first:
            rows.insert(0, _heading(":above", f"{first} more above"))
        if last < len(entries):
            rows.append(_heading(":below", f"{len(entries) - last} more below; type to filter"))
        if browser.hub_heading:
            rows.append(_heading("hub", browser.hub_heading))
        for model in browser.models:
            name, columns = model_row(model, cells)
            rows.append(PairRow(row_of(model), ((name, TEXT), (columns, QUIET))))
        self.fill(rows, browser.marked_row)


def _window(entries: Sequence[Entry], marked: str | None) -> tuple[int, int]:
    """The beginning and the end of the entries that become rows: whole blocks around the highlighted one."""
    if len(entries) <= 3 * _BLOCK:
        return 0, len(entries)
    at = next((place for place, entry in enumerate(entries) if entry.pair.id == marked), 0)
    block = min(max(1, at // _BLOCK), (len(entries) - 1) // _BLOCK - 1)
    return (block - 1) * _BLOCK, min(len(entries), (block + 2) * _BLOCK)


def _heading(row_id: str, text: str) -> PairRow:
    """A heading; ``row_id`` is one that no pair and no repository has."""
    return PairRow(row_id, ((f"  {text}", QUIET),), is_heading=True)


def _drawn(row: PairRow) -> Content:
    return Content.assemble(*((visible_line(text), _LOOKS[look]) for text, look in row.parts))
