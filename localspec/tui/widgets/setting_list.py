"""The settings in rows under the headings of their sections, one of them highlighted."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from localspec.base.visible import visible_line
from localspec.chat.settings.browser import HEADING, QUIET, STRONG, TEXT, WARNING, Part, SettingRow
from localspec.tui.widgets.row_list import RowList

LOOKS = {QUIET: "$quiet", TEXT: "", STRONG: "bold", WARNING: "$warning"}


class SettingList(RowList[SettingRow], can_focus=False):
    """Moved by the screen's keys."""

    class Marked(RowList.Marked):
        """The user highlighted a row."""

    def __init__(self) -> None:
        super().__init__(lambda row: content(row.parts), lambda row: row.kind == HEADING)

    @property
    def cells(self) -> int:
        """The width of a row."""
        return max(30, self.size.width - 4)


def content(parts: Sequence[Part]) -> Content:
    return Content.assemble(*((visible_line(text), LOOKS[look]) for text, look in parts))
