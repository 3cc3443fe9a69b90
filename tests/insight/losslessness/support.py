"""A pair made of tables that can be examined, and mistakes to plant in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import localspec.engine.loop as loop
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Dist, Rng, SeededRng
from localspec.engine.drafter import Draft
from localspec.engine.events import Event
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.verify import Verdict, verify
from localspec.insight.prompt_sets import BenchPrompt
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.pair_info import PairInfo
from tests.cli.support import info_of
from tests.fakes import SamplingDrafter, TableModel, letters

N_VOCAB = 5
TEMPERATURE, TOP_P = 3.0, 0.75


@dataclass(slots=True)
class QuickTable(TableModel):
    """A table that remembers its rows.

    A ``stale`` one keeps, after a rewind, what the cache held in the first place that was taken back.
    """

    stale: bool = False
    rows: dict[tuple[int, ...], list[float]] = field(default_factory=dict)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        seen = list(context)
        kept = self.held(context)
        if self.stale and kept < min(len(self._held), len(context)):
            seen[kept] = self._held[kept]
        self._held = list(context)
        rows = [self.remembered(seen[: len(seen) - last + i + 1]) for i in range(last)]
        return np.array(rows, dtype=np.float32).reshape(last, self.vocab.n_vocab)

    def remembered(self, context: Sequence[int]) -> list[float]:
        key = tuple(context[-self.order :])
        if key not in self.rows:
            self.rows[key] = self.row(context)
        return self.rows[key]


class NearTable(QuickTable):
    """The table with the next smaller seed, but for noise."""

    def row(self, context: Sequence[int]) -> list[float]:
        near = TableModel(self.vocab, seed=self.seed - 1, order=self.order, sharpness=1.5).row(context)
        noise = TableModel.row(self, context)  # of this table's own sharpness
        return [score + more for score, more in zip(near, noise, strict=True)]


class Nucleus:
    """Top-p, then temperature, as llama.cpp has it; ``swapped`` is the other way round."""

    stateless = True

    def __init__(self, *, swapped: bool = False) -> None:
        self.swapped = swapped
        self._known: dict[bytes, Dist] = {}

    def dist(self, row: Logits) -> Dist:
        key = row.tobytes()
        if key not in self._known:
            self._known[key] = self._dist(row)
        return self._known[key]

    def _dist(self, row: Logits) -> Dist:
        scores = row.astype(np.float64)
        cut = scores / TEMPERATURE if self.swapped else scores
        probs = np.exp(cut - cut.max())
        order = np.argsort(-probs)
        share = np.cumsum(probs[order]) / probs.sum()
        kept = order[: int(np.searchsorted(share, TOP_P)) + 1]
        hot = scores[kept] / TEMPERATURE
        return Dist.of(kept.astype(np.int64), np.exp(hot - hot.max()))

    def accept(self, token: int) -> None:
        """Nothing to remember."""

    def fork(self) -> Nucleus:
        return self


NUCLEUS, SWAPPED = Nucleus(), Nucleus(swapped=True)


@dataclass(slots=True)
class TablePair:
    """Two tables behind the interface of an open pair."""

    target: QuickTable = field(default_factory=lambda: QuickTable(letters(N_VOCAB), seed=11, sharpness=1.5))
    draft: QuickTable = field(default_factory=lambda: NearTable(letters(N_VOCAB), seed=12, sharpness=0.7))
    cancel: Cancellation = field(default_factory=Cancellation)

    @property
    def info(self) -> PairInfo:
        from localspec.runtime.options import LoadOptions

        return info_of(LoadOptions(Path("big.gguf"), Path("small.gguf")))

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        sampler: Sampler = Greedy() if options.sampling.greedy else NUCLEUS
        request = loop.Request(
            self._tokens(prompt),
            sampler,
            SeededRng(options.seed or 0),
            FixedDepth(3 if options.depth is None else options.depth),
            max_tokens=options.max_tokens,
        )
        drafters = [] if options.spec == () else [SamplingDrafter(self.draft)]
        yield from loop.generate(self.target, drafters, request, self.cancel)

    def scores(self, prompt: Sequence[Message] | str, reply: Sequence[int], width: int) -> Iterator[Logits]:
        tokens = self._tokens(prompt)
        for start in range(0, len(reply), width):
            end = min(start + width, len(reply))
            yield from self.target.logits([*tokens, *reply[: end - 1]], end - start)

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self, cancel: Cancellation | None = None) -> None:
        """Nothing is held."""

    def _tokens(self, prompt: Sequence[Message] | str) -> list[int]:
        text = prompt if isinstance(prompt, str) else prompt[-1].content
        return [ord(letter) % N_VOCAB for letter in text]


PROMPTS = tuple(BenchPrompt(f"own-{i}", "own", (Message(Role.USER, text),)) for i, text in enumerate(("cde", "ab")))


# --- planted errors -------------------------------------------------------------------------------


def biased_acceptance(draft: Draft, rows: Any, sampler: Sampler, rng: Rng, is_end: Any) -> Verdict:
    """Accepts with min(1, p/q + 0.4)."""
    return verify(draft, rows, sampler, _Kind(rng), is_end) if len(draft) else _real(draft, rows, sampler, rng)


class _Kind:
    def __init__(self, rng: Rng) -> None:
        self._rng = rng

    def accepts(self, p: Any, q: Any) -> bool:
        return self._rng.accepts(p + 0.4 * q, q)

    def draw(self, dist: Dist) -> int:
        return self._rng.draw(dist)


def residual_not_renormalised(draft: Draft, rows: Any, sampler: Sampler, rng: Rng, is_end: Any) -> Verdict:
    """Draws the replacement from max(p - q, 0) as it stands; what is missing to 1 falls to the last token."""
    for i, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True)):
        p = sampler.dist(rows[i])
        if not rng.accepts(p.prob(x), q.prob(x)):
            rest = {int(t): max(0.0, float(p.prob(int(t)) - q.prob(int(t)))) for t in p.ids}
            last = int(p.ids[-1])
            rest[last] += 1 - sum(rest.values())
            return Verdict(i, rng.draw(Dist.of(np.array([*rest]), np.array([*rest.values()]))))
    return Verdict(len(draft), rng.draw(sampler.dist(rows[len(draft)])))


def bonus_dropped(draft: Draft, rows: Any, sampler: Sampler, rng: Rng, is_end: Any) -> Verdict:
    """A draft that is accepted as a whole gets no token of the target's own."""
    verdict = verify(draft, rows, sampler, rng, is_end)
    return Verdict(verdict.accepted, None) if len(draft) and verdict.accepted == len(draft) else verdict


def bonus_from_the_row_before(draft: Draft, rows: Any, sampler: Sampler, rng: Rng, is_end: Any) -> Verdict:
    """The bonus is drawn where the last proposal was."""
    verdict = verify(draft, rows, sampler, rng, is_end)
    if len(draft) and verdict.accepted == len(draft):
        return Verdict(verdict.accepted, rng.draw(sampler.dist(rows[len(draft) - 1])))
    return verdict


def wrong_sampler_order(draft: Draft, rows: Any, sampler: Sampler, rng: Rng, is_end: Any) -> Verdict:
    """Drafts are judged with the temperature before top-p."""
    swapped = SWAPPED if sampler is NUCLEUS and len(draft) else sampler
    return verify(draft, rows, swapped, rng, is_end)


def _real(draft: Draft, rows: Any, sampler: Sampler, rng: Rng) -> Verdict:
    return verify(draft, rows, sampler, rng, lambda token: False)


Verifier = Callable[..., Verdict]
PLANTED: dict[str, Verifier] = {
    each.__name__: each
    for each in (
        biased_acceptance,
        residual_not_renormalised,
        bonus_dropped,
        bonus_from_the_row_before,
        wrong_sampler_order,
    )
}
