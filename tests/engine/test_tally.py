"""The speed-up: held against plain rounds under the same load, or not told."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.events import Origin, Round, Token
from localspec.engine.tally import Baseline, Tally
from localspec.engine.timings import Timings

PLAIN_S = 0.020
PRICES = {1: 1.0, 2: 1.7, 4: 1.8, 8: 3.0}
STEP_S = 0.0015
"""One token of the draft."""

Load = Callable[[float], float]
"""From the seconds that some work takes on a quiet machine to those that it takes here."""


def quiet(seconds: float) -> float:
    return seconds


def busy(rng: random.Random, others: int) -> Load:
    """A machine that gives its cores to other programs for slices of 4 ms, at moments of chance."""

    def load(seconds: float) -> float:
        slices, left_s = 0, rng.expovariate(others / 0.004)
        while left_s < seconds:
            slices += 1
            left_s += rng.expovariate(others / 0.004)
        return seconds + 0.004 * slices

    return load


def round_of(batch: int, committed: int, load: Load) -> Round:
    draft_s = load(STEP_S * (batch - 1)) if batch > 1 else 0.0
    tokens = tuple(Token(0, "x", Origin.PLAIN) for _ in range(committed))
    verify_s = load(PLAIN_S * PRICES[batch])
    return Round(0, None, batch - 1, tokens, (), (), draft_s, verify_s, draft_s + verify_s, price=PRICES[batch])


def timings_of(rounds: Sequence[Round]) -> Timings:
    tally = Tally(plain_per_second=1.0)
    for round_ in rounds:
        tally.add(round_)
    return tally.timings()


def reply(rng: random.Random, rounds_n: int, load: Load) -> list[Round]:
    """Rounds of some depth, of which some proposals are accepted."""
    batches = [rng.choice(list(PRICES)) for _ in range(rounds_n)]
    return [round_of(batch, rng.randint(1, batch), load) for batch in batches]


def true_speedup(rounds: Sequence[Round]) -> float:
    """On a quiet machine, where it is a ratio of two known times."""
    tokens_n = sum(len(round_.tokens) for round_ in rounds)
    quiet_s = sum(PLAIN_S * (round_.price or 0) + STEP_S * round_.depth for round_ in rounds)
    return tokens_n * PLAIN_S / quiet_s


@given(st.randoms(use_true_random=False), st.integers(1, 40), st.floats(0.2, 50))
def test_a_machine_that_is_slower_throughout_changes_nothing(rng: random.Random, n: int, factor: float) -> None:
    """Whatever plain speed was measured before."""
    rounds = reply(rng, n, lambda seconds: factor * seconds)
    timings = timings_of(rounds)
    assert not timings.busy
    assert timings.speedup_vs_plain == pytest.approx(true_speedup(rounds))
    assert timings.plain_per_second == pytest.approx(1 / (factor * PLAIN_S))


@given(st.lists(st.floats(1e-4, 10), min_size=1, max_size=40))
def test_without_drafts_a_reply_is_exactly_as_fast_as_plain(spent_s: list[float]) -> None:
    rounds = [round_of(1, 1, lambda _, s=s: s) for s in spent_s]  # type: ignore[misc]
    timings = timings_of(rounds)
    assert not timings.busy
    assert timings.speedup_vs_plain == pytest.approx(1.0)


@given(st.lists(st.tuples(st.floats(0.5, 3), st.floats(0.001, 0.1), st.floats(0.01, 1)), min_size=1, max_size=20))
def test_the_error_is_that_of_the_residuals(rounds: list[tuple[float, float, float]]) -> None:
    """Written out over the rounds, of which the tally keeps only sums."""
    baseline = Baseline()
    for round_ in rounds:
        baseline.add(*round_)
    price, draft_s, verify_s = map(sum, zip(*rounds, strict=True))
    residual = sum((v - verify_s / price * p) ** 2 for p, _, v in rounds)
    expected = (draft_s / (draft_s + verify_s) * residual) ** 0.5 / verify_s
    assert baseline._error() == pytest.approx(expected, abs=1e-6)


def test_a_clock_that_stood_still_tells_no_plain_speed() -> None:
    baseline = Baseline()
    baseline.add(1.0, 0.0, 0.0)
    assert (baseline.plain_per_second, baseline.busy) == (None, False)


@pytest.mark.parametrize("others", [1, 2, 4])
def test_on_a_busy_machine_what_is_told_is_true(others: int) -> None:
    """Of 300 replies beside other programs, nearly all that tell a speed-up tell it to within a tenth."""
    rng = random.Random(others)
    told: list[float] = []
    for _ in range(300):
        rounds = reply(rng, rng.randint(5, 80), busy(rng, others))
        if (speedup := timings_of(rounds).speedup_vs_plain) is not None:
            told.append(speedup / true_speedup(rounds))
    assert len(told) > 100
    assert sum(abs(ratio - 1) <= 0.1 for ratio in told) / len(told) > 0.97


def test_a_reply_too_short_to_tell_from_an_interruption_tells_nothing() -> None:
    """One of its few verifications took twenty times as long as the others."""
    rounds = [round_of(4, 3, quiet) for _ in range(5)]
    rounds.append(round_of(4, 3, lambda seconds: 20 * seconds if seconds > PLAIN_S else seconds))
    timings = timings_of(rounds)
    assert timings.busy
    assert timings.speedup_vs_plain is None


def test_rounds_without_a_price_are_held_against_what_was_measured_before() -> None:
    """As replies of older versions are."""
    timings = timings_of([Round(0, None, 0, (Token(0, "x", Origin.PLAIN),), (), (), 0.0, 0.5, 0.5)])
    assert (timings.plain_per_second, timings.speedup_vs_plain, timings.busy) == (1.0, 2.0, False)
