"""Where the reader writes: grows with the text, sends on Enter, and is always ready."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Static, TextArea

from localspec.tui.actions import ACTIONS
from localspec.tui.keys import prompt_bindings

_OWN = {action.id for action in ACTIONS}


class PromptArea(TextArea):
    """The text area itself; see ``Prompt``."""

    BINDINGS: ClassVar[list[BindingType]] = prompt_bindings()

    async def _on_key(self, event: events.Key) -> None:
        """Let our own bindings have their keys; a text area would insert Enter as text.

        A priority binding would not do: it overtakes the letters typed just before it.
        """
        if event.is_printable:
            return
        active = self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.binding.id in _OWN:
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    def action_send(self) -> None:
        """Hand the text over, unless there is none."""
        if self.text.strip():
            self.post_message(Prompt.Submitted(self.text))

    def action_newline(self) -> None:
        self.insert("\n")


class Prompt(Horizontal):
    """The input line with its mark."""

    DEFAULT_CSS = """
    Prompt { height: auto; background: $surface; padding: 0 2; }
    Prompt > Static { width: 2; height: 1; color: $accent; }
    Prompt > PromptArea {
        width: 1fr; height: auto; min-height: 1; max-height: 10; padding: 0; border: none;
        background: $surface; color: $foreground; scrollbar-size-vertical: 1;
    }
    Prompt > PromptArea:focus { border: none; }
    Prompt > PromptArea .text-area--placeholder { color: $quiet; }
    Prompt > PromptArea .text-area--cursor-line { background: $surface; }
    """

    class Submitted(Message):
        """The reader sent a message."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Typed(Message):
        """The text changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self.area = PromptArea(
            "", soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, placeholder=placeholder
        )

    def compose(self) -> ComposeResult:
        yield Static("› ")
        yield self.area

    @property
    def text(self) -> str:
        return self.area.text

    def set_text(self, text: str) -> None:
        """Replace what is written, the cursor at its end."""
        self.area.text = text
        self.area.move_cursor(self.area.document.end)
        self.area.focus()

    def set_calm(self, calm: bool) -> None:
        """Keep the cursor from blinking, while the model needs every cycle."""
        self.area.cursor_blink = not calm

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(self.text))
