"""Stand-ins for what drafters over hidden states read: a target that has some, and heads that are hashes.

A hidden row is a number for each layer, made from the layer and every token up to its position. A head's scores depend
on every row that it holds and on the position it holds it at: a row that is stale, missing, shifted or of the wrong
layer gives other scores. ``block_scores`` and ``chain_scores`` say what they have to be.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from localspec.engine.block_head import Block
from localspec.engine.head import HeadStep
from localspec.engine.hidden import HiddenRows, Rows
from localspec.engine.model import ScoreRows, common_prefix
from tests.fakes import ExactModel, PieceVocab, selected

Entry = tuple[object, ...]
"""Something a head has read at a position, rows as tuples."""


def hidden_row(layers: Sequence[int], prefix: Sequence[int]) -> tuple[float, ...]:
    """The states of ``layers`` at the position of the last token of ``prefix``."""
    return tuple(_hashed(f"{layer}:{list(prefix)}") for layer in layers)


@lru_cache(100_000)
def _hashed(key: str) -> float:
    """A number from 0 to 1 for a key; enumerations ask for the same again and again."""
    return random.Random(key).random()


def rows_of(layers: Sequence[int], context: Sequence[int], start: int, end: int) -> Rows:
    """The rows of the positions from ``start`` to before ``end``."""
    rows = [hidden_row(layers, context[: position + 1]) for position in range(start, end)]
    return np.array(rows, np.float64).reshape(len(rows), len(layers))


@dataclass(slots=True)
class HiddenTarget:
    """A model whose hidden states can be read, of the latest ``kept_n`` positions that it evaluated."""

    inner: ExactModel
    kept_n: int = 1_000_000
    rows_from: int = 0
    """The first position with a row: a cache that was read from a file has none."""
    _evaluated: list[int] = field(default_factory=list)

    @property
    def vocab(self) -> PieceVocab:
        return self.inner.vocab

    @property
    def n_ctx(self) -> int:
        return self.inner.n_ctx

    def held(self, context: Sequence[int]) -> int:
        return common_prefix(self._evaluated, list(context))

    def logits(self, context: Sequence[int], last: int) -> Any:
        self._evaluated = list(context)
        return self.inner.logits(context, last)

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        return selected(self, context, last, unread)

    def keep_hidden(self, layers: Sequence[int]) -> _Kept:
        return _Kept(self, tuple(layers))

    def rows(self, layers: Sequence[int], context: Sequence[int], start: int) -> HiddenRows:
        known_n = common_prefix(self._evaluated, list(context))
        first = max(start, self.rows_from, len(self._evaluated) - self.kept_n)
        return HiddenRows(first, rows_of(layers, context, first, max(first, known_n)))


@dataclass(frozen=True, slots=True)
class _Kept:
    """Some layers of a ``HiddenTarget``."""

    target: HiddenTarget
    layers: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.layers)

    def rows(self, context: Sequence[int], start: int = 0) -> HiddenRows:
        return self.target.rows(self.layers, context, start)


def _exact(vocab: PieceVocab, *grounds: object) -> Any:
    """Chances as fractions, a row, that depend on all of ``grounds``; no token is without one."""
    weights = [1 + int(9 * _hashed(f"{grounds} {token}")) for token in range(vocab.n_vocab)]
    row = np.empty(len(weights), dtype=object)
    row[:] = [Fraction(weight, sum(weights)) for weight in weights]
    return row


@dataclass(slots=True)
class FakeBlockHead:
    """A DFlash head: a block's scores depend on all rows before it, the last token and the place."""

    vocab: PieceVocab
    block_n: int = 4
    n_ctx: int = 64
    threads: int = 1
    confident: bool = False
    cache: dict[int, Entry] = field(default_factory=dict)
    injected_n: int = 0
    """Rows that were read, all in all."""
    guessed: list[int] = field(default_factory=list)
    """The sizes of the blocks."""

    def set_threads(self, n: int) -> None:
        self.threads = n

    def inject(self, features: Rows, position: int, tokens: Sequence[int]) -> None:
        assert len(features), "an evaluation of nothing"
        assert len(tokens) == len(features), "a token for each row"
        self._cut(position)
        for row in features:
            self.cache[position] = tuple(row.tolist())
            position += 1
        self.injected_n += len(features)
        assert position <= self.n_ctx

    def guess(self, token: int, position: int, n: int) -> Block:
        assert 1 <= n <= self.block_n, "more places than were trained for"
        assert position + n < self.n_ctx, "evaluated past the context"
        self._cut(position)
        self.guessed.append(n)
        rows = np.array([block_row(self.vocab, self.cache, token, position, place) for place in range(n)])
        confidence = np.array([0.95 / (1 + place) for place in range(n)], np.float32)
        return Block(rows, confidence if self.confident else None)

    def forget(self) -> None:
        self.cache.clear()

    def _cut(self, position: int) -> None:
        for behind in [each for each in self.cache if each >= position]:
            del self.cache[behind]
        assert not self.cache or max(self.cache) == position - 1, "llama.cpp takes no gap"


def block_row(vocab: PieceVocab, cache: Mapping[int, Entry], token: int, position: int, place: int) -> Any:
    """The scores of one place of a block."""
    return _exact(vocab, "block", sorted(cache.items()), token, position, place)


def block_scores(
    vocab: PieceVocab, layers: Sequence[int], context: Sequence[int], n: int, first: int = 0
) -> Sequence[Any]:
    """The scores of a block after ``context`` by a head that has the rows of all positions from ``first`` on."""
    last = len(context) - 1
    cache: dict[int, Entry] = {position: hidden_row(layers, context[: position + 1]) for position in range(first, last)}
    return [block_row(vocab, cache, context[-1], last, place) for place in range(n)]


@dataclass(slots=True)
class FakeHead:
    """An EAGLE-3 or MTP head: its scores depend on every pair that it holds, and so do its own rows."""

    vocab: PieceVocab
    width: int = 2
    layers_n: int = 1
    shares_cache: bool = False
    n_ctx: int = 64
    threads: int = 1
    cache: dict[tuple[int, int], Entry] = field(default_factory=dict)
    """By layer and position."""
    read_n: int = 0
    """Pairs that were read, all in all."""

    def set_threads(self, n: int) -> None:
        self.threads = n

    def encode(self, features: Rows) -> Rows:
        rows = [encoded(row, self.width) for row in features.tolist()]
        return np.array(rows, np.float64).reshape(len(features), self.width)

    def read(
        self, tokens: Sequence[int], rows: Rows, position: int, *, scored: bool, layer: int = 0
    ) -> HeadStep | None:
        assert tokens
        assert rows.shape == (len(tokens), self.width)
        assert 0 <= layer < self.layers_n
        kept = {} if self.shares_cache else self.cache
        self.cache = {at: entry for at, entry in kept.items() if at[0] != layer or at[1] < position}
        for at, (token, row) in enumerate(zip(tokens, rows.tolist(), strict=True), position):
            self.cache[layer, at] = (token, *row)
        self.read_n += len(tokens)
        assert position + len(tokens) <= self.n_ctx
        if not scored:
            return None
        pairs = [entry for at, entry in sorted(self.cache.items()) if at[0] == layer]
        return head_step(self.vocab, pairs, position + len(tokens) - 1, layer, self.width)

    def forget(self) -> None:
        self.cache.clear()


def encoded(row: Sequence[float], width: int) -> tuple[float, ...]:
    """A target's row as a head's encoder fuses it."""
    return tuple(random.Random(f"{list(row)} {i}").random() for i in range(width))


def head_step(vocab: PieceVocab, pairs: Sequence[Entry], position: int, layer: int, width: int) -> HeadStep:
    """The answer of a head whose layer holds ``pairs``, the last of them at ``position``."""
    own = [random.Random(f"{list(pairs)} {position} {layer} {i}").random() for i in range(width)]
    return HeadStep(_exact(vocab, "step", list(pairs), position, layer), np.array([own], np.float64))


def chain_scores(
    vocab: PieceVocab, layers: Sequence[int], text: Sequence[int], ahead: Sequence[int], *, shift: int, width: int = 2
) -> Any:
    """The scores after ``text`` and ``ahead`` by a head that has the target's rows of all of ``text`` but its end.

    ``shift`` is 1 for EAGLE-3, and 0 for MTP, which reads the first token too, with zeros beside it.
    """
    pairs: list[Entry] = [] if shift else [(text[0], *[0.0] * width)]
    pairs += [(text[k], *encoded(hidden_row(layers, text[:k]), width)) for k in range(1, len(text))]
    position = len(text) - 1 - shift
    step = head_step(vocab, pairs, position, 0, width)
    for n, token in enumerate(ahead, 1):
        pairs.append((token, *step.hidden[0].tolist()))
        step = head_step(vocab, pairs, position + n, 0, width)
    return step.scores
