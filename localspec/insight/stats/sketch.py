"""A quantile sketch: quantiles of any number of values in little memory."""

from __future__ import annotations

import math
from collections import Counter

RELATIVE_ERROR = 0.005
"""The largest relative error of a quantile."""

_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)
_SMALLEST = 1e-9
"""Smaller values count as 0."""


class Sketch:
    """DDSketch (Masson, Rim and Lee, VLDB 2019): buckets with geometric borders, for values of 0 and more.

    From a microsecond to an hour it needs at most about 2,200 buckets.
    """

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.least = math.inf
        self.most = -math.inf
        self._buckets: Counter[int] = Counter()
        self._zeros_n = 0

    def add(self, value: float | None) -> None:
        """Add a value; None is ignored."""
        if value is None or not math.isfinite(value):
            return
        value = max(value, 0.0)
        self.n += 1
        self.total += value
        self.least = min(self.least, value)
        self.most = max(self.most, value)
        if value < _SMALLEST:
            self._zeros_n += 1
        else:
            self._buckets[math.ceil(math.log(value) / _LOG_GAMMA)] += 1

    @property
    def mean(self) -> float | None:
        return self.total / self.n if self.n else None

    def quantile(self, share: float) -> float | None:
        """The quantile of a share, within ``RELATIVE_ERROR``; None without values.

        It is the smallest value that has this share of the values up to it. The median of an even number is the mean
        of the middle two.
        """
        if not self.n:
            return None
        rank = max(1, math.ceil(share * self.n - 1e-9))
        if share == 0.5 and self.n % 2 == 0:
            return (self._ranked(rank) + self._ranked(rank + 1)) / 2
        return self._ranked(rank)

    def _ranked(self, rank: int) -> float:
        """The value of a rank, from 1 for the smallest."""
        if rank == self.n:
            return self.most
        passed = self._zeros_n
        if passed >= rank:
            return 0.0
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            if passed >= rank:
                return min(max(_middle(bucket), self.least), self.most)
        return self.most

    def histogram(self, low: float, high: float, bins: int) -> list[int]:
        """Counts of values in ``bins`` bins of equal width; outliers go into the first and the last."""
        counts = [0] * bins
        if not self.n:
            return counts
        width = (high - low) / bins
        for value, n in [(0.0, self._zeros_n), *((_middle(bucket), n) for bucket, n in self._buckets.items())]:
            place = 0 if width <= 0 else int((min(max(value, self.least), self.most) - low) / width)
            counts[min(max(place, 0), bins - 1)] += n
        return counts


def _middle(bucket: int) -> float:
    """The value with the smallest relative distance to all of a bucket."""
    return math.exp((bucket - 1) * _LOG_GAMMA) * 2 * _GAMMA / (1 + _GAMMA)
