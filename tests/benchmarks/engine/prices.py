"""What rounds and looks cost on this machine, measured for replays."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from localspec.engine.costs import Costs
from localspec.engine.model import Model

_REPEATS = 11
_WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Prices:
    """Seconds for verifying b tokens at once, and for looking at what the draft would propose."""

    rounds_s: dict[int, float]
    step_s: float
    """A look that reads one token."""
    catch_up_s: float
    """Every further token it reads."""

    def round_s(self, batch: int) -> float:
        """Between two measured sizes on the straight line."""
        if batch in self.rounds_s:
            return self.rounds_s[batch]
        low = max(size for size in self.rounds_s if size < batch)
        high = min((size for size in self.rounds_s if size > batch), default=low)
        if high == low:
            return self.rounds_s[low]
        share = (batch - low) / (high - low)
        return self.rounds_s[low] + share * (self.rounds_s[high] - self.rounds_s[low])

    def padded(self) -> Prices:
        """Where a larger batch is clearly cheaper, it is evaluated instead, as the engine does."""
        costs = Costs(dict(self.rounds_s))
        costs.pad()
        rounds_s = {batch: costs.round_s(batch) for batch in self.rounds_s}
        return Prices(rounds_s, self.step_s, self.catch_up_s)

    def query_s(self, lag: int) -> float:
        """A look that reads ``lag`` tokens first."""
        return self.step_s + max(0, lag - 1) * self.catch_up_s

    def to_dict(self) -> dict[str, Any]:
        rounds = {str(batch): seconds for batch, seconds in self.rounds_s.items()}
        return {"rounds_s": rounds, "looks": {"draft": [self.step_s, self.catch_up_s]}}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Prices:
        step_s, catch_up_s = data["looks"]["draft"]
        return Prices({int(batch): seconds for batch, seconds in data["rounds_s"].items()}, step_s, catch_up_s)


def measure(target: Model, draft: Model, context: Sequence[int], largest: int) -> Prices:
    """Medians of measurements taken in turns. ``context`` has to be longer than ``largest`` by a few tokens."""
    start = len(context) - largest
    if start < 4:
        raise SystemExit(f"A text of {len(context)} tokens is too short to measure batches of {largest} on.")
    jobs = [_Job(f"verify {b}", partial(_verify, target, context[: start + b], b)) for b in range(1, largest + 1)]
    for lag in (1, 2):
        look, before = partial(_look, draft, context[:start]), partial(_unread, draft, context[:start], lag)
        jobs.append(_Job(f"look {lag}", look, before))
    spent = _in_turns(jobs)
    rounds_s = {b: spent[f"verify {b}"] for b in range(1, largest + 1)}
    return Prices(rounds_s, spent["look 1"], max(0.0, spent["look 2"] - spent["look 1"]))


@dataclass(frozen=True, slots=True)
class _Job:
    """Something to time, and what has to be done before without being timed."""

    name: str
    do: Callable[[], None]
    before: Callable[[], None] = lambda: None


def _in_turns(jobs: Sequence[_Job]) -> dict[str, float]:
    spent: dict[str, list[float]] = {job.name: [] for job in jobs}
    for _ in range(_REPEATS + _WARM_UP):
        for job in jobs:
            job.before()
            begun = time.perf_counter()
            job.do()
            spent[job.name].append(time.perf_counter() - begun)
    return {name: statistics.median(seconds[_WARM_UP:]) for name, seconds in spent.items()}


def _verify(target: Model, context: Sequence[int], batch: int) -> None:
    """Rows for the last positions, which are evaluated again for it. Taking the favourites is part of a round."""
    target.logits(context, batch).argmax(axis=1)


def _look(draft: Model, context: Sequence[int]) -> None:
    draft.logits(context, 1)[0].argmax()


def _unread(draft: Model, context: Sequence[int], lag: int) -> None:
    """Have the last ``lag`` tokens forgotten, by reading another token in their place."""
    kept = list(context[: len(context) - lag])
    other = 1 if context[len(kept)] != 1 else 2
    draft.logits([*kept, other], 1)
