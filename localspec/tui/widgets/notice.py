"""One row between conversation and prompt: a quiet word on the left, the way back to the newest text on the right.

What does not fit on a row is read over the end of the conversation, until it is over.
"""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from localspec.base.visible import visible_line

CUE = "notice-cue"
"""The id of the way back to the newest text."""
_MARGIN_CELLS = 2
"""Between a sentence and what stands beside it."""


class Notice(Horizontal):
    """Always one row high, so that saying something moves nothing."""

    DEFAULT_CSS = """
    Notice { height: 1; padding: 0 2; }
    Notice > #notice-text { width: 1fr; color: $quiet; text-wrap: nowrap; text-overflow: ellipsis; }
    Notice > #notice-cue { width: auto; color: $accent; }
    Notice > #notice-meter { width: auto; color: $quiet; margin: 0 0 0 2; }
    Notice > #notice-long {
        overlay: screen; display: none; padding: 0 2; background: $background; color: $quiet;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = Static("", id="notice-text")
        self._cue = Static("", id=CUE)
        self._meter = Static("", id="notice-meter")
        self._long = Static("", id="notice-long")
        self._measured = ""
        self._said = ""
        self._cued = ""

    def compose(self) -> ComposeResult:
        yield self._long
        yield self._text
        yield self._cue
        yield self._meter

    def say(self, text: str) -> None:
        """Say it quietly; an empty text clears the row."""
        text = visible_line(text)
        if text != self._said:
            self._said = text
            self._text.update(Content(text), layout=False)
            self.fit()

    def measure(self, text: str) -> None:
        """Say how full the context is."""
        if text != self._measured:
            same_width = len(text) == len(self._measured)
            self._measured = text
            self._meter.update(Content(text), layout=not same_width)
            self.fit()

    def cue(self, text: str) -> None:
        """Point the way back; an empty text takes the pointer away."""
        self._cued = text
        self._cue.update(Content(text))
        self.fit()

    def on_resize(self) -> None:
        self.fit()

    def fit(self) -> None:
        """The figure gives way to a sentence that would be cut off beside it, and the row to one longer than that."""
        room = self.content_size.width - (cell_len(self._cued) + _MARGIN_CELLS if self._cued else 0)
        fits = cell_len(self._said) + _MARGIN_CELLS + len(self._measured) <= room
        if self._meter.display is not fits:
            self._meter.display = fits
        self._spread(Content(self._said) if cell_len(self._said) > room else None)

    def _spread(self, text: Content | None) -> None:
        """Show a text in as many rows as it needs and as there are, the last of them this one; or no more."""
        width, rows_n = self.content_size.width, self.region.y + 1
        if text is None or width <= 0 or rows_n < 2:
            self._long.display = False
            return
        rows = text.wrap(width)[:rows_n]
        shown = Content("\n").join(rows)
        self._long.styles.width = self.outer_size.width
        self._long.styles.offset = (-self.gutter.left, 1 - len(rows))
        if self._long.content != shown:  # an update has the whole screen arranged
            self._long.update(shown)
        self._long.display = True
