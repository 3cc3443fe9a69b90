"""Trials carried out, one after the other."""

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
"""A reply to this puts another text into the caches, so that every measured prompt is read from its beginning."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A prompt that could not be asked, and why."""

    prompt: str
    reason: str


@dataclass(frozen=True, slots=True)
class Measured:
    """How far it has come, with what the last trial gave."""

    done_n: int
    total_n: int
    result: Sample | LeftOut | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """How every trial is made."""

    sampling: Sampling
    """But for the temperature, which is the trial's."""
    tokens: int
    seed: int
    clock: Clock = time.perf_counter
    keep_on: Callable[[], bool] = lambda: True
    """Whether there is time for another trial."""


def measure(pair: OpenPair, trials: Sequence[BenchTrial], setup: Setup) -> Iterator[Measured]:
    """Warm up, then every trial until time is up or a stop signal comes, which drops the reply under way."""
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
        yield Measured(number + 1, len(trials), result)


def _warm_up(pair: OpenPair, trials: Sequence[BenchTrial], setup: Setup) -> bool:
    """A short reply in every way, so that memory has been touched and depths have been tried; whether it ended."""
    for condition in dict.fromkeys(trial.condition for trial in trials):
        options = replace(_options(condition, setup, 0), max_tokens=_WARM_UP_TOKENS)
        if _stopped(pair.reply(_FORGETTING, options)):
            return False
    return True


def _measured(pair: OpenPair, trial: BenchTrial, setup: Setup) -> Sample | None:
    """None if a stop signal came. Raises CapacityError for a prompt that is too long."""
    _forget(pair)
    # The same chance for all ways of one repetition; what they make of it differs.
    options = _options(trial.condition, setup, trial.repetition)
    watch = Stopwatch(setup.clock)
    for event in pair.reply(trial.prompt.messages, options):
        watch.receive(event)
    return watch.sample(trial)


def _forget(pair: OpenPair) -> None:
    """Let both models hold something else."""
    spec = ("draft",) if pair.info.draft else ()
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
