"""Small stand-ins with the real interfaces: models that are tables, drafters that are scripts."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from localspec.engine.dist import Dist, Rng
from localspec.engine.drafter import NextProposal
from localspec.engine.model import Logits, Model, ScoreRows, with_gaps
from localspec.engine.sampling import Sampler


@dataclass(frozen=True, slots=True)
class PieceVocab:
    """A vocabulary given by its pieces; ``ends`` are the tokens that end a turn."""

    pieces: tuple[bytes, ...]
    ends: frozenset[int] = frozenset()

    @property
    def n_vocab(self) -> int:
        return len(self.pieces)

    def piece(self, token: int) -> bytes:
        return self.pieces[token]

    def is_end(self, token: int) -> bool:
        return token in self.ends


def letters(n_vocab: int, ends: frozenset[int] = frozenset()) -> PieceVocab:
    """Tokens that read a, b, c, ...; an end token has no text."""
    return PieceVocab(tuple(b"" if i in ends else bytes([97 + i % 26]) for i in range(n_vocab)), ends)


def selected(model: Model, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
    """As ``SelectiveModel.selected_logits``, of any model."""
    rows = model.logits(context, last)
    return with_gaps(np.delete(rows, sorted(unread), axis=0), last, unread)


@dataclass(slots=True)
class TableModel:
    """Logits as a pure function of the last ``order`` tokens, drawn once from ``seed``.

    It keeps a "cache" like a real backend, only to report ``held`` and to count evaluated tokens.
    """

    vocab: PieceVocab
    seed: int = 0
    order: int = 2
    n_ctx: int = 512
    sharpness: float = 2.0
    evaluated_n: int = 0
    calls: list[tuple[int, int]] = field(default_factory=list)
    _held: list[int] = field(default_factory=list)

    def held(self, context: Sequence[int]) -> int:
        n = 0
        for a, b in zip(self._held, context, strict=False):
            if a != b:
                break
            n += 1
        return n

    def logits(self, context: Sequence[int], last: int) -> Logits:
        assert len(context) <= self.n_ctx, "evaluated past the context"
        assert last <= len(context)
        self.evaluated_n += len(context) - min(self.held(context), len(context) - last)
        self.calls.append((len(context), last))
        self._held = list(context)
        rows = [self.row(context[: len(context) - last + i + 1]) for i in range(last)]
        return np.array(rows, dtype=np.float32).reshape(last, self.vocab.n_vocab)

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        return selected(self, context, last, unread)

    def row(self, context: Sequence[int]) -> list[float]:
        key = f"{self.seed}:{list(context[-self.order :]) if self.order else []}"
        source = random.Random(key)
        return [source.gauss(0, self.sharpness) for _ in range(self.vocab.n_vocab)]


@dataclass(slots=True)
class ExactModel:
    """Probabilities as fractions, a random distribution for every context; for exact laws."""

    vocab: PieceVocab
    seed: int = 0
    n_ctx: int = 64
    zeros: bool = True
    """Whether some tokens may have no chance at all."""

    def held(self, context: Sequence[int]) -> int:
        return 0

    def logits(self, context: Sequence[int], last: int) -> Any:
        rows = np.empty((last, self.vocab.n_vocab), dtype=object)
        for i in range(last):
            rows[i] = self.probs(context[: len(context) - last + i + 1])
        return rows

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        return selected(self, context, last, unread)

    def probs(self, context: Sequence[int]) -> Sequence[Fraction]:
        return _hashed_probs(f"{self.seed}:{list(context)}", self.vocab.n_vocab, zeros=self.zeros)


@lru_cache(100_000)
def _hashed_probs(key: str, n_vocab: int, *, zeros: bool) -> Sequence[Fraction]:
    """Probabilities for a key; enumerations ask for the same again and again."""
    source = random.Random(key)
    weights = [source.randint(0 if zeros else 1, 4) for _ in range(n_vocab)]
    if not any(weights):
        weights[source.randrange(len(weights))] = 1
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


class ExactSampler:
    """Takes a row of ``ExactModel`` as the distribution it is."""

    stateless = True

    def dist(self, row: Any) -> Dist:
        return Dist.of(np.arange(len(row), dtype=np.int64), np.asarray(row, dtype=object))

    def accept(self, token: int) -> None:
        pass

    def fork(self) -> ExactSampler:
        return self


class Softmax:
    """Plain sampling at a temperature, in a few lines, to hold the real samplers against."""

    stateless = True

    def __init__(self, temperature: float = 1.0) -> None:
        self._temperature = temperature

    def dist(self, row: Logits) -> Dist:
        scaled = row.astype(np.float64) / self._temperature
        weights = np.exp(scaled - scaled.max())
        return Dist.of(np.arange(len(row), dtype=np.int64), weights)

    def accept(self, token: int) -> None:
        pass

    def fork(self) -> Softmax:
        return self


@dataclass(slots=True)
class RecordingSampler:
    """Wraps a sampler and remembers the path it was advanced along."""

    inner: Sampler
    path: list[int] = field(default_factory=list)

    @property
    def stateless(self) -> bool:
        return self.inner.stateless

    def dist(self, row: Logits) -> Dist:
        return self.inner.dist(row)

    def accept(self, token: int) -> None:
        self.path.append(token)

    def fork(self) -> RecordingSampler:
        return RecordingSampler(self.inner, list(self.path))


@dataclass(slots=True)
class ScriptedDrafter:
    """Proposes what ``script(context)`` says, as point masses, up to the depth asked for."""

    script: Callable[[Sequence[int]], Sequence[int]]
    name: str = "scripted"
    model: Model | None = None
    prefills: list[int] = field(default_factory=list)

    def prefill(self, context: Sequence[int]) -> None:
        self.prefills.append(len(context))
        if self.model is not None:
            self.model.logits(context, 0)

    def begin(self, context: Sequence[int], sampler: Sampler) -> ScriptedCursor:
        return ScriptedCursor(self.name, list(self.script(context)))

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        assert len(proposals) == len(target_dists)


@dataclass(slots=True)
class ScriptedCursor:
    """A script read to its end; a foreign token does not disturb it."""

    name: str
    left: list[int]
    lag: int = 0
    rng: float = 0.5

    def peek(self) -> NextProposal | None:
        return NextProposal(self.name, certain(self.left[0]), "script", self.rng) if self.left else None

    def step(self, token: int) -> None:
        del self.left[:1]


def certain(token: int) -> Dist:
    """All mass on one token, exactly."""
    return Dist(np.array([token], dtype=np.int64), np.array([Fraction(1)], dtype=object))


@dataclass(slots=True)
class SamplingDrafter:
    """Draws proposals from another model's distribution."""

    model: Any
    name: str = "sampling"

    def prefill(self, context: Sequence[int]) -> None:
        pass

    def begin(self, context: Sequence[int], sampler: Sampler) -> SamplingCursor:
        return SamplingCursor(self.name, self.model, sampler, list(context))

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        assert len(proposals) == len(target_dists)


@dataclass(slots=True)
class SamplingCursor:
    """Ahead of the text with a model of its own."""

    name: str
    model: Any
    sampler: Sampler
    ahead: list[int]
    lag: int = 1

    def peek(self) -> NextProposal | None:
        return NextProposal(self.name, self.sampler.dist(self.model.logits(self.ahead, 1)[0]), "model", 0.5)

    def step(self, token: int) -> None:
        self.ahead.append(token)


class _Fork(Exception):
    """More than one thing can happen here, and the script is over."""

    def __init__(self, weights: list[Fraction]) -> None:
        self.weights = weights


class _Scripted:
    """Chance whose decisions are given; raises ``_Fork`` when they run out."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = list(script)
        self._at = 0

    def _choose(self, weights: list[Fraction]) -> int:
        possible = [i for i, weight in enumerate(weights) if weight > 0]
        if len(possible) == 1:
            return possible[0]
        if self._at == len(self._script):
            raise _Fork(weights)
        self._at += 1
        return self._script[self._at - 1]

    def accepts(self, p: Any, q: Any) -> bool:
        ratio = min(Fraction(1), Fraction(p) / Fraction(q))
        return self._choose([1 - ratio, ratio]) == 1

    def draw(self, dist: Dist) -> int:
        return int(dist.ids[self._choose([Fraction(prob) for prob in dist.probs])])


def enumerate_law(run: Callable[[Rng], tuple[int, ...]]) -> dict[tuple[int, ...], Fraction]:
    """The exact law of what ``run`` returns, over every outcome of every random decision it makes."""
    law: dict[tuple[int, ...], Fraction] = {}
    open_scripts: list[tuple[list[int], Fraction]] = [([], Fraction(1))]
    while open_scripts:
        script, weight = open_scripts.pop()
        try:
            outcome = run(_Scripted(script))
        except _Fork as fork:
            open_scripts += [([*script, i], weight * w) for i, w in enumerate(fork.weights) if w > 0]
        else:
            law[outcome] = law.get(outcome, Fraction(0)) + weight
    return law
