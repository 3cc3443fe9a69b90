"""The small statistics against exact values, and against scipy's."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from localspec.base.significance import (
    chi_square_quantile,
    chi_square_tail,
    fewest_strata_p_value,
    homogeneity_p_value,
    median_interval,
    noncentral_chi_square_tail,
    pooled,
    shift,
    shift_p_value,
    smallest_bias,
)


@given(x=st.floats(0, 400), df=st.integers(1, 200))
def test_the_chi_square_tail_is_scipys(x: float, df: int) -> None:
    """To ten digits or so."""
    assert chi_square_tail(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-9, abs=1e-13)


def test_two_degrees_of_freedom_are_an_exponential() -> None:
    """The exact value: exp(-x/2)."""
    assert chi_square_tail(7.0, 2) == pytest.approx(math.exp(-3.5), rel=1e-12)
    assert chi_square_quantile(0.05, 2) == pytest.approx(-2 * math.log(0.05), rel=1e-12)


@given(x=st.floats(0.1, 300), df=st.integers(1, 80), noncentrality=st.floats(0.01, 300))
def test_the_noncentral_tail_is_scipys(x: float, df: int, noncentrality: float) -> None:
    """Over the range that power is asked for."""
    expected = stats.ncx2.sf(x, df, noncentrality)
    assert noncentral_chi_square_tail(x, df, noncentrality) == pytest.approx(expected, abs=1e-8)


def test_without_noncentrality_the_tail_is_the_central_one() -> None:
    assert noncentral_chi_square_tail(7.0, 2, 0) == chi_square_tail(7.0, 2)


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (9, 2, 8), (20, 6, 15)])
def test_the_interval_of_a_median_is_the_textbooks(n: int, low: int, high: int) -> None:
    """Ranks from the tables for 95 %: of 6 values all, of 20 the 6th to the 15th."""
    values = random.Random(n).sample(range(1, n + 1), n)
    found = median_interval([float(value) for value in values], 0.95)
    assert found is not None
    assert (found.low, found.high, found.n) == (low, high, n)


@given(confidence=st.floats(0.5, 0.9999))
def test_too_few_values_have_no_interval(confidence: float) -> None:
    """The fewest that are enough are enough, one less is not."""
    n = max(2, math.ceil(1 - math.log2(1 - confidence) - 1e-15))
    assert median_interval([float(i) for i in range(n)], confidence) is not None
    assert median_interval([float(i) for i in range(n - 1)], confidence) is None


def test_a_bias_as_stated_is_noticed_as_often_as_stated() -> None:
    """The worst case, by trying: the power is 95 % and not much more."""
    n, outcomes, false_alarm = 400, 8, 0.01
    bias = smallest_bias(n, outcomes, false_alarm, 0.95)
    rng = np.random.default_rng(1)
    fair = np.full(outcomes, 1 / outcomes)
    # Half the outcomes gain what the other half loses.
    tilt = np.where(np.arange(outcomes) % 2 == 0, 1.0, -1.0) * bias / outcomes
    caught = 0
    for seed in range(200):
        table = np.array([rng.multinomial(n, fair + tilt), rng.multinomial(n, fair - tilt)])
        caught += homogeneity_p_value(table, seed, permutations=999) <= false_alarm
    assert 180 <= caught <= 200


def test_a_law_against_itself_seldom_differs() -> None:
    """False alarms come as often as they may, within three standard deviations."""
    rng = np.random.default_rng(2)
    law = [0.4, 0.3, 0.2, 0.06, 0.04]
    alarms = sum(
        homogeneity_p_value(pooled(rng.multinomial(60, law).tolist(), rng.multinomial(60, law).tolist()), seed, 499)
        <= 0.1
        for seed in range(400)
    )
    assert alarms <= 40 + 3 * math.sqrt(400 * 0.1 * 0.9)


def test_a_small_table_has_its_exact_p_value() -> None:
    """Fisher's: 6 against 0 of 6 comes about twice in C(12, 6) ways."""
    p = homogeneity_p_value(np.array([[6, 0], [0, 6]]), seed=0, permutations=99_999)
    assert p == pytest.approx(2 / math.comb(12, 6), rel=0.3)


def test_no_p_value_is_0_however_plain_the_difference() -> None:
    """What was seen counts as one of the permutations (Phipson and Smyth 2010)."""
    apart = np.array([[500, 0], [0, 500]])
    assert homogeneity_p_value(apart, seed=0, permutations=99) == 1 / 100
    strata = [([0.0] * 40, [1.0] * 40)]
    assert shift_p_value(strata, seed=0, permutations=99) == 1 / 100
    assert homogeneity_p_value(np.array([[5, 5], [5, 5]]), seed=0, permutations=99) == 1
    assert shift_p_value([([1.0, 2.0], [1.0, 2.0])], seed=0, permutations=99) == 1


def test_rare_outcomes_share_a_column() -> None:
    """And nothing is lost."""
    table = pooled([50, 40, 1, 2, 0], [48, 45, 2, 0, 1])
    assert table.tolist() == [[50, 40, 3], [48, 45, 3]]


def test_a_shift_within_strata_is_seen_past_what_differs_between_them() -> None:
    """Two subjects at very different speeds, both a little slower."""
    strata = [([1.0, 1.01, 1.02, 1.03], [0.8, 0.81, 0.82, 0.83]), ([9.0, 9.01, 9.02, 9.03], [8.8, 8.81, 8.82, 8.83])]
    assert shift(strata) == pytest.approx(-0.2)
    assert shift_p_value(strata, 0) < 0.01
    assert fewest_strata_p_value(strata) == pytest.approx(2 / 70**2)
    same = [([1.0, 1.3, 1.1], [1.2, 1.05, 1.15])]
    assert shift_p_value(same, 0) > 0.2
