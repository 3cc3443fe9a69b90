"""A sequential detector of drift: it tests after every value whether values have become smaller.

No distribution is assumed, only that without a change the values of one category are exchangeable: any order of them is
equally likely. The rank of each value among its predecessors of that category is then uniform and independent of
earlier ranks (conformal p-values; Vovk, Nouretdinov and Gammerman, "Testing exchangeability on-line", ICML 2003). For
every moment at which a change may have begun, a bettor stakes on low ranks from there on; without a change no bettor
wins on average. The evidence is their total wealth, a Shiryaev-Roberts e-detector (Shin, Ramdas and Rinaldo,
"E-detectors", 2023; arXiv 2203.03532): after t values its mean is at most t, so by Doob's inequality it reaches c
within t values with a probability of at most t / c.
"""

from __future__ import annotations

import random
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

REACH = 50
"""The number of latest values among which a change may have begun."""
ALARM = 1.5e5
"""The evidence for an alarm: without a change at most one in 150 sequences of 1,000 values raises one."""

_OVERLAPS = np.array([0.0, 0.05, 0.2, 0.5])
"""The shares of earlier values that later ones may still reach; a bettor for each."""
_SPARED = 0.05
"""The share of its wealth that a bettor does not stake, so that one outlier does not ruin it."""


class DriftDetector:
    """Detects a fall; negate the values to detect a rise. ``seed`` breaks ties between equal values."""

    def __init__(self, seed: int | str) -> None:
        self.values: array[float] = array("d")
        """All values so far, in order."""
        self._ranked: defaultdict[Hashable, array[float]] = defaultdict(lambda: array("d"))
        self._owned: NDArray[np.float64] = np.empty((0, len(_OVERLAPS)))
        self._before: defaultdict[Hashable, list[int]] = defaultdict(list)
        """The number of values of each category before each start in ``_owned``."""
        self._ties = random.Random(seed)

    def add(self, value: float, category: Hashable = None) -> bool:
        """Add the next value; True if there is an alarm now."""
        share = self._rank(value, category)
        self._start_here(category)
        of_n = len(self._ranked[category])
        before = np.array(self._before[category], dtype=np.float64)[:, None]
        # If a change at the start separated the values, those since then lie below this share.
        since = (of_n - before) / of_n
        reach = since + _OVERLAPS * (1 - since)
        self._owned *= (1 - _SPARED) * (share <= reach) / reach + _SPARED
        return self.evidence >= ALARM

    @property
    def evidence(self) -> float:
        """The total wealth of all bettors."""
        return float(self._owned.mean(axis=1).sum())

    @property
    def since_n(self) -> int:
        """The number of latest values that have changed, according to the richest bettor."""
        return len(self._owned) - int(self._owned.mean(axis=1).argmax())

    def _rank(self, value: float, category: Hashable) -> float:
        """The rank of a value among those of its category as a share, itself included; ties are broken at random."""
        self.values.append(value)
        ranked = self._ranked[category]
        low, high = bisect_left(ranked, value), bisect_right(ranked, value)
        insort(ranked, value)
        return (low + self._ties.random() * (high - low + 1)) / len(ranked)

    def _start_here(self, category: Hashable) -> None:
        """Add bettors for whom this value is the first after a change."""
        self._owned = np.vstack([self._owned[-(REACH - 1) :], np.ones((1, len(_OVERLAPS)))])
        starts_n = len(self._owned)
        for known, ranked in self._ranked.items():
            before = self._before[known]
            before.append(len(ranked) - (known == category))
            # A new category had no values before.
            before[:0] = [0] * (starts_n - len(before))
            del before[:-starts_n]
