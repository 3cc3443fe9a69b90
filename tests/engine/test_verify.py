"""The law: whatever is drafted, the reply has the target's own distribution. Checked exactly.

Every random decision of a whole reply is enumerated in rational arithmetic and the law of the text
is compared with the target's, token by token, without tolerance. The planted errors at the end are
the record that the check bites: each is a mistake somebody has shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import localspec.engine.loop as loop
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Dist, Rng, SeededRng
from localspec.engine.drafter import Draft, Drafter
from localspec.engine.drafting import draft_round
from localspec.engine.events import Origin, Round
from localspec.engine.verify import Verdict, verify
from tests.fakes import (
    ExactModel,
    ExactSampler,
    PieceVocab,
    RecordingSampler,
    SamplingDrafter,
    ScriptedDrafter,
    enumerate_law,
    letters,
)

Law = dict[tuple[int, ...], Fraction]
PROMPT = [0]


def target_law(model: ExactModel, length: int, prompt: Sequence[int] = PROMPT) -> Law:
    """The law of the target alone: the product of its own probabilities, stopping at an end token."""
    law: Law = {}
    heads: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while heads:
        tokens, weight = heads.pop()
        if len(tokens) == length or (tokens and model.vocab.is_end(tokens[-1])):
            law[tokens] = weight
            continue
        for token, prob in enumerate(model.probs([*prompt, *tokens])):
            if prob:
                heads.append(((*tokens, token), weight * prob))
    return law


def reply_law(model: ExactModel, drafter: Drafter | None, depth: int, length: int) -> Law:
    """The law of the loop's reply, every outcome enumerated."""

    def run(rng: Rng) -> tuple[int, ...]:
        request = loop.Request(PROMPT, ExactSampler(), rng, FixedDepth(depth), max_tokens=length)
        events = loop.generate(model, [drafter] if drafter else [], request, Cancellation())
        return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)

    return enumerate_law(run)


def drafters(vocab: PieceVocab, seed: int) -> list[Drafter]:
    """One that samples honestly, one that is nearly the target's opposite, and two point-mass ones."""
    return [
        SamplingDrafter(ExactModel(vocab, seed=seed + 1000)),
        SamplingDrafter(ExactModel(vocab, seed=seed + 2000, zeros=False)),
        ScriptedDrafter(lambda context: [(context[-1] + 1) % vocab.n_vocab] * 3),
        ScriptedDrafter(lambda context: [sum(context) % vocab.n_vocab] if len(context) % 2 else []),
    ]


@given(seed=st.integers(0, 10_000), n_vocab=st.integers(2, 3), depth=st.integers(0, 2), which=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_reply_has_the_targets_law(seed: int, n_vocab: int, depth: int, which: int) -> None:
    """For random p, q and drafts the law of a three-token reply is the target's, exactly."""
    vocab = letters(n_vocab)
    model = ExactModel(vocab, seed=seed)
    assert reply_law(model, drafters(vocab, seed)[which], depth, 3) == target_law(model, 3)


@given(seed=st.integers(0, 10_000), which=st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_the_law_holds_when_replies_end_by_themselves(seed: int, which: int) -> None:
    """An end-of-turn token may be proposed, accepted, or drawn; lengths then differ and the law still holds."""
    vocab = letters(3, ends=frozenset({2}))
    model = ExactModel(vocab, seed=seed)
    assert reply_law(model, drafters(vocab, seed)[which], 2, 3) == target_law(model, 3)


def test_deeper_drafts_keep_the_law() -> None:
    """Depth 4 over a four-token reply, so that a round can cover all of it."""
    vocab = letters(2)
    model = ExactModel(vocab, seed=5, zeros=False)
    assert reply_law(model, SamplingDrafter(ExactModel(vocab, seed=6, zeros=False)), 4, 4) == target_law(model, 4)


def four_tokens(seed: int) -> tuple[ExactModel, Drafter]:
    """A case in which the residual of a block differs from that of a token: over fewer tokens it seldom does."""
    vocab = letters(4)
    return ExactModel(vocab, seed=seed, zeros=False), SamplingDrafter(ExactModel(vocab, seed=seed + 100, zeros=False))


@pytest.mark.parametrize("seed", [2, 3])
def test_the_residual_of_a_block_has_the_weight_of_what_is_kept(seed: int) -> None:
    """The replacement after a kept prefix is drawn from the positive part of P p - q, P being the prefix's weight."""
    model, drafter = four_tokens(seed)
    assert reply_law(model, drafter, 2, 3) == target_law(model, 3)


@pytest.mark.parametrize("seed", [2, 3])
def test_a_residual_that_forgets_that_weight_breaks_the_law(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So these cases notice it."""
    minus = Dist.minus
    monkeypatch.setattr(Dist, "minus", lambda self, other, weight=1: minus(self, other))
    model, drafter = four_tokens(seed)
    assert reply_law(model, drafter, 2, 3) != target_law(model, 3)


def test_acceptance_is_the_overlap_of_p_and_q() -> None:
    """A sampled proposal survives with probability sum(min(p, q))."""
    vocab = letters(3)
    model, other = ExactModel(vocab, seed=1, zeros=False), ExactModel(vocab, seed=2, zeros=False)
    p, q = model.probs(PROMPT), other.probs(PROMPT)

    def run(rng: Rng) -> tuple[int, ...]:
        draft = draft_round([SamplingDrafter(other)], PROMPT, FixedDepth(1).plan(1), ExactSampler(), rng, vocab.is_end)
        rows = model.logits([*PROMPT, *draft.tokens], 2)
        return (verify(draft, rows, ExactSampler(), rng, vocab.is_end).accepted,)

    assert enumerate_law(run)[(1,)] == sum(min(a, b) for a, b in zip(p, q, strict=True))


class Stateful(ExactSampler):
    """Says that it remembers, so that it is asked token by token."""

    stateless = False


@pytest.mark.parametrize("sampler", [ExactSampler(), Stateful()], ids=["as a block", "token by token"])
def test_the_sampler_is_told_exactly_what_is_committed(sampler: ExactSampler) -> None:
    """Whatever becomes of a draft, also where an accepted proposal ends the turn and nothing may follow it."""
    vocab = letters(3, ends=frozenset({2}))
    model, draft = ExactModel(vocab, seed=1, zeros=False), ExactModel(vocab, seed=2, zeros=False)
    outcomes: set[tuple[Origin, ...]] = set()

    def run(rng: Rng) -> tuple[int, ...]:
        told = RecordingSampler(sampler)
        request = loop.Request(PROMPT, told, rng, FixedDepth(2), max_tokens=3)
        events = loop.generate(model, [SamplingDrafter(draft)], request, Cancellation())
        rounds = [event for event in events if isinstance(event, Round)]
        outcomes.update(tuple(token.origin for token in round_.tokens) for round_ in rounds)
        said = [token.id for round_ in rounds for token in round_.tokens]
        assert told.path == said
        return tuple(said)

    assert enumerate_law(run) == target_law(model, 3)
    accepted, corrected, bonus = Origin.ACCEPTED, Origin.CORRECTED, Origin.BONUS
    both_kept = {(accepted, accepted), (accepted, accepted, bonus)}
    assert outcomes >= both_kept | {(accepted,), (accepted, corrected), (corrected,)}


@pytest.mark.parametrize(("impossible", "looked_at"), [(0, 1), (1, 2), (2, 3), (None, 4)])
def test_no_row_is_looked_at_behind_a_token_that_cannot_stay(impossible: int | None, looked_at: int) -> None:
    """With 150,000 tokens each look takes some hundred microseconds."""
    probs, half = np.array([0.5, 0.5, 0.0]), Dist(np.array([0, 2]), np.array([0.5, 0.5]))
    draft = Draft([0, 0, 0], [half, half, half])
    if impossible is not None:
        draft.tokens[impossible] = 2
    seen: list[int] = []

    class Looking(ExactSampler):
        def dist(self, row: Any) -> Dist:
            seen.append(1)
            return super().dist(row)

    verdict = verify(draft, np.array([probs] * 4), Looking(), SeededRng(1), lambda token: False)
    assert len(seen) == looked_at
    assert verdict.accepted <= (3 if impossible is None else impossible)


# --- planted errors -------------------------------------------------------------------------------


def skips_the_residual(draft: Draft, rows: Any, sampler: Any, rng: Rng, is_end: Any) -> Verdict:
    """Draws the replacement from p instead of the normalised positive part of p - q."""
    for i, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True)):
        p = sampler.dist(rows[i])
        if not rng.accepts(p.prob(x), q.prob(x)):
            return Verdict(i, rng.draw(p))
        if is_end(x):
            return Verdict(i + 1, None)
    return Verdict(len(draft), rng.draw(sampler.dist(rows[len(draft)])))


class OneNumber:
    """Answers every acceptance test of a round with the same random number (here: the same outcome quantile)."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self._quantile: int | None = None

    def accepts(self, p: Any, q: Any) -> bool:
        if self._quantile is None:
            sixths = Dist.of(*_sixths())
            self._quantile = self._rng.draw(sixths)
        return bool(Fraction(2 * self._quantile + 1, 12) * q < p)

    def draw(self, dist: Dist) -> int:
        return self._rng.draw(dist)


def _sixths() -> tuple[Any, Any]:
    import numpy as np

    return np.arange(6, dtype=np.int64), np.array([Fraction(1, 6)] * 6, dtype=object)


def reuses_one_random_number(draft: Draft, rows: Any, sampler: Any, rng: Rng, is_end: Any) -> Verdict:
    """Seeds inside the accept loop: every test of a round sees the same number."""
    return verify(draft, rows, sampler, OneNumber(rng), is_end)


def forgets_the_bonus(draft: Draft, rows: Any, sampler: Any, rng: Rng, is_end: Any) -> Verdict:
    """Repeats the last proposal's distribution instead of scoring the position after it."""
    verdict = verify(draft, rows, sampler, rng, is_end)
    if len(draft) and verdict.accepted == len(draft) and verdict.token is not None:
        return Verdict(verdict.accepted, rng.draw(sampler.dist(rows[len(draft) - 1])))
    return verdict


def accepts_everything(draft: Draft, rows: Any, sampler: Any, rng: Rng, is_end: Any) -> Verdict:
    """Trusts the drafter."""
    for i, x in enumerate(draft.tokens):
        if is_end(x):
            return Verdict(i + 1, None)
    return Verdict(len(draft), rng.draw(sampler.dist(rows[len(draft)])))


def divides_the_wrong_way(draft: Draft, rows: Any, sampler: Any, rng: Rng, is_end: Any) -> Verdict:
    """Accepts with min(1, q / p)."""
    for i, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True)):
        p = sampler.dist(rows[i])
        if p.prob(x) == 0 or not rng.accepts(q.prob(x), p.prob(x)):
            return Verdict(i, rng.draw(p.minus(q)))
    return Verdict(len(draft), rng.draw(sampler.dist(rows[len(draft)])))


@pytest.mark.parametrize(
    "planted",
    [skips_the_residual, reuses_one_random_number, forgets_the_bonus, accepts_everything, divides_the_wrong_way],
)
def test_a_planted_error_breaks_the_law(planted: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact comparison notices each of these mistakes."""
    monkeypatch.setattr(loop, "verify", planted)
    vocab = letters(3)
    model = ExactModel(vocab, seed=3, zeros=False)
    drafter = SamplingDrafter(ExactModel(vocab, seed=4, zeros=False))
    assert reply_law(model, drafter, 2, 3) != target_law(model, 3)


def test_dropping_a_drawn_token_by_its_own_probability_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why a drafter decides whether to go on before it draws."""

    def picky(*given: Any) -> Draft:
        draft = draft_round(*given)
        while draft.tokens and draft.dists[-1].prob(draft.tokens[-1]) < Fraction(1, 2):
            draft.tokens.pop()
            draft.dists.pop()
            draft.proposals.pop()
        return draft

    monkeypatch.setattr(loop, "draft_round", picky)
    vocab = letters(3)
    model = ExactModel(vocab, seed=8, zeros=False)
    drafter = SamplingDrafter(ExactModel(vocab, seed=9, zeros=False))
    assert reply_law(model, drafter, 1, 2) != target_law(model, 2)
