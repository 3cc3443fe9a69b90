"""All that is known of the highlighted pair or repository; scrolls where it is longer than its place."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.base.visible import visible_line
from localspec.chat.commands.places import PAIR_TAKE
from localspec.chat.pairs.browser import Browser
from localspec.chat.pairs.entry import ERROR, FACT, NEWS, STRONG, Entry, line_text
from localspec.models.discovery.search import HubModel
from localspec.tui.keys.bindings import key_of

_LOOKS = {FACT: "", NEWS: "", ERROR: "$error", STRONG: "bold"}


class PairDetails(VerticalScroll):
    """Takes the focus only to be scrolled."""

    DEFAULT_CSS = """
    PairDetails {
        background: $background; padding: 0 2; border-top: solid $panel;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
    }
    PairDetails:focus { border-top: solid $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = Static("")
        self._shown: tuple[Entry | HubModel | None, str, int] = (None, "", 0)

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, browser: Browser, question: str = "") -> None:
        """Draw the highlighted row's if it differs; another row, and a ``question`` about it, begins at the top."""
        subject = browser.marked or browser.marked_model
        state = (subject, f"{question}{browser.refusal}", self.size.width)
        if state == self._shown:
            return
        before, _, _ = self._shown
        self._shown = state
        cells = max(30, self.size.width - 1)
        lines = browser.details(cells, key_of(self, PAIR_TAKE), question)
        parts = []
        for line in lines:
            name, text = line_text(line)
            parts.append(Content.assemble((name, "$quiet"), (visible_line(text), _LOOKS[line[2]])))
        self._text.update(Content("\n").join(parts))
        if question or _name(before) != _name(subject):
            self.scroll_home(animate=False)


def _name(subject: Entry | HubModel | None) -> str:
    if subject is None:
        return ""
    return subject.name if isinstance(subject, HubModel) else subject.pair.id
