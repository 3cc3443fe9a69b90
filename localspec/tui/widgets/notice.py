"""One row between conversation and prompt: a quiet word on the left, the way back to the newest text on the right."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static


class Notice(Horizontal):
    """Always one row high, so that saying something moves nothing."""

    DEFAULT_CSS = """
    Notice { height: 1; padding: 0 2; }
    Notice > #notice-text { width: 1fr; color: $quiet; text-wrap: nowrap; text-overflow: ellipsis; }
    Notice > #notice-cue { width: auto; color: $accent; }
    """

    def compose(self) -> ComposeResult:
        yield Static("", id="notice-text")
        yield Static("", id="notice-cue")

    def say(self, text: str) -> None:
        """Say it quietly; an empty text clears the row."""
        self.query_one("#notice-text", Static).update(Content(text))

    def cue(self, text: str) -> None:
        """Point the way back; an empty text takes the pointer away."""
        self.query_one("#notice-cue", Static).update(Content(text))
