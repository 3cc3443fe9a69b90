"""What the draft would have proposed at every place of the target's own text, for replaying policies without models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.drafter import DraftCursor, Drafter, gives_blocks
from localspec.engine.model import Model
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


def record(target: Model, drafter: Drafter, case: Case) -> Trace:
    """The target's reply, greedy or drawn with the case's seed, and the draft beside it."""
    source = make_sampler(case.sampling, target.vocab.n_vocab)
    rng = SeededRng(case.seed)
    context = list(case.prompt.tokens)
    target.logits(context[:-1], 0)  # a head drafts from the target's rows, as far as the last token
    seen: list[tuple[list[int], list[float], float]] = []
    while len(seen) < case.max_tokens and len(context) < target.n_ctx:
        cursor = drafter.begin(context, source)
        assert cursor is not None
        chain, top, own = _chain(cursor, target.vocab.is_end)
        law = source.dist(target.logits(context, 1)[0])
        token = rng.draw(law)
        context.append(token)
        seen.append((chain, top, _overlap(law, own)))
        if target.vocab.is_end(token):
            break
    text = context[len(case.prompt.tokens) :]
    places = [Place(c, t, _matched(c, text[i:]), o) for i, (c, t, o) in enumerate(seen)]
    named = case.prompt
    return Trace(named.name, named.kind, case.sampling.temperature, case.seed, list(named.tokens), text, places)


def _chain(cursor: DraftCursor, is_end: Callable[[int], bool]) -> tuple[list[int], list[float], Dist]:
    """The favourites and their probabilities; and the draft's law for the first of them."""
    tokens: list[int] = []
    top: list[float] = []
    first: Dist | None = None
    if gives_blocks(cursor):
        cursor.size_block(DEEPEST)
    while len(tokens) < DEEPEST:
        proposal = cursor.peek()
        if proposal is None or proposal.favourite is None:
            break
        first = first or proposal.base or proposal.dist
        tokens.append(proposal.favourite.token)
        top.append(round(proposal.favourite.prob, 5))
        if is_end(tokens[-1]):
            break
        cursor.step(tokens[-1])
    return tokens, top, first or Dist.point(0)


def _matched(chain: Sequence[int], text: Sequence[int]) -> int:
    equal = (a == b for a, b in zip(chain, text, strict=False))
    return next((n for n, same in enumerate(equal) if not same), min(len(chain), len(text)))


def _overlap(p: Dist, q: Dist) -> float:
    target = dict(zip(p.ids.tolist(), p.probs.tolist(), strict=True))
    shared = (min(target.get(i, 0.0), weight) for i, weight in zip(q.ids.tolist(), q.probs.tolist(), strict=True))
    return round(float(sum(shared)), 5)
