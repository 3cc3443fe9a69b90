"""What the draft would have proposed at every place of the target's own text, for replaying policies without models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.model import Logits, Model
from localspec.engine.settings import Sampling
from tests.benchmarks.engine.case import Case

DEEPEST = 15


@dataclass(frozen=True, slots=True)
class Place:
    """One position of the text: what follows it is ``text[i:]``."""

    chain: list[int]
    """The draft's favourites, one after the other, up to ``DEEPEST`` of them or the end of the turn."""
    top: list[float]
    """The probability the draft gave to each of them, before any filter."""
    matched: int
    """How many of them, from the first on, the text goes on with."""
    overlap: float
    """The chance that a proposal drawn from the draft, filters applied, would be accepted: sum of min(p, q)."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A reply of the target with the draft's view of every place in it."""

    prompt: str
    kind: str
    temperature: float
    seed: int
    prompt_tokens: list[int]
    text: list[int]
    places: list[Place]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Trace:
        fields = {**data, "places": [Place(**place) for place in data["places"]]}
        return Trace(**fields)


def record(target: Model, draft: Model, case: Case) -> Trace:
    """The target's reply, greedy or drawn with the case's seed, and the draft beside it."""
    source = make_sampler(case.sampling, target.vocab.n_vocab)
    rng = SeededRng(case.seed)
    context = list(case.prompt.tokens)
    seen: list[tuple[list[int], list[float], float]] = []
    while len(seen) < case.max_tokens and len(context) < target.n_ctx:
        law = source.dist(target.logits(context, 1)[0])
        chain, top, own = _chain(draft, context, case.sampling)
        token = rng.draw(law)
        context.append(token)
        seen.append((chain, top, _overlap(law, own)))
        if target.vocab.is_end(token):
            break
    text = context[len(case.prompt.tokens) :]
    places = [Place(c, t, _matched(c, text[i:]), o) for i, (c, t, o) in enumerate(seen)]
    named = case.prompt
    return Trace(named.name, named.kind, case.sampling.temperature, case.seed, list(named.tokens), text, places)


def _chain(draft: Model, context: Sequence[int], sampling: Sampling) -> tuple[list[int], list[float], Dist]:
    """The favourites and their probabilities; and the draft's law for the first of them."""
    ahead = list(context)
    tokens: list[int] = []
    top: list[float] = []
    first: Dist | None = None
    for row in _rows(draft, ahead):
        first = first or make_sampler(sampling, draft.vocab.n_vocab).dist(row)
        tokens.append(int(row.argmax()))
        top.append(round(1.0 / float(np.exp(row - row.max()).sum()), 5))
        ahead.append(tokens[-1])
        if draft.vocab.is_end(tokens[-1]):
            break
    return tokens, top, first or Dist.point(0)


def _rows(draft: Model, ahead: Sequence[int]) -> Iterator[Logits]:
    """The draft's scores after ``ahead``, which grows meanwhile."""
    for _ in range(DEEPEST):
        if len(ahead) > draft.n_ctx:
            return
        yield draft.logits(ahead, 1)[0]


def _matched(chain: Sequence[int], text: Sequence[int]) -> int:
    equal = (a == b for a, b in zip(chain, text, strict=False))
    return next((n for n, same in enumerate(equal) if not same), min(len(chain), len(text)))


def _overlap(p: Dist, q: Dist) -> float:
    target = dict(zip(p.ids.tolist(), p.probs.tolist(), strict=True))
    shared = (min(target.get(i, 0.0), weight) for i, weight in zip(q.ids.tolist(), q.probs.tolist(), strict=True))
    return round(float(sum(shared)), 5)
