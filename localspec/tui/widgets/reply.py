"""One reply: marked tokens while it is written, Markdown once it is complete, either on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical

from localspec.engine.events import Origin, Proposal, Token
from localspec.tui.palette import Palette
from localspec.tui.widgets.steady import SteadyPane
from localspec.tui.widgets.token_view import TokenView

if TYPE_CHECKING:
    from textual.widgets import Markdown


class ReplyView(Vertical, SteadyPane):
    """Grows by ``write``; ``finish`` completes it; ``show`` chooses the view."""

    DEFAULT_CSS = """
    ReplyView { height: auto; }
    ReplyView Markdown { padding: 0; margin: 0; background: transparent; }
    ReplyView Markdown > MarkdownBlock:last-child { margin-bottom: 0; }
    ReplyView MarkdownFence { background: $surface; margin: 0 0 1 0; }
    ReplyView MarkdownFence:light { background: $surface; }
    ReplyView MarkdownTable:light { background: transparent; }
    ReplyView MarkdownFence > Label { padding: 0 1; }
    ReplyView MarkdownTable { background: transparent; margin: 0 0 1 0; }
    ReplyView MarkdownTableContent { keyline: none; grid-gutter: 0 1; }
    ReplyView MarkdownTableContent > .cell, ReplyView MarkdownTableContent > .header { padding: 0; }
    ReplyView MarkdownTableContent > .header { color: $quiet; }
    ReplyView MarkdownH1, ReplyView MarkdownH2, ReplyView MarkdownH3 {
        content-align: left middle; color: $accent; text-style: bold; background: transparent;
        margin: 0 0 1 0; padding: 0; border: none; width: 100%;
    }
    """

    def __init__(self, palette: Callable[[], Palette]) -> None:
        super().__init__()
        self.tokens = TokenView(palette)
        self._markdown: Markdown | None = None
        self._text: list[str] = []
        self._finished = False

    def compose(self) -> ComposeResult:
        yield self.tokens

    @property
    def counts(self) -> dict[Origin, int]:
        """How many tokens of each origin are marked."""
        return self.tokens.counts

    def write(self, tokens: Sequence[Token], ghosts: tuple[Proposal, ...] = ()) -> None:
        """Append tokens."""
        self._text.extend(token.text for token in tokens)
        self.tokens.extend(tokens, ghosts)

    def finish(self) -> None:
        """Nothing more will come; the token view stays until ``show`` says otherwise."""
        self._finished = True
        self.tokens.finish()

    async def show(self, *, markdown: bool) -> None:
        """Switch the view of a finished reply; Markdown is made the first time it is asked for."""
        if not self._finished or not self._text:
            return
        if markdown and self._markdown is None:
            from textual.widgets import Markdown

            self._markdown = Markdown("", open_links=False)
            self._markdown.display = False
            await self.mount(self._markdown)
            await self._markdown.update("".join(self._text))
        with self.app.batch_update():
            self.tokens.display = not markdown
            if self._markdown is not None:
                self._markdown.display = markdown
