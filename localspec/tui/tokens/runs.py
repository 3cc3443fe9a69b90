"""Which token each piece of mapped text belongs to, and how it is marked. Pure: no widgets.

A mark reads as in the token view: no underline on spaces at the edges of a token, and a character that several
tokens make up belongs to the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len, split_graphemes
from rich.style import Style as DrawnStyle
from textual.content import Span
from textual.style import Style

from localspec.engine.events import Token
from localspec.tui.tokens.markdown_mapping import NOWHERE, Mapped

NOBODY = -1
"""In place of a token, for characters that none is known to have written."""

_WRITER = "token"
"""By this name what is drawn tells whose it is."""
BARE = "$foreground not bold not underline"
"""Beneath the marks, so that neither headings nor code look as if they were marked."""
_NO_UNDERLINE = Style(underline=False)


def owners(tokens: Sequence[Token], before: int) -> list[int]:
    """The token of each character of a text that begins ``before`` characters ahead of them, or as far into them."""
    of_all = [index for index, token in enumerate(tokens) for _ in token.text]
    return [NOBODY] * before + of_all[max(0, -before) :]


@dataclass(frozen=True, slots=True)
class TokenRun:
    """Neighbouring characters on screen of one token."""

    start: int
    end: int
    token: int


def runs(mapped: Mapped, owner: Sequence[int]) -> list[TokenRun]:
    """The pieces of a text that are known to be somebody's, in order."""
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
    """How much of what can be seen of them has a place; all of nothing."""
    seen = [at for text in texts for character, at in zip(text.text, text.at, strict=True) if not character.isspace()]
    return sum(at != NOWHERE for at in seen) / len(seen) if seen else 1.0


def spans(text: str, marked: Sequence[TokenRun], look: Callable[[int], Style]) -> list[Span]:
    """``text`` marked, each token with the look of its own; what is drawn so tells ``writer`` the token."""
    made = [Span(0, len(text), BARE)]
    for run in marked:
        made.extend(_marks(text, run, look(run.token)))
    return made


def writer(drawn: DrawnStyle) -> int | None:
    """The token that wrote what is drawn in this style; None if none is known to have."""
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
    """From where to where go those that several code points make up."""
    at = 0
    for part in text.split("\t"):
        yield from ((at + start, at + end) for start, end, _ in split_graphemes(part)[0] if end - start > 1)
        at += len(part) + 1
