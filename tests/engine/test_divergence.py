"""The divergence of draft and target: what it bounds, when it is measured, and what it does not depend on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.divergence import EVERY, divergence, divergence_of
from localspec.engine.drafter import Draft, Favourite, NextProposal
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.events import Origin, Round, Token
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.model_drafter import favourite_of
from localspec.engine.sampling import Greedy
from localspec.engine.tally import Tally
from tests.fakes import TableModel, letters

SCORES = st.lists(st.floats(-12, 12, width=32), min_size=2, max_size=12)


def row_of(scores: list[float]) -> Logits:
    return np.array(scores, dtype=np.float32)


def softmax(row: Logits) -> list[float]:
    weights = [math.exp(float(score)) for score in row]
    return [weight / sum(weights) for weight in weights]


@given(st.data())
def test_it_is_at_most_the_divergence_of_the_whole(data: st.DataObject) -> None:
    """Data processing: seen through one question two distributions never differ more than they do; nor less than 0."""
    target = row_of(data.draw(SCORES))
    draft = row_of(data.draw(st.lists(st.floats(-12, 12, width=32), min_size=len(target), max_size=len(target))))
    whole = sum(p * math.log(p / q) for p, q in zip(softmax(target), softmax(draft), strict=True))
    assert 0 <= divergence(favourite_of(draft), target) <= whole + 1e-3 * (1 + whole)


@given(SCORES)
def test_equal_models_do_not_diverge(scores: list[float]) -> None:
    """However sure they are."""
    row = row_of(scores)
    assert divergence(favourite_of(row), row) == pytest.approx(0, abs=1e-5)


def test_two_tokens_by_hand() -> None:
    """With two tokens it is the divergence itself."""
    target, draft = row_of([math.log(0.9), math.log(0.1)]), row_of([math.log(0.4), math.log(0.6)])
    assert favourite_of(draft).token == 1
    by_hand = 0.9 * math.log(0.9 / 0.4) + 0.1 * math.log(0.1 / 0.6)
    assert divergence(favourite_of(draft), target) == pytest.approx(by_hand, rel=1e-4)


def test_it_is_finite_where_one_is_certain_of_what_the_other_excludes() -> None:
    """Also for a token that the target does not even have."""
    target, draft = row_of([100.0, -100.0]), row_of([-100.0, 100.0])
    assert 10 < divergence(favourite_of(draft), target) < 14
    assert 10 < divergence(Favourite(7, 1.0), target) < 14


def drafted(*proposals: NextProposal) -> Draft:
    draft = Draft()
    for proposal in proposals:
        draft.draw(proposal, SeededRng(1))
    return draft


def test_only_some_rounds_are_measured() -> None:
    """The first and every fourth, where the draft model made the first proposal; whatever is proposed after it."""
    target, own = row_of([1.0, 2.0, 3.0]), row_of([3.0, 2.0, 1.0])
    favourite = favourite_of(own)
    model = NextProposal("draft", Dist.point(2), "", 0.5, favourite=favourite)
    suffix = NextProposal("suffix", Dist.point(1), "", 0.5)
    rows = np.stack([target, own, own])
    expected = divergence(favourite, target)
    assert [divergence_of(drafted(model), rows, n) for n in range(2 * EVERY)] == [
        expected if n % EVERY == 0 else None for n in range(2 * EVERY)
    ]
    assert divergence_of(drafted(model, suffix), rows, 0) == expected
    assert divergence_of(drafted(suffix, model), rows, 0) is None
    assert divergence_of(drafted(), rows, 0) is None


def test_every_fourth_round_of_a_reply_is_measured() -> None:
    """From the first on, by the two models' own scores, whatever the sampler makes of them."""
    target, draft = TableModel(letters(6), seed=1), TableModel(letters(6), seed=2)
    request = Request([0, 1], Greedy(), SeededRng(0), FixedDepth(2), max_tokens=24)
    events = list(generate(target, [DraftModel(draft)], request, Cancellation()))
    rounds = [event for event in events if isinstance(event, Round) and event.depth]
    assert len(rounds) > 2 * EVERY
    assert [round_.divergence is not None for round_ in rounds] == [n % EVERY == 0 for n in range(len(rounds))]
    by_hand = divergence(favourite_of(row_of(draft.row([0, 1]))), row_of(target.row([0, 1])))
    assert rounds[0].divergence == pytest.approx(by_hand)


def test_a_reply_has_the_mean_of_its_measured_rounds() -> None:
    """Those that were not measured count for nothing."""
    plain = Round(0, None, 0, (Token(1, "a", Origin.PLAIN),), (), (), 0.0, 0.1, 0.1)
    tally = Tally()
    tally.add(plain)
    assert tally.timings().divergence is None
    for value in (0.25, None, 0.5, 1.5):
        tally.add(replace(plain, divergence=value))
    assert tally.timings().divergence == 0.75


def test_exact_numbers_are_probabilities() -> None:
    """As everywhere in the engine."""
    from fractions import Fraction

    row = np.array([Fraction(1, 4), Fraction(3, 4)], dtype=object)
    assert favourite_of(row) == Favourite(1, 0.75)
    assert divergence(Favourite(1, 0.75), row) == 0


@pytest.mark.parametrize("n", [1000, 16_384, 151_669])
def test_the_best_ones_share_is_nearly_known_in_any_vocabulary(n: int) -> None:
    """Never too small, and exact in a small vocabulary; also of the last token, and where others cannot be at all."""
    dice = np.random.default_rng(n)
    for peak, error in ((2.0, 0.03), (12.0, 0.01), (20.0, 0.001)):
        row = dice.normal(0, 2.5, n).astype(np.float32)
        row[dice.integers(0, n, 20)] += peak
        row[[n - 1, n // 2]] = row.max() + 1, -np.inf
        weights = np.exp(row.astype(np.float64) - row.max())
        found, exact = favourite_of(row), 1 / weights.sum()
        assert found.token == n - 1
        assert exact - 1e-9 < found.prob < exact + (error if n > 1000 else 1e-6)
        assert divergence(found, row) == pytest.approx(0, abs=1e-9)
