"""The widget of a reply: marked tokens while it is written, then Markdown or tokens, marked or not."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from localspec.base.visible import visible
from localspec.chat.tokens.marking import GhostMode, ReplyFormat
from localspec.chat.turn import Turn
from localspec.runtime.reasoning import Reasoning, tokens_before
from localspec.tui.conversation.reasoning_view import ReasoningView
from localspec.tui.textual_fixes.single_layout import SingleLayoutPane
from localspec.tui.tokens.palette import Palette
from localspec.tui.tokens.token_view import TokenView

if TYPE_CHECKING:
    from localspec.tui.tokens.marked_markdown import MarkedMarkdown

MARKDOWN_CHARACTERS = 40_000
"""Longer replies stay tokens: to lay them out as Markdown takes seconds."""


class ReplyView(VerticalGroup, SingleLayoutPane):
    """Grows by ``tokens.extend``; ``finish`` completes it; ``show`` sets the format."""

    DEFAULT_CSS = """
    ReplyView.-unsaid { display: none; }
    ReplyView Markdown { padding: 0; margin: 0; background: transparent; }
    ReplyView Markdown > MarkdownBlock:last-child { margin-bottom: 0; }
    ReplyView MarkdownFence { background: $surface; margin: 0 0 1 0; }
    ReplyView MarkdownFence.-marked { border-left: outer $accent; }
    ReplyView MarkdownFence:light { background: $surface; }
    ReplyView MarkdownTable:light { background: transparent; }
    ReplyView MarkdownFence > Label { padding: 0 1; width: 100%; }
    ReplyView MarkdownTableContent { keyline: none; grid-gutter: 0 1; }
    ReplyView MarkdownTableContent > .cell, ReplyView MarkdownTableContent > .header { padding: 0; }
    ReplyView MarkdownTableContent > .header { color: $quiet; }
    ReplyView MarkdownH1, ReplyView MarkdownH2, ReplyView MarkdownH3 {
        content-align: left middle; color: $accent; text-style: bold; background: transparent;
        margin: 0 0 1 0; padding: 0; border: none; width: 100%;
    }
    """

    def __init__(self, palette: Callable[[], Palette], turn: Turn) -> None:
        """``turn`` may have a reply already; it is drawn as far as it has got."""
        super().__init__()
        self.tokens = TokenView(palette, turn.reply)
        self._palette = palette
        self._turn = turn
        self._lead = Static(Content(turn.lead if turn.reply.tokens else turn.said), classes="lead")
        self._thought = ReasoningView()
        self._markdown: MarkedMarkdown | None = None
        self._finished = False

    def compose(self) -> ComposeResult:
        self._lead.display = bool(self._turn.lead)
        self._thought.display = False
        yield self._lead
        yield self._thought
        yield self.tokens

    def on_mount(self) -> None:
        if not self._finished:
            self._draw()

    def finish(self) -> None:
        """Take the reply as complete; it stays tokens until ``show`` sets its format."""
        self._finished = True
        if self.tokens.complete:
            self.tokens.finish()

    def fences(self) -> list[Widget]:
        """The widgets of the blocks of code, in order; empty while the reply is shown as tokens."""
        from textual.widgets.markdown import MarkdownFence

        return list(self._markdown.query(MarkdownFence)) if self._markdown and self._markdown.display else []

    def unfold(self) -> bool:
        """Unfold the reasoning, or fold it; returns False if there is none."""
        return self._thought.display and self._thought.turn()

    def learned(self) -> None:
        """Draw the marks again: more may be known about the tokens."""
        self.tokens.learned()
        if self._markdown is not None:
            self._markdown.learned()

    def on_click(self, event: events.Click) -> None:
        """Pick the token that was clicked in marked Markdown; a link handles its own clicks."""
        token = self._markdown.picked(event) if self._markdown is not None else None
        if token is not None:
            event.stop()
            self.post_message(TokenView.Picked(self.tokens, token))

    async def show(self, reply_format: ReplyFormat, ghosts: GhostMode) -> None:
        """Set the format. Markdown is made the first time that it is needed, for a finished reply alone.

        Where too little of the Markdown could be marked, tokens are shown in its place.
        """
        text = self._turn.said
        markdown = reply_format.markdown and len(text) <= MARKDOWN_CHARACTERS
        self.tokens.mark(reply_format.mode, keep_ghosts=ghosts is GhostMode.KEEP)
        self.set_class(self._finished and not text and bool(self._turn.text), "-unsaid")
        if not self._finished or not text:
            return
        if markdown and self._markdown is None:
            await self._make_markdown(text)
        if markdown and self._markdown is not None:
            markdown = await self._markdown.mark(reply_format.marks)
        if not markdown:
            self._draw()
        with self.app.batch_update():
            self.tokens.display = not markdown
            self._lead.display = not markdown and bool(self._turn.lead)
            self._thought.display = markdown and self._thought.known
            if self._markdown is not None:
                self._markdown.display = markdown

    async def _make_markdown(self, text: str) -> None:
        from localspec.tui.tokens.marked_markdown import MarkedMarkdown
        from localspec.tui.widgets.linked import link_up

        thought = Reasoning.find(text)
        if thought is not None:
            tokens_n = tokens_before(self._turn.reply.tokens, thought.end - len(self._turn.lead))
            self._thought.tell(thought, tokens_n)
        markdown = MarkedMarkdown(self._palette, self._turn)
        markdown.display = False
        try:
            await self.mount(markdown)
            await markdown.update(visible(text[thought.end :].lstrip() if thought else text))
        except CancelledError:
            markdown.remove()
            raise
        link_up(markdown)
        self._markdown = markdown

    def _draw(self) -> None:
        """Lay out the tokens that are not laid out yet."""
        if not self.tokens.complete:
            self.tokens.extend()
            if self._finished:
                self.tokens.finish()
