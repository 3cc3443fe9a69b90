"""One row between conversation and prompt: a quiet word on the left, the way back to the newest text on the right."""

from __future__ import annotations

from rich.cells import cell_len
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
    Notice > #notice-meter { width: auto; color: $quiet; margin: 0 0 0 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = Static("", id="notice-text")
        self._cue = Static("", id="notice-cue")
        self._meter = Static("", id="notice-meter")
        self._measured = ""
        self._said = ""

    def compose(self) -> ComposeResult:
        yield self._text
        yield self._cue
        yield self._meter

    def say(self, text: str) -> None:
        """Say it quietly; an empty text clears the row."""
        if text != self._said:
            self._said = text
            self._text.update(Content(text), layout=False)
            self._make_room()

    def measure(self, text: str) -> None:
        """Say how full the context is."""
        if text != self._measured:
            same_width = len(text) == len(self._measured)
            self._measured = text
            self._meter.update(Content(text), layout=not same_width)
            self._make_room()

    def on_resize(self) -> None:
        self._make_room()

    def _make_room(self) -> None:
        """The figure gives way to a sentence that would be cut off beside it."""
        margin_cells = 2
        fits = cell_len(self._said) + margin_cells + len(self._measured) <= self.content_size.width
        if self._meter.display is not fits:
            self._meter.display = fits

    def cue(self, text: str) -> None:
        """Point the way back; an empty text takes the pointer away."""
        self._cue.update(Content(text))
