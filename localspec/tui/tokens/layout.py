"""The lines of a reply: where they break, and the token of each piece of them.

Incremental: appending lays out the last visual line again and nothing before it. No colours, no widgets. A character
is never cut: one that several tokens make up (or an emoji joined from several) is drawn as the last of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from localspec.base.visible import visible
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.engine.events import Origin, Proposal
from localspec.tui.textual_fixes.joiner_widths import split_graphemes

TAB_CELLS = 4
END_MARK = "∎"
"""The sign for tokens without text that end the reply: the end-of-turn token, a stop string."""

_BELONGS = attrgetter("token", "origin", "is_end", "is_ghost")


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """Neighbouring characters of one token on one line."""

    text: str
    """As the model wrote it: joining all runs of all lines gives the reply back."""
    origin: Origin
    token: int
    """Index of the token in the reply."""
    is_end: bool = False
    """True for the mark of the end of the reply, which is no part of its text."""
    is_ghost: bool = False
    """True for a rejected proposal in place of which the token stands; no part of the text either."""


@dataclass(slots=True)
class Line:
    """One line on screen; ``runs`` may end with white space (or the line break) that hangs over the edge."""

    runs: tuple[TokenSpan, ...] = ()

    @property
    def text(self) -> str:
        """The reply's text on this line, without end mark and ghosts."""
        return "".join(run.text for run in self.runs if not (run.is_end or run.is_ghost))


@dataclass(slots=True)
class _Cell:
    """One character and its width. Never changed; a frozen class would take three times as long to make."""

    text: str
    cells: int
    origin: Origin
    token: int
    is_end: bool = False
    is_ghost: bool = False


class TokenLayout:
    """The lines of one growing reply at one width; rejected proposals stand among them if ``ghosts`` are kept.

    Refers to the reply's tokens by index and keeps none of its own. The text of calls is left out but with ``calls``.
    """

    def __init__(self, reply: InspectableReply, width: int, *, ghosts: bool = False, calls: bool = False) -> None:
        self._reply = reply
        self.width = max(width, 2)
        self._ghosts = ghosts
        self._calls = calls
        self.tokens_n = 0
        """The number of tokens laid out so far."""
        self._ended = False
        self.lines: list[Line] = [Line()]
        """At least one line."""
        self._wrapper = _Wrapper(self.width)
        """Holds the last line, the only one that can still change."""

    @property
    def complete(self) -> bool:
        """True if all tokens that are to be shown now are laid out."""
        return self.tokens_n >= self._end[0]

    def extend(self) -> int:
        """Lay out the tokens that the reply has got since; returns the index of the first line that changed."""
        start, self.tokens_n = self.tokens_n, max(self.tokens_n, self._end[0])
        return self._extend(self._pieces(start)) if start < self.tokens_n else len(self.lines) - 1

    def finish(self) -> int:
        """No more tokens will come: mark those at the end that have no text. Returns the first changed line."""
        changed = len(self.lines) - 1
        if self._ended:
            return changed
        self._ended = True
        if cut_n := self._end[1]:
            token = self._reply.tokens[self.tokens_n]
            return self._extend([_Cell(token.text[:cut_n], 0, token.origin, self.tokens_n)])
        if not self.tokens_n or self._reply.tokens[self.tokens_n - 1].text:
            return changed
        return self._extend([self._end_cell()])

    @property
    def _end(self) -> tuple[int, int]:
        return (len(self._reply.tokens), 0) if self._calls else self._reply.said_end

    def resize(self, width: int) -> None:
        """Lay everything out again for another width."""
        if max(width, 2) != self.width:
            self.width = max(width, 2)
            self._again()

    def keep_ghosts(self, keep: bool) -> bool:
        """Put rejected proposals among the tokens, or leave them out; returns True if lines may have changed."""
        if keep == self._ghosts:
            return False
        self._ghosts = keep
        if self.tokens_n:
            self._again()
        return self.tokens_n > 0

    def lines_of(self, token: int) -> range:
        """The lines that a token is on; one without text is drawn with the next that has some."""
        last = len(self.lines) - 1
        first = bisect_left(self.lines, token, hi=last, key=_last_token)
        return range(first, bisect_left(self.lines, token + 1, lo=first, hi=last, key=_last_token) + 1)

    def owner_of(self, token: int) -> int:
        """The token that a token is drawn as: itself, unless it has no text of its own."""
        owners = [run.token for y in self.lines_of(token) for run in self.lines[y].runs if not run.is_ghost]
        return next((owner for owner in owners if owner >= token), owners[-1] if owners else token)

    def _again(self) -> None:
        self.lines, self._wrapper = [Line()], _Wrapper(self.width)
        self._extend(self._pieces(0))
        if self._ended:
            self._ended = False
            self.finish()

    def _pieces(self, first: int) -> Iterator[_Cell]:
        """Each token's text as one unmeasured cell; tokens without text wait for the character they belong to."""
        for index in range(first, self.tokens_n):
            token = self._reply.tokens[index]
            if self._ghosts and (ghost := ghost_text(self._reply.place(index).rejected)):
                yield _Cell(ghost, 0, Origin.PLAIN, index, is_ghost=True)
            if token.text:
                yield _Cell(token.text, 0, token.origin, index)

    def _end_cell(self) -> _Cell:
        last = self.tokens_n - 1
        return _Cell(END_MARK, 1, self._reply.tokens[last].origin, last, is_end=True)

    def _extend(self, pieces: Iterable[_Cell]) -> int:
        """Append ``pieces`` to the last line; where the two may join to one character, lay the line out again."""
        first, new = len(self.lines) - 1, list(pieces)
        seam = [*self._wrapper.line[-1:], *new[:1]]
        if not all(map(_stays_apart, seam)):
            new = [*self._wrapper.line, *new]
            self._wrapper = _Wrapper(self.width)
        for cell in _join(new):
            self._wrapper.add(cell)
        self.lines[first:] = [Line(_runs(cells)) for cells in (*self._wrapper.take_done(), self._wrapper.line)]
        return first


class _Wrapper:
    """Greedy word wrap: white space hangs over the edge, and a word longer than a line is cut between characters."""

    def __init__(self, width: int) -> None:
        self.line: list[_Cell] = []
        self._done: list[list[_Cell]] = []
        self._width = width
        self._column = 0
        self._break = 0
        """The index in ``line`` after the last white space, where it may be broken."""

    def take_done(self) -> list[list[_Cell]]:
        """The complete lines that were not taken before."""
        done, self._done = self._done, []
        return done

    def add(self, cell: _Cell) -> None:
        if cell.text == "\n":
            self.line.append(cell)
            self._start_line([])
        elif cell.text in (" ", "\t"):
            self.line.append(cell)
            self._column += cell_width(cell.text, cell.cells, self._column)
            self._break = len(self.line)
        else:
            while self._column + cell.cells > self._width and self.line:
                self._wrap()
            self.line.append(cell)
            self._column += cell.cells

    def _wrap(self) -> None:
        """Start a line with the word that does not fit, or in the middle of a word as long as a line."""
        word = self.line[self._break :] if self._break else []
        del self.line[len(self.line) - len(word) :]
        self._start_line(word)

    def _start_line(self, word: list[_Cell]) -> None:
        self._done.append(self.line)
        self.line = word
        self._column = sum(cell.cells for cell in word)
        self._break = 0


def cell_width(text: str, cells: int, column: int) -> int:
    """The columns that a character takes when it begins at ``column``."""
    return TAB_CELLS - column % TAB_CELLS if text == "\t" else cells


def ghost_text(rejected: Iterable[Proposal]) -> str:
    """Rejected proposals as they are shown: on one line, not joined with the characters around them."""
    text = "".join(proposal.text for proposal in rejected).replace("\n", "⏎").replace("\t", " ")
    before, behind = (" " if _may_merge(character) else "" for character in (text[:1], text[-1:]))
    return visible(before + text + behind)


def _stays_apart(cell: _Cell) -> bool:
    """True if neither end of the cell can join with its neighbours to one character."""
    return cell.text == "\n" or (cell.text.isascii() and cell.text.isprintable())


def _may_merge(character: str) -> bool:
    """True if the character may join with its neighbours, as accents, joiners and emoji do."""
    return not (character.isascii() or character.isalnum())


def _last_token(line: Line) -> int:
    return line.runs[-1].token if line.runs else -1


def _join(pieces: Iterable[_Cell]) -> Iterator[_Cell]:
    """The characters of the pieces with their widths; one made of several pieces belongs to the last of them."""
    paragraph: list[_Cell] = []
    for piece in pieces:
        if piece.is_end or piece.is_ghost:
            yield from _characters(paragraph)
            paragraph = []
            yield from [piece] if piece.is_end else _characters([piece])
            continue
        *closed, rest = piece.text.split("\n")
        for part in closed:
            paragraph.append(_Cell(part, 0, piece.origin, piece.token))
            yield from _characters(paragraph)
            paragraph = []
            yield _Cell("\n", 0, piece.origin, piece.token)
        if rest:
            paragraph.append(_Cell(rest, 0, piece.origin, piece.token))
    yield from _characters(paragraph)


def _characters(pieces: list[_Cell]) -> Iterator[_Cell]:
    """The characters of text without line breaks."""
    text = "".join(piece.text for piece in pieces)
    if text.isascii() and text.isprintable():
        for piece in pieces:
            for character in piece.text:
                yield _Cell(character, 1, piece.origin, piece.token, is_ghost=piece.is_ghost)
        return
    owners = [piece for piece in pieces for _ in piece.text]
    for start, end, cells in _graphemes(visible(text)):
        owner = owners[end - 1]
        yield _Cell(text[start:end], cells, owner.origin, owner.token, is_ghost=owner.is_ghost)


def _graphemes(text: str) -> Iterator[tuple[int, int, int]]:
    """The range and the cells of each character. A tab is one of its own; Rich takes it for an accent."""
    at = 0
    for part in re.split("(\t)", text):
        yield from ((at + start, at + end, cells) for start, end, cells in split_graphemes(part)[0])
        at += len(part)


def _runs(cells: Iterable[_Cell]) -> tuple[TokenSpan, ...]:
    """Neighbouring cells of one token, joined; its ghosts stay apart from it."""
    groups = groupby(cells, key=_BELONGS)
    return tuple(
        TokenSpan("".join(cell.text for cell in group), origin, token, is_end, is_ghost)
        for (token, origin, is_end, is_ghost), group in groups
    )
