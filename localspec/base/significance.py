"""Confidence intervals, significance tests and their power, each small enough to check by hand.

Permutation tests are exact for any number of observations: without a difference, a p-value of at most a occurs with a
probability of at most a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

_TINY = 1e-15
_FEWEST_EXPECTED = 5.0
"""Cochran 1954: cells expected to hold fewer are pooled."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with its confidence interval."""

    middle: float
    low: float
    high: float
    n: int
    """The number of observations."""


def median_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """The median with an interval that holds it with ``confidence``; None if there are too few values for one.

    By order statistics, for any distribution (Thompson 1936, Ann. Math. Stat. 7; Conover, Practical Nonparametric
    Statistics, 3.2). For values from several distributions it is too wide, not too narrow (Hoeffding 1956).
    """
    ordered, n = sorted(values), len(values)
    outside = 0.0
    rank = 0
    while rank < n // 2 and 2 * (outside + math.comb(n, rank) / 2**n) <= 1 - confidence + _TINY:
        outside += math.comb(n, rank) / 2**n
        rank += 1
    if rank == 0:
        return None
    return Interval(median(ordered), ordered[rank - 1], ordered[n - rank], n)


def chi_square_tail(x: float, df: float) -> float:
    """P(X >= x) for a chi-square with ``df`` degrees of freedom.

    The regularised incomplete gamma function, by its series or its continued fraction (Abramowitz and Stegun
    6.5.29 and 6.5.31; Lentz's method as in Numerical Recipes 6.2).
    """
    a, z = df / 2, x / 2
    if z <= 0:
        return 1.0
    scale = math.exp(a * math.log(z) - z - math.lgamma(a))
    return 1 - scale * _gamma_series(a, z) if z < a + 1 else scale * _gamma_fraction(a, z)


def _gamma_series(a: float, z: float) -> float:
    term = total = 1 / a
    n = a
    while term > total * _TINY:
        n += 1
        term *= z / n
        total += term
    return total


def _gamma_fraction(a: float, z: float) -> float:
    b = z + 1 - a
    c, d = 1 / 1e-300, 1 / b
    fraction = d
    for i in range(1, 10_000):
        factor = -i * (i - a)
        b += 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        fraction *= d * c
        if abs(d * c - 1) < _TINY:
            break
    return fraction


def chi_square_quantile(tail: float, df: float) -> float:
    """The x with P(X >= x) = ``tail``, by bisection."""
    low, high = 0.0, df + 1.0
    while chi_square_tail(high, df) > tail:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_tail(middle, df) > tail else (low, middle)
    return (low + high) / 2


def noncentral_chi_square_tail(x: float, df: float, noncentrality: float) -> float:
    """P(X >= x) for a noncentral chi-square: a Poisson mixture of central ones (Patnaik 1949, Biometrika 36)."""
    if noncentrality <= 0:
        return chi_square_tail(x, df)
    half = noncentrality / 2
    reach = int(10 * math.sqrt(half)) + 20
    total = 0.0
    for j in range(max(0, int(half) - reach), int(half) + reach):
        weight = math.exp(j * math.log(half) - half - math.lgamma(j + 1))
        total += weight * chi_square_tail(x, df + 2 * j)
    return total


def smallest_bias(n: int, outcomes: int, false_alarm: float, power: float) -> float:
    """The total variation distance that the chi-square test of two samples of ``n`` each detects with ``power``.

    Two distributions at distance t have a noncentrality of at least 2 n t^2, by Cauchy and Schwarz, however the
    difference is spread; so this is the worst case. 1 if not even disjoint distributions would be detected.
    """
    if outcomes < 2 or n < 1:
        return 1.0
    df = outcomes - 1
    bar = chi_square_quantile(false_alarm, df)
    low, high = 0.0, 1.0
    if noncentral_chi_square_tail(bar, df, 2 * n) < power:
        return 1.0
    for _ in range(50):
        middle = (low + high) / 2
        enough = noncentral_chi_square_tail(bar, df, 2 * n * middle**2) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def pooled(first: Sequence[int], second: Sequence[int]) -> NDArray[np.int64]:
    """Two rows of counts with all rare outcomes in one column, shape (2, columns).

    Rarity is judged on both rows together, so that a permutation of the labels pools alike.
    """
    table = np.array([first, second], dtype=np.int64)
    expected = table.sum(axis=0) * table.sum(axis=1).min() / max(1, table.sum())
    common = expected >= _FEWEST_EXPECTED
    rest = table[:, ~common].sum(axis=1, keepdims=True)
    return np.hstack([table[:, common], rest]) if rest.any() else table[:, common]


def homogeneity_p_value(table: NDArray[np.int64], seed: int, permutations: int = 19_999) -> float:
    """The probability of a difference this large or larger between two rows of counts from one distribution.

    Pearson's statistic over permutations of the labels, hence exact (Good, Permutation Tests, 1994; the +1 as in
    Phipson and Smyth 2010).
    """
    totals, first_n = table.sum(axis=0), int(table[0].sum())
    if len(totals) < 2:
        return 1.0
    draws = np.random.default_rng(seed).multivariate_hypergeometric(totals, first_n, size=permutations)
    share = first_n / totals.sum()

    def distance(row: NDArray[np.int64]) -> NDArray[np.float64]:
        # The part of Pearson's statistic that depends on the permutation.
        result: NDArray[np.float64] = ((row - share * totals) ** 2 / totals).sum(axis=-1)
        return result

    at_least_n = int((distance(draws) >= distance(table[0]) * (1 - 1e-9)).sum())
    return (1 + at_least_n) / (1 + permutations)


Stratum = tuple[Sequence[float], Sequence[float]]
"""Observations of one kind: those before and those after."""


def shift(strata: Sequence[Stratum]) -> float:
    """The mean difference of after and before, each stratum weighted alike."""
    return fmean(fmean(after) - fmean(before) for before, after in strata)


def shift_p_value(strata: Sequence[Stratum], seed: int, permutations: int = 19_999) -> float:
    """The probability of a ``shift`` this large in either direction if before and after were alike in each stratum.

    Labels are permuted within strata, so that differences between strata do not count.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros(permutations)
    for before, after in strata:
        both = np.array([*before, *after], dtype=np.float64)
        shuffled = rng.permuted(np.tile(both, (permutations, 1)), axis=1)
        total += shuffled[:, len(before) :].mean(axis=1) - shuffled[:, : len(before)].mean(axis=1)
    seen = abs(shift(strata)) * len(strata)
    return float((1 + (np.abs(total) >= seen * (1 - 1e-9) - 1e-12).sum()) / (1 + permutations))


def fewest_strata_p_value(strata: Sequence[Stratum]) -> float:
    """The smallest p-value that ``shift_p_value`` can return for strata of these sizes."""
    return 2 / math.prod(math.comb(len(before) + len(after), len(before)) for before, after in strata)
