"""Groups of replies in rows, one of them highlighted."""

from __future__ import annotations

from localspec.chat.stats.rows import StatsRow
from localspec.tui.widgets.row_list import RowList
from localspec.tui.widgets.stats_page import drawn


class StatsList(RowList[StatsRow], can_focus=False):
    """The screen's keys move it."""

    DEFAULT_CSS = """
    StatsList { height: auto; scrollbar-size: 0 1; }
    StatsList > .option-list--option { text-wrap: nowrap; text-overflow: clip; }
    """

    class Marked(RowList.Marked):
        """The user highlighted a row."""

    def __init__(self) -> None:
        super().__init__(lambda row: drawn(row.text))
