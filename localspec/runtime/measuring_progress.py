"""Progress of measuring a machine: a fraction from the first second, what is being measured, and the time left.

Steps are weighed by the time they take about, in evaluations of a single token of the target; how long one of these
takes is learned on the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_MORE_TOKEN = 0.2
"""The share of a single token's time that each further token of a batch takes."""
_WORTH_SAYING_S = 2.5
_NEARLY = 0.99
"""The largest fraction shown before the end, since a plan may have been too short."""


def batch_weight(tokens_n: int) -> float:
    """About how long a batch of so many tokens takes."""
    return 1 + _MORE_TOKEN * (tokens_n - 1)


class MeasuringProgress:
    """Counts the steps of measuring, and shows how far it is."""

    def __init__(self, show: Callable[[str, float], None] = lambda what, fraction: None) -> None:
        """``show`` is called with what is measured and how long it still takes, in words, and with a fraction 0..1."""
        self._show = show
        self._started_s = time.perf_counter()
        self._done = 0.0
        self._left = 0.0
        self._current = 0.0
        self._fraction = 0.0

    def plan(self, weight: float) -> None:
        """Set the weight of all that follows the step under way."""
        self._left = weight

    def begin(self, what: str, weight: float) -> None:
        """Begin a step; the one before is done."""
        self._done += self._current
        self._left = max(0.0, self._left - weight)
        self._current = weight
        to_come = self._current + self._left
        self._fraction = max(self._fraction, min(_NEARLY, self._done / (self._done + to_come)))
        self._show(f"{what}{self._time_left(to_come)}", self._fraction)

    def _time_left(self, weight: float) -> str:
        if not self._done:
            return ""
        left_s = (time.perf_counter() - self._started_s) / self._done * weight
        return f", {left_s:.0f} s left" if left_s >= _WORTH_SAYING_S else ""
