"""The tools that the model may call, and the MCP servers that offer them, each with a switch."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import shorten
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList, Static

from localspec.base.errors import LocalSpecError
from localspec.base.visible import visible_line
from localspec.chat.commands import places
from localspec.chat.tools.browser import ToolBrowser, ToolRow
from localspec.chat.tools.use import ToolUse
from localspec.config import Config
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.layouts import DialogBox, DialogScreen
from localspec.tui.widgets.key_row import KeyRow, titled
from localspec.tui.widgets.row_list import RowList

_LOOK_S = 0.2
_NAME_CELLS = 18
_LONGEST_ABOUT = 160
"""Characters of a description below the list, where other sentences need room, too."""


class ToolsScreen(DialogScreen[None]):
    """Every switch is written at once, and counts with the next message."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_TOOLS.commands)
    DEFAULT_CSS = """
    ToolsScreen RowList {
        height: auto; max-height: 40vh; background: $surface; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-gutter: auto;
    }
    ToolsScreen .dialog-quiet { margin: 1 0 0 0; }
    """

    def __init__(self, use: ToolUse, config: Config, conversation: str, apply: Callable[[Config], None]) -> None:
        """``apply`` makes changed settings count, and has the servers reached that are switched on."""
        super().__init__()
        self._apply = apply
        self._browser = ToolBrowser(use, config, conversation)
        self._list: RowList[ToolRow] = RowList(_drawn)
        self._said = ""

    def compose(self) -> ComposeResult:
        with DialogBox(id="tools"):
            yield Static("Tools", classes="dialog-title")
            yield self._list
            yield Static("", classes="dialog-quiet", id="tools-note", markup=False)
            yield KeyRow(id="tools-keys")

    def on_mount(self) -> None:
        self.query_one(KeyRow).show(titled(places.TOOL_SWITCH, places.TOOL_ASK, places.TOOL_CLOSE))
        self._draw()
        self.set_interval(_LOOK_S, self._draw)  # servers come when they come

    def on_row_list_marked(self) -> None:
        self._draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.switch()

    @handles(places.TOOL_UP, -1)
    @handles(places.TOOL_DOWN, 1)
    def move(self, step: int) -> None:
        self._list.move(step)

    @handles(places.TOOL_PAGE_UP, -1)
    @handles(places.TOOL_PAGE_DOWN, 1)
    def page(self, direction: int) -> None:
        self.move(direction * max(1, self._list.size.height - 1))

    @handles(places.TOOL_SWITCH)
    def switch(self) -> None:
        if (marked := self._list.marked) is not None:
            self._said = ""
            try:
                self._apply(self._browser.switch(marked))
            except LocalSpecError as error:
                self._said = str(error)
            self._draw()

    @handles(places.TOOL_ASK)
    def ask_again(self) -> None:
        if (marked := self._list.marked) is not None:
            self._browser.ask_again(marked)
            self._draw()

    @handles(places.TOOL_CLOSE)
    def leave(self) -> None:
        self.dismiss(None)

    def _draw(self) -> None:
        rows = self._browser.rows
        self._list.fill(rows, marked := self._list.marked or rows[0].id)
        row = next((row for row in rows if row.id == marked), None)
        about = " · ".join(filter(None, (row.note, row.about))) if row is not None else ""
        about = shorten(about, _LONGEST_ABOUT, placeholder=" …")
        awaited = self._browser.awaited
        reaching = f"Waiting for {', '.join(awaited)} …" if awaited else ""
        note = "\n".join(filter(None, (self._said, about, reaching, *self._browser.troubles)))
        self.query_one("#tools-note", Static).update(Content("\n".join(map(visible_line, note.split("\n")))))


def _drawn(row: ToolRow) -> Content:
    name = row.id.partition(".")[2] if row.within else row.id
    mark, indent = "●" if row.on else "○", "  " if row.within else ""
    return Content.assemble(
        indent,
        (f"{mark} ", "$accent" if row.on else "$quiet"),
        visible_line(f"{name:<{_NAME_CELLS - len(indent)}}"),
        (visible_line(f" {row.about}"), "$quiet"),
    )
