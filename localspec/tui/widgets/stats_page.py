"""All figures of the highlighted group; scrolls where they are longer than their place."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.insight.stats.page import Line

_CHARTS = "[▁-▏]+"


def drawn(text: str) -> Content:
    """A line with its charts in colour."""
    return Content(text).highlight_regex(_CHARTS, style="$accent")


class StatsPage(VerticalScroll, can_focus=False):
    """The screen's keys scroll it."""

    DEFAULT_CSS = """
    StatsPage {
        background: $background; padding: 0 0 0 2;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = Static("")
        self._shown: tuple[str, list[Line]] = ("", [])

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, name: str, lines: Sequence[Line]) -> None:
        """Draw it anew if it differs; another ``name`` begins at the top."""
        before, lines_before = self._shown
        if (name, list(lines)) == (before, lines_before):
            return
        self._shown = (name, list(lines))
        self._text.update(
            Content("\n").join(Content.styled(text, "$quiet") if head else drawn(text) for text, head in lines)
        )
        if name != before:
            self.scroll_home(animate=False)

    def page(self, direction: int) -> None:
        """Scroll by the visible height less a line."""
        self.scroll_relative(y=direction * max(1, self.size.height - 1), animate=False)
