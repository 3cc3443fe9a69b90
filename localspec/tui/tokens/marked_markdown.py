"""A finished reply as Markdown in which tokens can be marked as in the token view.

Paragraphs, headings, lists, quotes, table cells and blocks of code are marked, as far as ``markdown_mapping`` finds the
place of their characters in the source. Bullets, numbers, rules, pictures and entities are not. While marks are shown,
colour, background, bold and underline mean marks alone; those of headings, strong words, links and code come back
with clean Markdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from textual import events
from textual.content import Content, Span
from textual.style import Style
from textual.widgets import Label, Markdown, Static
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from localspec.chat.markdown import markdown_parser
from localspec.chat.tokens.marking import MarkMode
from localspec.chat.turn import Turn
from localspec.tui.tokens.markdown_mapping import Mapped, MarkdownSource
from localspec.tui.tokens.palette import Palette
from localspec.tui.tokens.runs import TokenRun, mapped_share, owners, runs, spans, writer

LEAST_SHARE = 0.6
"""Marks are shown if the token of at least this share of the visible characters is known."""
_CODE = ".code_inline"
"""The style of inline code, which has a background of its own."""
PIECES_AT_ONCE = 20
"""Blocks that are mapped before the event loop gets its turn."""


def line_keeping_parser() -> MarkdownIt:
    """A parser of replies that keeps line breaks inside a paragraph, as in a poem or an address.

    Textual's own would leave HTML out, and with it ``<int>`` in ``vector<int>``.
    """
    parser = markdown_parser()
    parser.core.ruler.push("keep_lines", _keep_lines)
    return parser


def _keep_lines(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"


class MarkedFence(MarkdownFence):
    """A block of code that keeps its marks when its highlighting is made again."""

    marks: Sequence[Span] = ()

    @property
    def clean(self) -> Content:
        """The code with its syntax highlighting."""
        return self._highlighted_code

    def draw(self, marks: Sequence[Span]) -> None:
        """Draw the code with these marks, or without."""
        self.marks = marks
        if marks:
            self.styles.background = "transparent"
        else:
            self.styles.clear_rule("background")
        for label in self.query_children(Label):
            label.notify_style_update()  # it keeps the ground that it stood on
            label.update(_with(self.clean, marks), layout=False)

    def set_content(self, content: Content) -> None:
        super().set_content(_with(content, self.marks))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text on screen and its tokens."""

    widget: Static
    clean: Content
    mapped: Mapped
    runs: Sequence[TokenRun]

    def draw(self, marks: Sequence[Span]) -> None:
        if isinstance(self.widget, MarkedFence):
            self.widget.draw(marks)
        else:
            self.widget.auto_links = not marks
            self.widget.update(_with(self.clean, marks), layout=False)


class MarkedMarkdown(Markdown):
    """Without marks until they are asked for; the mapping is made then."""

    def __init__(self, palette: Callable[[], Palette], turn: Turn) -> None:
        super().__init__("", parser_factory=line_keeping_parser, open_links=False)
        self._palette = palette
        self._turn = turn
        self._pieces: list[_Piece] | None = None
        self.mode = MarkMode.OFF
        """The mode in which tokens are marked."""
        self._painted = palette()
        self._looks: dict[str, Style] = {}
        """The style of each kind of token, in the present mode and palette."""
        self._weighed_n = 0

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        return MarkedFence if block_name in ("fence", "code_block") else super().get_block_class(block_name)

    async def mark(self, mode: MarkMode) -> bool:
        """Mark tokens in this mode; returns False, and does nothing, where too few tokens can be found in the text."""
        if mode is self.mode or not self._turn.reply.tokens:
            return True
        if self._pieces is None:
            self._pieces = [piece async for piece in self._find()]
        if mode is not MarkMode.OFF and mapped_share([piece.mapped for piece in self._pieces]) < LEAST_SHARE:
            return False
        self.mode, self._weighed_n = mode, len(self._turn.reply.probs)
        self._paint()
        return True

    def learned(self) -> None:
        """Draw the marks again: more may be known about the tokens."""
        start, self._weighed_n = self._weighed_n, len(self._turn.reply.probs)
        if self.mode is MarkMode.HEAT and start < self._weighed_n:
            for piece in self._pieces or ():
                if any(start <= run.token < self._weighed_n for run in piece.runs):
                    self._draw(piece)

    def picked(self, click: events.Click) -> int | None:
        """The token that was clicked; None for anything else, and for the end of a selection."""
        return writer(click.style) if not self.screen.selections else None

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.mode is not MarkMode.OFF and self._painted is not self._palette():
            self._paint()

    def _paint(self) -> None:
        """Draw all pieces again; nothing changes its size or place."""
        self._painted, self._looks = self._palette(), {}
        for piece in self._pieces or ():
            self._draw(piece)

    def _draw(self, piece: _Piece) -> None:
        marked = self.mode is not MarkMode.OFF
        piece.draw(spans(piece.mapped.text, piece.runs, self._look) if marked else ())

    def _look(self, token: int) -> Style:
        kind = self._turn.reply.kind(self.mode, token)
        if kind not in self._looks:
            self._looks[kind] = self._painted.mark_look(self.mode, kind)
        return self._looks[kind]

    async def _find(self) -> AsyncIterator[_Piece]:
        """The pieces that can be marked, in order."""
        turn, source = self._turn, MarkdownSource(self.source)
        before = len(turn.lead) - (len(turn.said) - len(self.source))
        owner = owners(turn.reply.tokens, before)
        for number, block in enumerate(self.query(MarkdownBlock)):
            await _breathe(number)
            for widget, clean, mapped in _mapped(block, source):
                if mapped.text != clean.plain:
                    mapped = Mapped.made(clean.plain)
                yield _Piece(widget, clean, mapped, runs(mapped, owner))


def _mapped(block: MarkdownBlock, source: MarkdownSource) -> Iterator[tuple[Static, Content, Mapped]]:
    """The texts of a block, without the blocks inside it."""
    inline = block._inline_token
    if isinstance(block, MarkedFence):
        yield block, block.clean, source.code(block._token)
    elif block._token.type == "table_open":
        cells = [cell for cell in _inside(block) if cell._token.type in ("th_open", "td_open")]
        mapped = [text for _, row in groupby(cells, key=_line) for text in _row(list(row), source)]
        for widget, cell, text in zip(block.query("MarkdownTableCellContents"), cells, mapped, strict=True):
            if isinstance(widget, Static):
                yield widget, cell._content, text
    elif inline is not None:
        yield block, block._content, source.inline(block._token, inline)


def _row(cells: Sequence[MarkdownBlock], source: MarkdownSource) -> list[Mapped]:
    return source.row([cell._inline_token for cell in cells if cell._inline_token is not None])


def _line(cell: MarkdownBlock) -> int:
    token = cell._inline_token
    return token.map[0] if token is not None and token.map else -1


def _inside(block: MarkdownBlock) -> Iterator[MarkdownBlock]:
    for inner in block._blocks:
        yield from _inside(inner)
        yield inner


def _with(content: Content, marks: Sequence[Span]) -> Content:
    """The text with marks, on the background for which their colours were chosen."""
    if not marks:
        return content
    return Content(content.plain, [*(span for span in content.spans if span.style != _CODE), *marks])


async def _breathe(number: int) -> None:
    """Let the app handle events now and then."""
    if number % PIECES_AT_ONCE == PIECES_AT_ONCE - 1:
        await asyncio.sleep(0)
