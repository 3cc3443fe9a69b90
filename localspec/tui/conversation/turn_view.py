"""The widget of a turn: the message, the reply, and one line about the reply."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import HorizontalGroup, VerticalGroup
from textual.content import Content
from textual.widgets import Static

from localspec.base.errors import LocalSpecError
from localspec.base.visible import visible_line
from localspec.chat.compose.attachment import in_full
from localspec.chat.tokens.marking import ReplyFormat
from localspec.chat.turn import Turn
from localspec.runtime.images import images_in
from localspec.tui.conversation.calls_view import CallsView
from localspec.tui.conversation.note import Note
from localspec.tui.conversation.reply_view import ReplyView
from localspec.tui.textual_fixes.single_layout import SingleLayoutPane
from localspec.tui.tokens.palette import Palette
from localspec.tui.widgets.pictures import Pictures

PROMPT_ROWS = 20
"""The longest message that is shown whole, in lines."""


class Mark(Static):
    """The sign before a message, which is not copied with it."""

    ALLOW_SELECT = False


class TurnView(VerticalGroup, SingleLayoutPane):
    """A turn on screen, made as the turn is now and changed as it goes on."""

    DEFAULT_CSS = """
    TurnView { padding: 0 2; margin: 1 0 0 0; }
    TurnView .asked { text-style: bold; }
    TurnView .mark { width: 2; color: $accent; }
    TurnView .prompt { width: 1fr; }
    TurnView Pictures { margin: 0 0 0 2; }
    TurnView ReplyView { margin: 1 0 0 2; }
    TurnView .files { color: $quiet; margin: 0 0 1 2; }
    TurnView .note { color: $quiet; margin: 1 0 0 2; display: none; }
    TurnView .error { color: $error; margin: 1 0 0 2; display: none; }
    TurnView.-queued .asked { text-style: dim; }
    TurnView.-queued ReplyView, TurnView.-silent ReplyView { display: none; }
    TurnView.-unasked .asked { display: none; }
    TurnView.-unasked ReplyView { margin: 0 0 0 2; }
    TurnView.-selected .asked, TurnView.-selected.-unasked .note { background: $panel; }
    """

    def __init__(self, turn: Turn, palette: Callable[[], Palette], *, queued: bool = False) -> None:
        super().__init__(classes="-queued" if queued else "")
        self.turn = turn
        self.set_class(not turn.prompt, "-unasked")
        self.reply = ReplyView(palette, turn)
        self.own_format: ReplyFormat | None = None
        """The format of this turn, if it has one of its own."""
        self._version = ""
        self._files = Static("", classes="files")
        """The files and passages of the message, unfolded."""
        self._files.display = False
        images = images_in(turn.prompt)
        self._pictures = Pictures(3, images) if images else None
        self._mark = Mark(self.sign, classes="mark")
        self.prompt_row = Static(self._asked(), classes="prompt")
        self.calls = CallsView(turn.results)
        self.note = Note()
        self._error = Static("", classes="error")

    def compose(self) -> ComposeResult:
        if self._pictures is not None:
            yield self._pictures
        yield self._files
        with HorizontalGroup(classes="asked"):
            yield self._mark
            yield self.prompt_row
        yield self.reply
        yield self.calls
        yield self._error
        yield self.note

    def begin(self) -> None:
        """Show that the message is being answered."""
        self.remove_class("-queued")
        self.draw_question()

    def choose(self, chosen: bool) -> None:
        """Show that the reader has chosen it, or no longer has."""
        self.set_class(chosen, "-selected")
        self.draw_question()

    def unfold_files(self) -> bool:
        """Show the files and passages that went with the message, or fold them away; False if there are none."""
        shown = self._files.display
        text = "" if shown else in_full(self.turn.prompt)
        self._files.update(Content(text))
        self._files.display = bool(text)
        return bool(shown or text)

    def draw_question(self, version: str | None = None) -> None:
        """Draw the message, with its version (as 2/3) if there are others."""
        self._version = self._version if version is None else version
        self._mark.update(self.sign, layout=False)
        self.prompt_row.update(self._asked())

    def fail(self, error: LocalSpecError) -> None:
        """Show the error and what to do next, where the text stopped."""
        self._error.update(
            Content.assemble(visible_line(error.message), " ", (visible_line(error.hint), "$foreground"))
        )
        self._error.display = True

    @property
    def sign(self) -> str:
        """The sign before the message; another shows that the turn is chosen."""
        return "▶ " if self.has_class("-selected") else "› "

    def _asked(self) -> Content:
        text = self.turn.shown or self.turn.prompt
        lines = text.split("\n")
        if len(lines) > PROMPT_ROWS:
            lines = [*lines[: PROMPT_ROWS - 1], f"… and {len(lines) - PROMPT_ROWS + 1} lines more"]
        aside = "   queued" if self.has_class("-queued") else f"   {self._version}" if self._version else ""
        return Content.assemble("\n".join(lines), (aside, "$quiet not bold"))
