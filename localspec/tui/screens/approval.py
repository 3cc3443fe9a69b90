"""The question whether a tool may be called, with the arguments of the call."""

from __future__ import annotations

from textwrap import shorten
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from localspec.base.visible import visible, visible_line
from localspec.chat.commands import places
from localspec.chat.tools.approvals import Approval
from localspec.chat.tools.chain import ActiveCall
from localspec.chat.tools.wording import arguments_of
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.layouts import ChoiceList, DialogBox, DialogScreen
from localspec.tui.widgets.key_row import KeyRow, titled

_CHOICES = (
    (Approval.NO, "Not this time"),
    (Approval.ONCE, "Once"),
    (Approval.CONVERSATION, "In this conversation"),
    (Approval.ALWAYS, "Always, until the tool changes"),
    (Approval.NEVER, "Never"),
)
"""The first is marked at the beginning: Enter, pressed by somebody who was typing, allows nothing."""
_LONGEST_ABOUT = 240
"""A server's words may not push the arguments and the answers off the screen; `localspec mcp test` prints all."""


class ApprovalScreen(DialogScreen[Approval | None]):
    """Returns the approval; None to stop the calls."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_APPROVAL.commands)
    DEFAULT_CSS = """
    ApprovalScreen .dialog-title { max-height: 2; margin: 0; }
    ApprovalScreen #approval-arguments {
        height: auto; max-height: 20vh; margin: 1 0; scrollbar-size-vertical: 1; scrollbar-background: $surface;
    }
    ApprovalScreen.-short .dialog-title, ApprovalScreen.-short .dialog-quiet { max-height: 1; }
    ApprovalScreen.-short #approval-arguments { margin: 0; }
    ApprovalScreen.-short ChoiceList { max-height: 40vh; }
    """

    def __init__(self, call: ActiveCall) -> None:
        super().__init__()
        self._call = call
        self._arguments = VerticalScroll(id="approval-arguments", can_focus=False)
        self._list = ChoiceList(*(words for _, words in _CHOICES), markup=False)

    def compose(self) -> ComposeResult:
        tool = self._call.tool
        assert tool is not None, "a tool that does not exist is not asked about"
        of = f" of the server {tool.server} ({tool.place})" if tool.server else ""
        with DialogBox(id="approval"):
            yield Static(Content(visible_line(f"The model calls {self._call.call.name}")), classes="dialog-title")
            about = shorten(f"A tool{of}: {tool.tool.description}", _LONGEST_ABOUT, placeholder=" …")
            yield Static(Content(visible_line(about)), classes="dialog-quiet")
            if self._call.changed:
                yield Static(Content("It has changed since you allowed it always."), classes="dialog-quiet")
            with self._arguments:
                yield Static(Content(visible(arguments_of(self._call.call) or "It has no arguments.")))
            yield self._list
            yield KeyRow(id="approval-keys")

    def on_mount(self) -> None:
        self._list.highlighted = 0
        self.call_after_refresh(self._hint)

    def on_resize(self) -> None:
        self.call_after_refresh(self._hint)

    def _hint(self) -> None:
        """Show the keys, that for more arguments where they do not fit."""
        more = (places.APPROVAL_PAGE_DOWN,) if self._arguments.max_scroll_y else ()
        self.query_one(KeyRow).show(titled(places.APPROVAL_CHOOSE, *more, places.APPROVAL_STOP))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(_CHOICES[event.option_index][0])

    @handles(places.APPROVAL_UP, -1)
    @handles(places.APPROVAL_DOWN, 1)
    def move(self, step: int) -> None:
        self._list.move(step)

    @handles(places.APPROVAL_PAGE_UP, -1)
    @handles(places.APPROVAL_PAGE_DOWN, 1)
    def scroll_arguments(self, step: int) -> None:
        self._arguments.scroll_relative(y=step * max(1, self._arguments.size.height - 1), animate=False)

    @handles(places.APPROVAL_CHOOSE)
    def choose(self) -> None:
        self.dismiss(_CHOICES[self._list.highlighted or 0][0])

    @handles(places.APPROVAL_STOP)
    def stop(self) -> None:
        self.dismiss(None)
