"""Distributions and the random decisions drawn from them."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from localspec.engine.dist import Dist, SeededRng

WEIGHTS = st.lists(st.integers(0, 5), min_size=2, max_size=6).filter(any)


def exact(weights: list[int]) -> Dist:
    fractions = np.array([Fraction(weight) for weight in weights], dtype=object)
    return Dist.of(np.arange(len(weights), dtype=np.int64), fractions)


@given(WEIGHTS)
def test_a_distribution_sums_to_one_over_its_support(weights: list[int]) -> None:
    """Zero weights are not in the support, the ids ascend."""
    dist = exact(weights)
    assert sum(dist.probs) == 1
    assert [int(i) for i in dist.ids] == [i for i, weight in enumerate(weights) if weight]
    assert [dist.prob(i) for i in range(len(weights))] == [Fraction(w, sum(weights)) for w in weights]


@given(WEIGHTS, WEIGHTS)
def test_minus_is_the_normalised_positive_part(a: list[int], b: list[int]) -> None:
    """norm(max(p - q, 0)); p itself where nothing is left."""
    p, q = exact(a), exact(b)
    rest = [max(p.prob(i) - q.prob(i), 0) for i in range(len(a))]
    residual = p.minus(q)
    expected = [r / sum(rest) for r in rest] if sum(rest) else [p.prob(i) for i in range(len(a))]
    assert [residual.prob(i) for i in range(len(a))] == expected


def test_drawing_follows_the_probabilities() -> None:
    """20,000 draws on a fixed seed against the distribution, by chi-square."""
    dist = Dist.of(np.array([9, 2, 5], dtype=np.int64), np.array([1.0, 2.0, 5.0]))
    rng = SeededRng(1)
    counts = Counter(rng.draw(dist) for _ in range(20_000))
    observed = [counts[i] for i in (2, 5, 9)]
    assert stats.chisquare(observed, [5000, 12500, 2500]).pvalue > 0.001
    assert stats.chisquare(observed, [2500, 12500, 5000]).pvalue < 1e-9


def test_accepting_follows_the_ratio() -> None:
    """min(1, p/q) of 20,000 trials on a fixed seed."""
    rng = SeededRng(2)
    accepted = sum(rng.accepts(0.3, 0.8) for _ in range(20_000))
    assert stats.binomtest(accepted, 20_000, 0.3 / 0.8).pvalue > 0.001
    assert all(rng.accepts(0.8, 0.3) for _ in range(1000))
    assert not any(rng.accepts(0.0, 0.3) for _ in range(1000))


def test_a_point_mass_needs_no_chance() -> None:
    """Drawing from it leaves the random sequence where it was."""
    a, b = SeededRng(3), SeededRng(3)
    assert a.draw(Dist.point(7)) == 7
    dist = Dist.of(np.arange(50, dtype=np.int64), np.ones(50))
    assert a.draw(dist) == b.draw(dist)


def test_where_rounding_leaves_nothing_it_stays_as_it_is() -> None:
    """A replacement is drawn from p all the same."""
    ids = np.array([3, 5], dtype=np.int64)
    p, above = Dist(ids, np.array([0.4, 0.6])), Dist(ids, np.array([0.7, 0.9]))
    assert p.minus(above).probs.tolist() == [0.4, 0.6]
    assert p.excess(above) == 0


class Eighths(random.Random):
    """0, 1/8, ... 7/8 instead of random numbers."""

    def __init__(self) -> None:
        self._next = 0

    def random(self) -> float:
        self._next += 1
        return (self._next - 1) % 8 / 8


def test_each_outcome_has_as_much_of_the_numbers_as_its_probability() -> None:
    """To the last of them; what has no chance is chosen by none, not even by 0."""
    rng = SeededRng(0)
    rng._random = Eighths()
    dist = Dist.of(np.array([4, 7], dtype=np.int64), np.array([0.25, 0.75]))
    assert Counter(rng.draw(dist) for _ in range(8)) == {4: 2, 7: 6}
    for p, accepted_n in ((0.0, 0), (0.25, 4), (0.5, 8)):
        assert sum(rng.accepts(p, 0.5) for _ in range(8)) == accepted_n


class Fixed(random.Random):
    """One number instead of random ones."""

    def __init__(self, number: float) -> None:
        self._number = number

    def random(self) -> float:
        return self._number


@pytest.mark.parametrize("n_vocab", [32_000, 151_936, 262_144])
@pytest.mark.parametrize("number", [0.0, 0.001, 0.25, 1 / 3, 0.5, 0.9, 0.999, 1 - 2**-53])
def test_every_token_of_a_large_vocabulary_can_be_drawn(n_vocab: int, number: float) -> None:
    """Of tokens that are all alike, the number u draws the one at u n: sums have as many digits as that needs."""
    rng = SeededRng(0)
    rng._random = Fixed(number)
    dist = Dist.of(np.arange(n_vocab, dtype=np.int64), np.ones(n_vocab))
    assert abs(rng.draw(dist) - int(number * n_vocab)) <= 1
