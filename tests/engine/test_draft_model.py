"""The draft model as a drafter: it guesses by the user's own rules, and in the way that the target accepts most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Dist, Rng, SeededRng
from localspec.engine.drafter import NextProposal
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.drafting import draft_round
from localspec.engine.events import Round
from localspec.engine.loop import Request, generate
from localspec.engine.model import Likeliest, Logits
from localspec.engine.proposal_sharpening import FAVOURITE, ProposalSharpening
from localspec.engine.sampling import Greedy
from tests.fakes import ExactModel, ExactSampler, Softmax, TableModel, enumerate_law, letters

PROMPT = [0, 1]


@dataclass
class Once:
    """Greedy, but no token twice: what a penalty without mercy would do."""

    stateless = False

    said: set[int] = field(default_factory=set)

    def dist(self, row: Logits) -> Dist:
        return Dist.point(max((i for i in range(len(row)) if i not in self.said), key=lambda i: float(row[i])))

    def accept(self, token: int) -> None:
        self.said.add(token)

    def fork(self) -> Once:
        return Once(set(self.said))


def proposals(drafter: DraftModel, sampler: Any, depth: int) -> list[int]:
    plan = FixedDepth(depth).plan(depth)
    return draft_round([drafter], PROMPT, plan, sampler, SeededRng(0), lambda token: False).tokens


def test_it_guesses_by_the_users_rules_along_its_own_guesses() -> None:
    """Each guess is what the user's sampler makes of the draft's scores, had the guesses before it been accepted."""
    model, sampler = TableModel(letters(6), seed=3, order=1), Once({0, 1})
    ahead, rules, expected = list(PROMPT), sampler.fork(), []
    for _ in range(4):
        token = int(rules.dist(model.logits(ahead, 1)[0]).ids[0])
        rules.accept(token)
        ahead.append(token)
        expected.append(token)
    assert proposals(DraftModel(model), sampler, 4) == expected
    assert sorted(expected) == [2, 3, 4, 5]
    assert sampler.said == {0, 1}, "a guess is not yet said"
    assert proposals(DraftModel(model), Greedy(), 4) != expected


@pytest.mark.parametrize(("sharpness", "law"), [(12.0, FAVOURITE), (0.5, "drawn")])
def test_it_learns_from_the_targets_rows_how_to_propose(sharpness: float, law: str) -> None:
    """A target far surer than the draft accepts favourites; one as open as the draft accepts what is drawn alike."""
    vocab = letters(8)
    drafter = DraftModel(TableModel(vocab, seed=1, sharpness=0.5))
    request = Request(PROMPT, Softmax(), SeededRng(0), FixedDepth(2), max_tokens=150)
    for _ in generate(TableModel(vocab, seed=1, sharpness=sharpness), [drafter], request, Cancellation()):
        pass
    plan = FixedDepth(1).plan(1)
    (proposal,) = draft_round([drafter], PROMPT, plan, Softmax(), SeededRng(0), vocab.is_end).proposals
    assert proposal.evidence.rpartition(" ")[0] == law


def test_it_changes_its_mind_with_the_text() -> None:
    """What drawing would have had is learned from favourites that were named as well."""
    drafter = DraftModel(TableModel(letters(8), seed=1, sharpness=0.5))
    for law in (FAVOURITE, "drawn", FAVOURITE):
        for _ in range(100):
            proposal = look_of(drafter)
            assert proposal.favourite is not None
            assert proposal.base is not None
            drafter.learn([proposal], [Dist.point(proposal.favourite.token) if law == FAVOURITE else proposal.base])
        assert look_of(drafter).evidence.rpartition(" ")[0] == law


def look_of(drafter: DraftModel) -> NextProposal:
    proposal = drafter.begin(PROMPT, Softmax()).peek()
    assert proposal is not None
    return proposal


@dataclass
class Place:
    """Says how many tokens it was told."""

    stateless = False

    told_n: int = 0

    def dist(self, row: Logits) -> Dist:
        return Dist.point(self.told_n)

    def accept(self, token: int) -> None:
        self.told_n += 1

    def fork(self) -> Place:
        return Place(self.told_n)


def test_each_proposal_is_told_to_the_users_rules_once() -> None:
    """Also those of others, between two looks."""
    sampler = Place()
    assert proposals(DraftModel(TableModel(letters(9))), sampler, 4) == [0, 1, 2, 3]
    cursor = DraftModel(TableModel(letters(9))).begin(PROMPT, sampler)
    told = []
    for others in ([], [5], [6, 7, 8]):
        for token in others:
            cursor.step(token)
        proposal = cursor.peek()
        assert proposal is not None
        told += proposal.dist.ids.tolist()
    assert told == [0, 1, 4]
    assert sampler.told_n == 0


def test_the_lag_is_what_a_look_has_to_read() -> None:
    """At least one token, for a look is never free: the last is read again where all is known."""
    model = TableModel(letters(9))
    for known_n, lag in ((0, 2), (1, 1), (2, 1)):
        model.logits(PROMPT[:known_n], 0)
        assert DraftModel(model).begin(PROMPT, Greedy()).lag == lag
    cursor = DraftModel(TableModel(letters(9))).begin(PROMPT, Greedy())
    lags = [cursor.lag]
    for tokens in ([5], [6, 7, 8]):
        cursor.peek()
        for token in tokens:
            cursor.step(token)
        lags.append(cursor.lag)
    assert lags == [2, 1, 3]


def test_a_draft_whose_context_is_full_has_nothing_to_say() -> None:
    """The reply goes on without it."""
    vocab = letters(6)
    request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(3), max_tokens=20)
    drafter = DraftModel(TableModel(vocab, seed=1, n_ctx=8))
    events = generate(TableModel(vocab, seed=1), [drafter], request, Cancellation())
    rounds = [event for event in events if isinstance(event, Round)]
    assert rounds[0].depth == 3
    assert rounds[-1].depth == 0
    assert sum(len(round_.tokens) for round_ in rounds) == 20


class Filtered(ExactSampler):
    """The likeliest tokens alone, the likely ones made likelier: top-k and a temperature of a half, in fractions."""

    def __init__(self, k: int) -> None:
        self._k = k

    def dist(self, row: Any) -> Dist:
        return self.guess(Likeliest(np.arange(len(row), dtype=np.int64), row))

    def guess(self, few: Likeliest) -> Dist:
        kept = sorted(range(len(few.ids)), key=lambda at: (-few.scores[at], at))[: self._k]
        return Dist.of(few.ids[kept], np.array([few.scores[at] ** 2 for at in kept], dtype=object))


class Terse(ExactModel):
    """Hands over its two likeliest tokens, and nothing else."""

    def likeliest(self, context: Sequence[int]) -> Likeliest:
        row = super().logits(context, 1)[0]
        ids = np.array(sorted(sorted(range(len(row)), key=lambda token: (-row[token], token))[:2]), dtype=np.int64)
        return Likeliest(ids, row[ids])

    def logits(self, context: Sequence[int], last: int) -> Any:
        assert not last, "all scores were asked for"
        return super().logits(context, last)


def law_of_plain(model: ExactModel, sampler: ExactSampler, length: int) -> dict[tuple[int, ...], Fraction]:
    law: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for _ in range(length):
        law = {
            (*tokens, int(token)): weight * prob
            for tokens, weight in law.items()
            for token, prob in _pairs(sampler.dist(model.logits([*PROMPT, *tokens], 1)[0]))
        }
    return law


def _pairs(dist: Dist) -> Sequence[tuple[Any, Any]]:
    return list(zip(dist.ids, dist.probs, strict=True))


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 3),
    law=st.sampled_from([FAVOURITE, "drawn"]),
    kind=st.sampled_from([ExactModel, Terse]),
)
@settings(max_examples=60, deadline=None)
def test_the_reply_has_the_filtered_targets_law(seed: int, k: int, law: str, kind: type[ExactModel]) -> None:
    """Every outcome enumerated, with the same filters on both sides, as point masses and drawn, judged as a block.

    Also where the draft knows its two likeliest tokens alone.
    """
    vocab = letters(3)
    model, sampler = ExactModel(vocab, seed=seed), Filtered(k)

    def run(rng: Rng) -> tuple[int, ...]:
        drafter = DraftModel(kind(vocab, seed=seed + 1, zeros=False))
        drafter.sharpening = Always(law)
        request = Request(PROMPT, sampler, rng, FixedDepth(2), max_tokens=3)
        rounds = [e for e in generate(model, [drafter], request, Cancellation()) if isinstance(e, Round)]
        return tuple(token.id for round_ in rounds for token in round_.tokens)

    assert enumerate_law(run) == law_of_plain(model, sampler, 3)


class Blunt(Terse):
    """Could hand over its likeliest tokens, were its device able to."""

    def likeliest(self, context: Sequence[int]) -> None:  # type: ignore[override]
        return None

    def logits(self, context: Sequence[int], last: int) -> Any:
        return ExactModel.logits(self, context, last)


@pytest.mark.parametrize(("kind", "sampler"), [(Blunt, Filtered(2)), (Terse, ExactSampler()), (Terse, Filtered(2))])
def test_all_scores_are_asked_for_only_where_the_likeliest_do_not_do(
    kind: type[ExactModel], sampler: ExactSampler
) -> None:
    """A device may be unable to rank, and a sampler to guess from what was ranked."""
    drafter = DraftModel(kind(letters(4), zeros=False))
    if kind is Terse and not isinstance(sampler, Filtered):
        with pytest.raises(AssertionError, match="all scores were asked for"):
            proposals(drafter, sampler, 3)
    else:
        assert len(proposals(drafter, sampler, 3)) == 3


class Always(ProposalSharpening):
    """Has decided."""

    def __init__(self, law: str) -> None:
        super().__init__()
        self._sharpening = law

    @property
    def best(self) -> str:
        return self._sharpening
