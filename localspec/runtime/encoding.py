"""From text to token ids: one way for everything that is put before a model.

A control token is made of a template's own characters alone, or of a raw prompt's. Where a message says the same, or
a message and a template say it together, it is ordinary text. Everything else has the tokens that llama.cpp gives it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.engine.model import InfillTokens
from localspec.runtime.template.marked_text import MarkedText

_INPUT = b"\1"
_RUN = re.compile(rb"\x00+|\x01+")
_HEAD_N = 2
_UNKNOWN = "\U0001fae9"
"""A character that vocabularies have no token for, or tokens of its bytes."""
_WHITE_SPACE = b" \t\n\v\f\r"
"""The bytes that llama.cpp drops beside tokens that strip white space: C's isspace."""


class TextVocab(Protocol):
    """A vocabulary, as far as encoding needs it; ``backends.llama.vocab.LlamaVocab`` is one."""

    @property
    def n_vocab(self) -> int: ...

    @property
    def chat_template(self) -> str | None: ...

    @property
    def tool_template(self) -> str | None:
        """The template for conversations with tools, if there is one more for these."""
        ...

    @property
    def bos(self) -> int | None: ...

    @property
    def eos(self) -> int | None: ...

    @property
    def adds_bos(self) -> bool:
        """True if every text has to begin with ``bos``."""
        ...

    @property
    def infill(self) -> InfillTokens | None:
        """The control tokens for filling a gap, if there are any."""
        ...

    @property
    def prefixes_space(self) -> bool:
        """True if a space is put in front of text at the start and after control tokens."""
        ...

    @property
    def written_controls(self) -> Mapping[bytes, int]:
        """The tokens that tokenizing finds only with ``special``, by what is written for them."""
        ...

    def source(self, token: int) -> bytes:
        """The bytes a token stands for in a prompt, control tokens written out."""
        ...

    def is_control(self, token: int) -> bool:
        """True if text before and after the token is always tokenized apart."""
        ...

    def strips_before(self, token: int) -> bool:
        """True if tokenizing drops white space in front of the token."""
        ...

    def strips_after(self, token: int) -> bool:
        """True if tokenizing drops white space behind the token."""
        ...

    def tokenize(self, text: str | bytes, *, special: bool) -> list[int]: ...

    def spell(self, data: bytes) -> list[int]:
        """Tokens that are no control tokens and whose pieces make up ``data``, as far as there are any."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    """A control token that is written out."""

    start: int
    end: int
    token: int


class Encoder:
    """Makes token ids of texts, for one vocabulary."""

    def __init__(self, vocab: TextVocab) -> None:
        self._vocab = vocab
        self._written = vocab.written_controls
        self._lengths = sorted({len(text) for text in self._written}, reverse=True)
        heads = {re.escape(text[:_HEAD_N]) for text in self._written}
        self._head = re.compile(b"(?=" + b"|".join(sorted(heads)) + b")")
        # Some vocabularies have a control token stand for what they do not know; that is no forgery.
        unknown = vocab.tokenize(_UNKNOWN, special=False)
        self._controls = frozenset(filter(vocab.is_control, self._written.values())).difference(unknown)

    def tokenize(self, text: MarkedText) -> list[int]:
        """The tokens of ``text``, without any added at its ends."""
        return self._tokens(*_bytes_and_marks(text))

    def encode(self, text: MarkedText, earlier: Sequence[int]) -> list[int]:
        """The tokens of ``text``, beginning with as many of ``earlier`` as say the same.

        The result is a prefix of ``earlier`` followed by tokens of the rest. The cut lies right after a
        control token or right before one, where tokenizing cannot tell the difference.
        """
        vocab = self._vocab
        data, marks = _bytes_and_marks(text)
        ends = list(self._known_ends(data, marks, earlier))
        anchor = next((i for i in reversed(range(len(ends))) if vocab.is_control(earlier[i])), 0)
        # The anchor itself is tokenized again, for it may swallow white space behind it.
        start = ends[anchor] - len(vocab.source(earlier[anchor])) if anchor else 0
        fresh = self._tokens(data[start:], marks[start:])
        # Generated tokens behind the anchor stay as well, up to where the new text goes on with a control token.
        kept_n = {end: i + 1 for i, end in enumerate(ends) if i >= anchor}
        following = next((j for j in range(1, len(fresh)) if vocab.is_control(fresh[j])), None)
        if following is None:
            # A reply that is continued has its own tokens, to the very end.
            n = kept_n.get(len(data))
            return list(earlier[:n]) if n else [*earlier[:anchor], *fresh]
        fresh_ends = list(_ends(data, vocab, fresh[:following], start))
        n = kept_n.get(fresh_ends[-1]) if len(fresh_ends) == following else None
        return [*earlier[:n], *fresh[following:]] if n else [*earlier[:anchor], *fresh]

    def _known_ends(self, data: bytes, marks: bytes, earlier: Sequence[int]) -> Iterator[int]:
        """As ``_ends``, as far as ``earlier`` has control tokens only where the text has them."""
        vocab = self._vocab
        for token, end in zip(earlier, _ends(data, vocab, earlier, 0), strict=False):
            if vocab.is_control(token) and _INPUT in marks[end - len(vocab.source(token)) : end]:
                return
            yield end

    def _tokens(self, data: bytes, marks: bytes) -> list[int]:
        places, forged = self._places(data, marks)
        if not forged:
            tokens = self._vocab.tokenize(data, special=True)
            controls_n = sum(place.token in self._controls for place in places)
            if sum(token in self._controls for token in tokens) == controls_n:
                return tokens
        return self._tokens_between(data, places)

    def _places(self, data: bytes, marks: bytes) -> tuple[list[_Place], bool]:
        """The control tokens of ``data`` in llama.cpp's choice (longer ones first), and whether input says any."""
        found = list(self._written_in(data))
        own = [place for place in found if _INPUT not in marks[place.start : place.end]]
        forged = len(own) < len(found)
        places: list[_Place] = []
        for place in sorted(own, key=lambda place: (place.start - place.end, place.start)):
            at = bisect_left(places, place.start, key=lambda other: other.start)
            free_before = at == 0 or places[at - 1].end <= place.start
            if free_before and (at == len(places) or place.end <= places[at].start):
                places.insert(at, place)
        return places, forged

    def _written_in(self, data: bytes) -> Iterator[_Place]:
        if not self._written:
            return
        for match in self._head.finditer(data):
            start = match.start()
            for length in self._lengths:
                token = self._written.get(data[start : start + length])
                if token is not None:
                    yield _Place(start, start + length, token)

    def _tokens_between(self, data: bytes, places: Sequence[_Place]) -> list[int]:
        """The tokens of ``data`` with control tokens at these places and nowhere else."""
        tokens: list[int] = []
        at = 0
        for place in places:
            text = data[at : place.start]
            tokens += self._ordinary(text.rstrip(_WHITE_SPACE) if self._vocab.strips_before(place.token) else text)
            tokens.append(place.token)
            at = place.end
            if self._vocab.strips_after(place.token):
                at = len(data) - len(data[at:].lstrip(_WHITE_SPACE))
        return tokens + self._ordinary(data[at:])

    def _ordinary(self, data: bytes) -> list[int]:
        """The tokens of ``data``, which says no control token, whatever it says."""
        tokens = self._vocab.tokenize(data, special=False) if data else []
        if self._controls.isdisjoint(tokens):
            return tokens
        # The tokenizer puts pieces together until they are what a control token looks like.
        vocab = self._vocab
        spelt = (vocab.spell(vocab.source(token)) if token in self._controls else [token] for token in tokens)
        return [token for few in spelt for token in few]


def _bytes_and_marks(text: MarkedText) -> tuple[bytes, bytes]:
    """UTF-8 with a mark for each byte."""
    if text.isascii():
        return text.encode(), text.marks
    runs = [
        (str.__getitem__(text, slice(*run.span())).encode("utf-8", errors="replace"), run[0][:1])
        for run in _RUN.finditer(text.marks)
    ]
    return b"".join(data for data, _ in runs), b"".join(mark * len(data) for data, mark in runs)


def _ends(data: bytes, vocab: TextVocab, tokens: Iterable[int], at: int) -> Iterator[int]:
    """The end of each token in ``data``, as far as the tokens spell what stands there from ``at`` on."""
    before: int | None = None
    for token in tokens:
        end = _end(data, vocab, token, at, before)
        if end is None:
            return
        yield end
        at, before = end, token


def _end(data: bytes, vocab: TextVocab, token: int, at: int, before: int | None) -> int | None:
    """The end of ``token`` if it spells what stands at ``at``, but for the white space that tokenizing changes."""
    source = vocab.source(token)
    starts = [at]
    if vocab.strips_before(token) or (before is not None and vocab.strips_after(before)):
        starts.append(len(data) - len(data[at:].lstrip()))
    framed = before is None or vocab.is_control(before)
    space_put_in_front = framed and vocab.prefixes_space and source.startswith(b" ")
    for start in starts:
        if data.startswith(source, start):
            return start + len(source)
        if space_put_in_front and data.startswith(source[1:], start):
            return start + len(source) - 1
    return None
