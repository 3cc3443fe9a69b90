"""Probability distributions over tokens, and the only source of randomness.

p is a target's distribution, q a drafter's. Probabilities are floats in the app; the tests put
``fractions.Fraction`` into the same code to check it exactly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Dist:
    """A distribution by its support."""

    ids: NDArray[np.int64]
    """Token ids, strictly ascending."""
    probs: NDArray[Any]
    """Their probabilities, all positive, summing to 1; same shape as ids."""

    @staticmethod
    def point(token: int) -> Dist:
        """All mass on one token: a greedy choice, or a drafter that just names its guess."""
        return Dist(np.array([token], dtype=np.int64), np.array([1.0]))

    @staticmethod
    def of(ids: NDArray[np.int64], weights: NDArray[Any]) -> Dist:
        """The distribution of ids in any order and weights of any positive sum; zero weights are dropped."""
        order = ids.argsort()
        ids, weights = ids[order], weights[order]
        if not weights.all():
            keep = weights > 0
            ids, weights = ids[keep], weights[keep]
        return Dist(ids, weights / weights.sum())

    def prob(self, token: int) -> Any:
        """Probability of ``token``; 0 outside the support."""
        at = int(self.ids.searchsorted(token))
        if at < len(self.ids) and int(self.ids[at]) == token:
            return self.probs[at]
        return 0

    def minus(self, other: Dist, weight: Any = 1) -> Dist:
        """The normalised positive part of weight * self - other; self if rounding leaves nothing."""
        rest = self._above(other, weight)
        if not (rest > 0).any():
            return self
        return Dist.of(self.ids, rest)

    def excess(self, other: Dist, weight: Any = 1) -> Any:
        """The sum of the positive part of weight * self - other."""
        return self._above(other, weight).sum()

    def _above(self, other: Dist, weight: Any) -> NDArray[Any]:
        at = np.minimum(other.ids.searchsorted(self.ids), len(other.ids) - 1)
        shared = other.ids[at] == self.ids
        rest: NDArray[Any] = self.probs * weight
        rest[shared] = np.maximum(rest[shared] - other.probs[at[shared]], 0)
        return rest


class Rng(Protocol):
    """Every random decision of a reply, in order."""

    def accepts(self, p: Any, q: Any) -> bool:
        """True with probability min(1, p / q); q is positive."""
        ...

    def draw(self, dist: Dist) -> int:
        """A token drawn from ``dist``."""
        ...


class SeededRng:
    """Random decisions from a seed: the same seed gives the same decisions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def accepts(self, p: Any, q: Any) -> bool:
        return bool(self._random.random() * q < p)

    def draw(self, dist: Dist) -> int:
        if len(dist.ids) == 1:
            return int(dist.ids[0])
        cumulative = dist.probs.cumsum()
        at = int(cumulative.searchsorted(self._random.random() * cumulative[-1], side="right"))
        return int(dist.ids[min(at, len(dist.ids) - 1)])


class RepeatableRng:
    """Random decisions that belong to a seed and a place of the text: they do not depend on what was drafted before.

    A token is drawn by a race: each has an independent exponential variable, which is divided by the token's
    probability, and the smallest wins. Draft and target run the same race at the same place, so a proposal stays if the
    target draws it too (Daliri et al. 2024, arXiv 2408.07978): somewhat seldomer than by ``accepts``, but the text is
    the target's own for this seed, at every depth and with every drafter.
    """

    def __init__(self, seed: int) -> None:
        self._seed = np.uint64(seed % 2**64)
        self._place = 0

    def begin(self, place: int) -> None:
        """Draw for this place next, and for those after it."""
        self._place = place

    def accepts(self, p: Any, q: Any) -> bool:
        """Never called: who draws with the target's distribution knows which proposals stay."""
        raise NotImplementedError

    def draw(self, dist: Dist) -> int:
        place, self._place = self._place, self._place + 1
        if len(dist.ids) == 1:
            return int(dist.ids[0])
        probs = np.asarray(dist.probs, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            times = self._times(place, dist.ids) / probs
        return int(dist.ids[int(np.argmin(times))])

    def _times(self, place: int, ids: NDArray[Any]) -> NDArray[np.float64]:
        """The exponential variable of each token at this place."""
        with np.errstate(over="ignore"):
            key = _mixed(_mixed(self._seed) + np.uint64(place))
            bits = _mixed(_mixed(key + ids.astype(np.uint64)))
        uniform: NDArray[np.float64] = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return -np.log1p(-uniform)


def _mixed(values: Any) -> Any:
    """SplitMix64 of 64-bit numbers (Steele et al. 2014); to be called with overflow ignored."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
