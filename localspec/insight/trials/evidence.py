"""Whether the candidate differs from the incumbent, asked after every turn and for as long as one likes.

Nothing is assumed of the replies: topics may change, the machine may heat up, whatever. What is known for certain is
how sides were drawn: each unit, a turn or a conversation, is the candidate's with probability p, whatever is said in
it. So bettors look at how a unit turned out and stake on whose it was. If the sides do not differ, no outcome tells,
and whoever owned 1 owns 1 on average after every bet: where a bettor holds that the unit is the candidate's with
probability q, it is paid q / p if that is so, and (1 - q) / (1 - p) if not. By Ville's inequality it ever comes to own
1 / a with a probability of at most a (Shafer, "Testing by betting", 2021; sequential two-sample tests of this kind:
Lheritier and Cazals 2018; Podkopaev and Ramdas, "Sequential predictive two-sample and independence testing", 2023,
arXiv 2305.00143).

What a bettor who takes the candidate for worse is paid falls with the outcome if the unit is the candidate's, and rises
with it if not. Hence the bound holds as well where the candidate is better, unit for unit: it is rolled back
wrongly with a probability of at most a, not only where it is exactly alike.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import NormalDist

_SHIFTS = (0.5, 1.0, 2.0, 3.0)
"""How many standard deviations, within a stratum, the sides may lie apart; a bettor for each."""
_FAILURE_RATIOS = (3.0, 30.0)
"""How many times as often the worse side may fail."""
_SPARED = 0.02
"""The share of what a bettor owns that it does not stake, so that one stray value does not ruin it."""
_STEEPEST = 30.0
"""Likelihoods are told apart up to e to this."""


class Bettors:
    """They began with 1 together; ``owned`` is the evidence."""

    def __init__(self, share: float, n: int) -> None:
        """``share`` is the probability with which a unit is the candidate's."""
        self._share = share
        self._owned = [1.0] * n

    @property
    def owned(self) -> float:
        return sum(self._owned) / len(self._owned)

    def bet(self, ratios: Sequence[float], *, candidate: bool) -> None:
        """Stake on one unit: each bettor by how many times as likely it holds the outcome on the candidate's side."""
        for number, ratio in enumerate(ratios):
            mixed = self._share * ratio + 1 - self._share
            paid = (ratio if candidate else 1.0) / mixed
            self._owned[number] *= (1 - _SPARED) * paid + _SPARED


class Ranks:
    """Where a value stands among those before it of its stratum, as a normal score; larger is better."""

    def __init__(self) -> None:
        self._ranked: defaultdict[Hashable, list[float]] = defaultdict(list)

    def score(self, value: float, stratum: Hashable) -> float | None:
        """None for the first of a stratum, which tells nothing."""
        ranked = self._ranked[stratum]
        below = (bisect_left(ranked, value) + bisect_right(ranked, value) + 1) / 2
        insort(ranked, value)
        return NormalDist().inv_cdf(below / len(ranked)) if len(ranked) > 1 else None


class ShiftTest:
    """Whether normal scores lie lower, or higher, on the candidate's side."""

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
        """Of two normal densities so far apart, with the mean of all values at 0."""
        exponent = shift * score - shift**2 * (1 - 2 * self._share) / 2
        return math.exp(max(-_STEEPEST, min(_STEEPEST, exponent)))


class FailureTest:
    """Whether the candidate fails more often; a turn that does not fail tells nothing."""

    def __init__(self, share: float) -> None:
        self._bettors = Bettors(share, len(_FAILURE_RATIOS))

    @property
    def worse(self) -> float:
        return self._bettors.owned

    def bet(self, failed: bool, *, candidate: bool) -> None:
        """Take in one unit."""
        if failed:
            self._bettors.bet(_FAILURE_RATIOS, candidate=candidate)
