"""The tokens of mapped text, and their marks as spans.

Marks are those of the token view: no underline on spaces at the edges of a token, and a character made of several
tokens belongs to the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from rich.style import Style as DrawnStyle
from textual.content import Span
from textual.style import Style

from localspec.engine.events import Token
from localspec.tui.textual_fixes.joiner_widths import split_graphemes
from localspec.tui.tokens.markdown_mapping import NOWHERE, Mapped

NOBODY = -1
"""The token index of characters that no token is known to have written."""

_WRITER = "token"
"""The key under which a drawn style holds its token."""
BARE = "$foreground not bold not underline"
"""Beneath the marks, so that neither headings nor code look as if they were marked."""
_NO_UNDERLINE = Style(underline=False)


def owners(tokens: Sequence[Token], before: int) -> list[int]:
    """The token of each character of a text that begins ``before`` characters ahead of them, or as far into them."""
    of_all = [index for index, token in enumerate(tokens) for _ in token.text]
    return [NOBODY] * before + of_all[max(0, -before) :]


@dataclass(frozen=True, slots=True)
class TokenRun:
    """Neighbouring characters of one token on screen."""

    start: int
    end: int
    token: int


def runs(mapped: Mapped, owner: Sequence[int]) -> list[TokenRun]:
    """The pieces of a text whose token is known, in order."""
    tokens = [owner[at] if 0 <= at < len(owner) else NOBODY for at in mapped.at]
    if not mapped.text.isascii():
        for start, end in _characters(mapped.text):
            tokens[start:end] = [max(tokens[start:end])] * (end - start)
    found, start = [], 0
    for token, group in groupby(tokens):
        end = start + sum(1 for _ in group)
        if token != NOBODY:
            found.append(TokenRun(start, end, token))
        start = end
    return found


def mapped_share(texts: Sequence[Mapped]) -> float:
    """The share of visible characters that have a place in the source; 1 if there are none."""
    seen = [at for text in texts for character, at in zip(text.text, text.at, strict=True) if not character.isspace()]
    return sum(at != NOWHERE for at in seen) / len(seen) if seen else 1.0


def spans(text: str, marked: Sequence[TokenRun], look: Callable[[int], Style]) -> list[Span]:
    """The spans that mark ``text``, each token in its own style; ``writer`` reads the token back from what is drawn."""
    made = [Span(0, len(text), BARE)]
    for run in marked:
        made.extend(_marks(text, run, look(run.token)))
    return made


def writer(drawn: DrawnStyle) -> int | None:
    """The token drawn in this style, if one is known."""
    token = drawn.meta.get(_WRITER)
    return token if isinstance(token, int) else None


def _marks(text: str, run: TokenRun, style: Style) -> Iterator[Span]:
    yield Span(run.start, run.end, style + Style.from_meta({_WRITER: run.token}))
    piece = text[run.start : run.end]
    word = piece.strip(" ")
    if not style.underline or not word or not cell_len(word[0]):
        return
    lead = len(piece) - len(piece.lstrip(" "))
    trail = len(piece) - len(piece.rstrip(" "))
    if lead:
        yield Span(run.start, run.start + lead, _NO_UNDERLINE)
    if trail:
        yield Span(run.end - trail, run.end, _NO_UNDERLINE)


def _characters(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of characters made of several code points."""
    at = 0
    for part in text.split("\t"):
        yield from ((at + start, at + end) for start, end, _ in split_graphemes(part)[0] if end - start > 1)
        at += len(part) + 1
