"""A message, its reply, and one quiet line about how the reply came to be."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from localspec.errors import LocalSpecError
from localspec.tui.palette import Palette
from localspec.tui.widgets.reply import ReplyView
from localspec.tui.widgets.steady import SteadyPane


class TurnView(Vertical, SteadyPane):
    """What one exchange looks like."""

    DEFAULT_CSS = """
    TurnView { height: auto; padding: 0 2; margin: 1 0 0 0; }
    TurnView .prompt { text-style: bold; height: auto; }
    TurnView ReplyView { margin: 1 0 0 2; }
    TurnView .note { color: $quiet; margin: 1 0 0 2; height: auto; display: none; }
    TurnView .error { color: $error; margin: 1 0 0 2; height: auto; display: none; }
    TurnView.-queued .prompt { text-style: dim; }
    TurnView.-queued ReplyView { display: none; }
    """

    def __init__(self, prompt: str, palette: Callable[[], Palette]) -> None:
        super().__init__(classes="-queued")
        self._prompt = prompt
        self.reply = ReplyView(palette)
        self._note = Static("", classes="note")
        self._error = Static("", classes="error")

    def compose(self) -> ComposeResult:
        yield Static(self._question(queued=True), classes="prompt")
        yield self.reply
        yield self._error
        yield self._note

    def begin(self) -> None:
        """The message is being answered."""
        self.remove_class("-queued")
        self.query_one(".prompt", Static).update(self._question(queued=False))

    def note(self, text: str) -> None:
        """Say something quietly under the reply; nothing if empty."""
        self._note.update(Content(text))
        self._note.display = bool(text)

    def fail(self, error: LocalSpecError) -> None:
        """Say what went wrong and what to do next, where the text stopped."""
        self._error.update(Content.assemble(error.message, " ", (error.hint, "$foreground")))
        self._error.display = True

    def _question(self, *, queued: bool) -> Content:
        text = self._prompt.replace("\n", "\n  ")
        return Content.assemble(("› ", "$accent"), text, ("   queued" if queued else "", "$quiet not bold"))
