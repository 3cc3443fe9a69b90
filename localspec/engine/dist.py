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
        """From ids in any order and weights of any positive sum; zero weights are dropped."""
        keep = weights > 0
        ids, weights = ids[keep], weights[keep]
        order = np.argsort(ids)
        weights = weights[order]
        return Dist(ids[order], weights / weights.sum())

    def prob(self, token: int) -> Any:
        """Probability of ``token``; 0 outside the support."""
        at = int(np.searchsorted(self.ids, token))
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
        at = np.minimum(np.searchsorted(other.ids, self.ids), len(other.ids) - 1)
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
        cumulative = np.cumsum(dist.probs)
        at = int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))
        return int(dist.ids[min(at, len(dist.ids) - 1)])
