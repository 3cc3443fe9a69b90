"""Models whose evaluations take the time they are told to, by a clock that nothing else moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.model import Logits
from localspec.runtime.calibration_file import CalibrationFile
from localspec.runtime.tuning import Tuning
from tests.fakes import TableModel, letters

PROMPT = list(range(24))


@dataclass
class Clock:
    """Time that passes only when a model works."""

    now_s: float = 0.0
    waited_s: float = 0.0
    """What other programs took of it."""

    def __call__(self) -> float:
        return self.now_s


@dataclass(slots=True)
class Timed(TableModel):
    """A model that takes the time it is told to."""

    clock: Clock = field(default_factory=Clock)
    price_s: Callable[[int, int], float] = lambda batch, threads: float(batch)
    threads: int = 4
    replay_n: int = 0
    forgets_freely: bool = True
    singly_n: int = 1

    def set_threads(self, n: int) -> None:
        self.threads = n

    def logits(self, context: Sequence[int], last: int) -> Logits:
        before = self.evaluated_n
        rows = TableModel.logits(self, context, last)
        self.clock.now_s += self.price_s(self.evaluated_n - before, self.threads)
        return rows


@dataclass(slots=True)
class TwoContexts(Timed):
    """A model with a context for short texts: single tokens are faster there, several perhaps not."""

    several_s: float = 1.0
    """The time that several take there, in that of the other."""
    has_short_context: bool = True
    in_short: bool = True

    def use_short_context(self, on: bool) -> None:
        self.in_short = on

    def keep_one_context(self) -> None:
        self.has_short_context = self.in_short = False

    def logits(self, context: Sequence[int], last: int) -> Logits:
        started = self.clock.now_s
        rows = Timed.logits(self, context, last)
        if self.in_short:
            factor = self.several_s if last > 1 else 0.8
            self.clock.now_s = started + factor * (self.clock.now_s - started)
        return rows


@dataclass(slots=True)
class Onward(Timed):
    """A model that cannot forget its latest tokens: asked for anything else, it reads everything again."""

    forgets_freely: bool = False

    def held(self, context: Sequence[int]) -> int:
        return len(self._held) if list(context[: len(self._held)]) == self._held else 0

    def read_again_n(self, context: Sequence[int], last: int) -> int:
        known_n = self.held(context)
        return known_n if known_n > len(context) - last else 0

    def logits(self, context: Sequence[int], last: int) -> Logits:
        new_n = len(context) - self.held(context) + self.read_again_n(context, last)
        rows = TableModel.logits(self, context, last)
        self.clock.now_s += self.price_s(new_n, self.threads)
        return rows


@dataclass(slots=True)
class Replaying(Onward):
    """One that reads eight tokens again instead."""

    replay_n: int = 8

    def held(self, context: Sequence[int]) -> int:
        return TableModel.held(self, context)

    def read_again_n(self, context: Sequence[int], last: int) -> int:
        known_n = min(self.held(context), len(context) - last)
        return self.held(context) - known_n + (self.replay_n if known_n < len(self._held) else 0)


def set_clock(patch: pytest.MonkeyPatch, clock: Clock) -> None:
    patch.setattr("time.perf_counter", clock)
    patch.setattr("time.thread_time", lambda: 0.0)
    patch.setattr("localspec.runtime.calibration.waited_s", lambda: clock.waited_s)


def model(clock: Clock, price_s: Callable[[int, int], float]) -> Timed:
    return Timed(letters(40), clock=clock, price_s=price_s)


def stairs(batch: int, threads: int) -> float:
    """Cheaper by fours, and by threads."""
    return 1e-3 * (1 + (batch + 3) // 4) * 4 / threads


def new_tuning(clock: Clock, price_s: Callable[[int, int], float] = stairs) -> Tuning:
    return Tuning(
        model(clock, price_s), {"draft": model(clock, stairs)}, tune_target=True, tune_drafters=True, largest=17
    )


def fit(tuning: Tuning, file: CalibrationFile) -> Costs:
    return tuning.fit(PROMPT, file, Cancellation(), lambda what, fraction: None)
