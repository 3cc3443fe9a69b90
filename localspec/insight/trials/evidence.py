"""Sequential tests of the candidate against the incumbent, valid after every turn and for any number of turns.

Nothing is assumed about the replies: topics and the machine may change. Only the assignment is known: each unit, a turn
or a conversation, is the candidate's with probability p, independent of its content. Bettors see the outcome of a unit
and stake on its side. If the sides do not differ, outcomes carry no information, and a wealth of 1 stays 1 on average:
a bettor who gives the candidate probability q is paid q / p if the unit is the candidate's, and (1 - q) / (1 - p) if
not. By Ville's inequality the wealth ever reaches 1 / a with a probability of at most a (Shafer, "Testing by betting",
2021; sequential two-sample tests of this kind: Lheritier and Cazals 2018; Podkopaev and Ramdas, "Sequential predictive
two-sample and independence testing", 2023, arXiv 2305.00143).

The payment of a bettor against the candidate falls with the outcome if the unit is the candidate's, and rises with it
if not. So the bound also holds if the candidate is better on every unit: it is rolled back wrongly with a probability
of at most a, not only if it is exactly equal.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import NormalDist

_SHIFTS = (0.5, 1.0, 2.0, 3.0)
"""Assumed differences of the sides in standard deviations within a stratum; a bettor for each."""
_FAILURE_RATIOS = (3.0, 30.0)
"""Assumed ratios of the failure rates; a bettor for each."""
_SPARED = 0.02
"""The share of its wealth that a bettor does not stake, so that one outlier does not ruin it."""
_STEEPEST = 30.0
"""The largest logarithm of a likelihood ratio."""


class Bettors:
    """Bettors with a total initial wealth of 1; their wealth ``owned`` is the evidence."""

    def __init__(self, share: float, n: int) -> None:
        """``share`` is the probability that a unit is the candidate's."""
        self._share = share
        self._owned = [1.0] * n

    @property
    def owned(self) -> float:
        return sum(self._owned) / len(self._owned)

    def bet(self, ratios: Sequence[float], *, candidate: bool) -> None:
        """Bet on one unit; ``ratios`` are each bettor's likelihood ratio of the outcome, candidate to incumbent."""
        for number, ratio in enumerate(ratios):
            mixed = self._share * ratio + 1 - self._share
            paid = (ratio if candidate else 1.0) / mixed
            self._owned[number] *= (1 - _SPARED) * paid + _SPARED


class Ranks:
    """Ranks of values among earlier ones of their stratum, as normal scores."""

    def __init__(self) -> None:
        self._ranked: defaultdict[Hashable, list[float]] = defaultdict(list)

    def score(self, value: float, stratum: Hashable) -> float | None:
        """The normal score of a value; None for the first of a stratum."""
        ranked = self._ranked[stratum]
        below = (bisect_left(ranked, value) + bisect_right(ranked, value) + 1) / 2
        insort(ranked, value)
        return NormalDist().inv_cdf(below / len(ranked)) if len(ranked) > 1 else None


class ShiftTest:
    """Tests if normal scores are lower, or higher, on the candidate's side."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._worse = Bettors(share, len(_SHIFTS))
        self._better = Bettors(share, len(_SHIFTS))

    @property
    def worse(self) -> float:
        return self._worse.owned

    @property
    def better(self) -> float:
        return self._better.owned

    def bet(self, score: float, *, candidate: bool) -> None:
        """Take in one unit."""
        self._worse.bet([self._ratio(score, -shift) for shift in _SHIFTS], candidate=candidate)
        self._better.bet([self._ratio(score, shift) for shift in _SHIFTS], candidate=candidate)

    def _ratio(self, score: float, shift: float) -> float:
        """The ratio of two normal densities at this distance, with an overall mean of 0."""
        exponent = shift * score - shift**2 * (1 - 2 * self._share) / 2
        return math.exp(max(-_STEEPEST, min(_STEEPEST, exponent)))


class FailureTest:
    """Tests if the candidate fails more often; only failures are bet on."""

    def __init__(self, share: float) -> None:
        self._bettors = Bettors(share, len(_FAILURE_RATIOS))

    @property
    def worse(self) -> float:
        return self._bettors.owned

    def bet(self, failed: bool, *, candidate: bool) -> None:
        """Take in one unit."""
        if failed:
            self._bettors.bet(_FAILURE_RATIOS, candidate=candidate)
