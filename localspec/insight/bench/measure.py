"""The measurement of trials, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from localspec.base.errors import CapacityError
from localspec.engine.events import Event, Finished, FinishReason
from localspec.engine.settings import Sampling
from localspec.insight.bench.sample import Clock, Sample, Stopwatch
from localspec.insight.bench.trials import BenchTrial, Condition
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import ReplyOptions

_WARM_UP_TOKENS = 12
_FORGETTING = "Forget."
"""The prompt of a short reply that replaces the cached text, so that measured prompts are read from their beginning."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A prompt that could not be measured, with the reason."""

    prompt: str
    reason: str


@dataclass(frozen=True, slots=True)
class Measured:
    """The progress after a trial, with its result."""

    done_n: int
    result: Sample | LeftOut | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """The options that all trials share."""

    sampling: Sampling
    """The sampling, except for the temperature, which is the trial's."""
    tokens: int
    seed: int
    clock: Clock = time.perf_counter
    keep_on: Callable[[], bool] = lambda: True
    """Returns True while there is time for another trial."""


def measure(pair: OpenPair, trials: Sequence[BenchTrial], setup: Setup) -> Iterator[Measured]:
    """Warm up, then measure trials until time is up, or a cancellation, which drops the current reply."""
    if not _warm_up(pair, trials, setup):
        return
    left_out: set[str] = set()
    for number, trial in enumerate(trials):
        if not setup.keep_on():
            return
        result: Sample | LeftOut | None = None
        if trial.prompt.id not in left_out:
            try:
                result = _measured(pair, trial, setup)
            except CapacityError:
                left_out.add(trial.prompt.id)
                result = LeftOut(trial.prompt.id, "too long for the context")
            else:
                if result is None:
                    return
        yield Measured(number + 1, result)


def _warm_up(pair: OpenPair, trials: Sequence[BenchTrial], setup: Setup) -> bool:
    """Make a short reply in every condition, so that memory is mapped and depths are tried; False if cancelled."""
    for condition in dict.fromkeys(trial.condition for trial in trials):
        options = replace(_options(condition, setup, 0), max_tokens=_WARM_UP_TOKENS)
        if _stopped(pair.reply(_FORGETTING, options)):
            return False
    return True


def _measured(pair: OpenPair, trial: BenchTrial, setup: Setup) -> Sample | None:
    """Measure one trial; None if it was cancelled. Raises CapacityError for a prompt that is too long."""
    _forget(pair)
    # The same seed for all conditions of a repetition.
    options = _options(trial.condition, setup, trial.repetition)
    watch = Stopwatch(setup.clock)
    for event in pair.reply(trial.prompt.messages, options):
        watch.receive(event)
    return watch.sample(trial)


def _forget(pair: OpenPair) -> None:
    """Replace the cached text of the target and of all that drafts for it."""
    specs: list[tuple[str, ...]] = [(name,) for name in pair.info.drafters]
    for spec in specs or [()]:
        for _ in pair.reply(_FORGETTING, ReplyOptions(Sampling(temperature=0), spec, len(spec), 0, 2)):
            pass


def _options(condition: Condition, setup: Setup, repetition: int) -> ReplyOptions:
    sampling = replace(setup.sampling, temperature=condition.temperature)
    return ReplyOptions(sampling, condition.spec, condition.depth, setup.seed + repetition, setup.tokens)


def _stopped(events: Iterator[Event]) -> bool:
    last = None
    for last in events:  # noqa: B007 -- the last one is wanted
        pass
    return isinstance(last, Finished) and last.reason is FinishReason.CANCELLED
