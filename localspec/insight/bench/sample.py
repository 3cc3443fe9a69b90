"""The figures of one measured reply, named as in ``engine.timings``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from localspec.base.typed_json import misfit
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.insight.bench.trials import BenchTrial

Clock = Callable[[], float]
"""Seconds, from any beginning."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of one reply."""

    prompt: str
    subject: str
    way: str
    """The condition, as ``Condition.way``."""
    temperature: float
    repetition: int
    prompt_n: int
    prompt_ms: float
    first_token_ms: float
    """The wall time from the question to the first token."""
    total_ms: float
    """The wall time from the question to the end."""
    predicted_n: int
    predicted_ms: float
    rounds_n: int
    draft_ms: float
    verify_ms: float
    draft_n: int
    draft_n_accepted: int
    proposed_per_pos: tuple[int, ...]
    """The number of judged proposals at each position of the draft."""
    accepted_per_pos: tuple[int, ...]

    @property
    def predicted_per_second(self) -> float:
        return self.predicted_n / self.predicted_ms * 1e3

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Sample:
        """Parse the object of ``asdict``. Raises KeyError, TypeError or ValueError if it is malformed."""
        values = {each.name: data[each.name] for each in fields(Sample)}
        for name in ("proposed_per_pos", "accepted_per_pos"):
            values[name] = tuple(int(n) for n in values[name])
        sample = Sample(**values)
        if misfit(sample) or sample.predicted_n <= 0 or sample.predicted_ms <= 0:
            raise ValueError("a sample without tokens, or of another form")
        return sample


@dataclass(slots=True)
class Stopwatch:
    """Measures one reply from its events."""

    clock: Clock = time.perf_counter
    _started_s: float = field(init=False)
    _first_s: float | None = None
    _last_s: float = 0.0
    _finished: Finished | None = None
    _proposed: list[int] = field(default_factory=list)
    _accepted: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._started_s = self.clock()

    def receive(self, event: Event) -> None:
        self._last_s = self.clock()
        match event:
            case Round():
                if self._first_s is None:
                    self._first_s = self._last_s
                judged_n = min(event.accepted_n + bool(event.rejected), event.proposed_n)
                _count(self._proposed, judged_n)
                _count(self._accepted, event.accepted_n)
            case Finished():
                self._finished = event

    def sample(self, trial: BenchTrial) -> Sample | None:
        """The figures; None if the reply was cancelled or has no tokens."""
        if self._finished is None or self._finished.reason is FinishReason.CANCELLED:
            return None
        timings = self._finished.timings
        if self._first_s is None or not timings.predicted_n or timings.predicted_ms <= 0:
            return None
        return Sample(
            prompt=trial.prompt.id,
            subject=trial.prompt.subject,
            way=trial.condition.way,
            temperature=trial.condition.temperature,
            repetition=trial.repetition,
            prompt_n=timings.prompt_n,
            prompt_ms=timings.prompt_ms,
            first_token_ms=(self._first_s - self._started_s) * 1e3,
            total_ms=(self._last_s - self._started_s) * 1e3,
            predicted_n=timings.predicted_n,
            predicted_ms=timings.predicted_ms,
            rounds_n=timings.rounds_n,
            draft_ms=timings.draft_ms,
            verify_ms=timings.verify_ms,
            draft_n=timings.draft_n,
            draft_n_accepted=timings.draft_n_accepted,
            proposed_per_pos=tuple(self._proposed),
            accepted_per_pos=tuple(self._accepted),
        )


def _count(counts: list[int], n: int) -> None:
    """Add one to each of the first ``n`` counts."""
    counts.extend([0] * (n - len(counts)))
    for position in range(n):
        counts[position] += 1
