"""Whether values have become smaller than they used to be, asked after each of them and for ever.

No law is assumed for the values: only that without a change those of one category are exchangeable, that is, that
any order of them is as likely as any other. Each value's rank among its predecessors of that category then is
uniform, and independent of all earlier ranks (conformal p-values; Vovk, Nouretdinov and Gammerman, "Testing
exchangeability on-line", ICML 2003). For every moment at which a change may have begun, a bettor stakes on low ranks
from there on; without a change no bettor wins on average. The evidence is what all of them own together, a
Shiryaev-Roberts e-detector (Shin, Ramdas and Rinaldo, "E-detectors", 2023; arXiv 2203.03532): after t values its
mean is at most t, so by Doob's inequality it reaches c within t values with a probability of at most t / c.
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
"""How many values back a change may have begun."""
ALARM = 1.5e5
"""The evidence that is an alarm: without a change at most one in 150 sequences of 1,000 values raises one."""

_OVERLAPS = np.array([0.0, 0.05, 0.2, 0.5])
"""How much of the earlier values the later ones may still reach up to; a bettor for each."""
_SPARED = 0.05
"""The share of what a bettor owns that it does not stake, so that one stray value does not ruin it."""


class DriftDetector:
    """Looks for a fall; for a rise give negated values. ``seed`` breaks ties between equal values."""

    def __init__(self, seed: int | str) -> None:
        self.values: array[float] = array("d")
        """All so far, in order."""
        self._ranked: defaultdict[Hashable, array[float]] = defaultdict(lambda: array("d"))
        self._owned: NDArray[np.float64] = np.empty((0, len(_OVERLAPS)))
        self._before: defaultdict[Hashable, list[int]] = defaultdict(list)
        """For each category how many values came before each of the starts in ``_owned``."""
        self._ties = random.Random(seed)

    def add(self, value: float, category: Hashable = None) -> bool:
        """Take in the next value; whether there now is an alarm."""
        share = self._rank(value, category)
        self._start_here(category)
        of_n = len(self._ranked[category])
        before = np.array(self._before[category], dtype=np.float64)[:, None]
        # Values since the start, this one included, lie below this share if the change parted them from the rest.
        since = (of_n - before) / of_n
        reach = since + _OVERLAPS * (1 - since)
        self._owned *= (1 - _SPARED) * (share <= reach) / reach + _SPARED
        return self.evidence >= ALARM

    @property
    def evidence(self) -> float:
        """What all bettors own together."""
        return float(self._owned.mean(axis=1).sum())

    @property
    def since_n(self) -> int:
        """How many of the latest values the richest bettor takes for changed."""
        return len(self._owned) - int(self._owned.mean(axis=1).argmax())

    def _rank(self, value: float, category: Hashable) -> float:
        """Where the value stands among those of its category, 0 to 1, this one included; ties are drawn."""
        self.values.append(value)
        ranked = self._ranked[category]
        low, high = bisect_left(ranked, value), bisect_right(ranked, value)
        insort(ranked, value)
        return (low + self._ties.random() * (high - low + 1)) / len(ranked)

    def _start_here(self, category: Hashable) -> None:
        """A bettor that takes this value for the first after a change."""
        self._owned = np.vstack([self._owned[-(REACH - 1) :], np.ones((1, len(_OVERLAPS)))])
        starts_n = len(self._owned)
        for known, ranked in self._ranked.items():
            before = self._before[known]
            before.append(len(ranked) - (known == category))
            # A category that was not known yet had no values.
            before[:0] = [0] * (starts_n - len(before))
            del before[:-starts_n]
