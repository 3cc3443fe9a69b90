"""A benchmark run: pair after pair, in this process, until all is measured, time is up, or Ctrl-C is pressed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from localspec.base.errors import OWN_FOLDER, CapacityError, ConfigError, LocalSpecError, explaining
from localspec.base.file_lock import file_lock
from localspec.base.paths import user_paths
from localspec.engine.cancel import Cancelled
from localspec.insight.bench.environment import Snapshot, notes, resident_bytes
from localspec.insight.bench.measure import LeftOut, Measured, Setup, measure
from localspec.insight.bench.result import BenchResult, PairResult
from localspec.insight.bench.sample import Clock, Sample
from localspec.insight.bench.trials import Condition, schedule
from localspec.insight.prompt_sets import BenchPrompt
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.interruptible import InterruptibleThread, Opener
from localspec.runtime.load import OpenPair
from localspec.runtime.options import Progress
from localspec.runtime.pair_info import PairInfo

INTERRUPTED = "stopped by Ctrl-C"
OUT_OF_TIME = "its time was up"
FEWEST_TOKENS = 4
"""Shorter replies are not timed: their speed is that of the first round."""
_TOO_SHORT = "replies too short to be timed"


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """The measurements to make with every pair."""

    prompts: Sequence[BenchPrompt]
    conditions: Sequence[Condition]
    repeats: int
    tokens: int
    seed: int
    limit_s: float
    """The time limit for all pairs together, loading included."""

    def settings(self) -> dict[str, Any]:
        return {
            "prompts": [prompt.id for prompt in self.prompts],
            "ways": [[condition.way, condition.temperature] for condition in self.conditions],
            "repeats": self.repeats,
            "tokens": self.tokens,
            "seed": self.seed,
            "minutes": self.limit_s / 60,
        }


@dataclass(frozen=True, slots=True)
class BenchLaunch:
    """One loading of a pair: with one file to draft with, and the drafters that need it."""

    chat_config: ChatConfig
    specs: set[tuple[str, ...] | None]
    """The drafters of the conditions to measure, besides plain decoding."""


@dataclass(slots=True)
class Bench:
    """Carries out a plan; ``result`` is valid whenever it ends."""

    plan: BenchPlan
    opener: Opener
    progress: Progress
    """Called with the pair that is measured, and the progress of all, 0..1."""
    loading: Progress
    """Called with the progress of loading a pair, from any thread."""
    clock: Clock = time.perf_counter
    result: BenchResult = field(default_factory=BenchResult)
    errors: list[LocalSpecError] = field(default_factory=list)
    """The errors of pairs that could not be measured."""

    def run(self, launches: Sequence[BenchLaunch]) -> None:
        """Measure all pairs. Ctrl-C ends it early; ``result`` then has what was measured.

        Launches of one pair have one result. Plain decoding is measured with each, so that a speed is compared with its
        own minutes.
        """
        self.result.settings = self.plan.settings()
        self.result.created = datetime.now().astimezone().isoformat(timespec="seconds")
        began_s = self.clock()
        try:
            with InterruptibleThread() as thread:
                for number, launch in enumerate(launches):
                    share = _Share(began_s, self.plan.limit_s, number, len(launches))
                    _LaunchRun(self, thread, launch, self._result_of(launch.chat_config), share).measure()
        except KeyboardInterrupt:
            self.result.cut_short = INTERRUPTED

    def _result_of(self, chat_config: ChatConfig) -> PairResult:
        name = chat_config.pair_id or chat_config.title
        if not self.result.pairs or self.result.pairs[-1].pair != name:
            self.result.pairs.append(PairResult(name))
        return self.result.pairs[-1]


@dataclass(frozen=True, slots=True)
class _Share:
    """A launch's share of the time and of the work."""

    began_s: float
    """The time at which the first launch was begun."""
    limit_s: float
    number: int
    launches_n: int

    @property
    def until_s(self) -> float:
        return self.began_s + self.limit_s * (self.number + 1) / self.launches_n

    def done(self, part: float, now_s: float) -> float:
        """The progress of the whole run when ``part`` of this launch is done: the larger one of work and of time."""
        return min(1.0, max((self.number + part) / self.launches_n, (now_s - self.began_s) / self.limit_s))


@dataclass(frozen=True, slots=True)
class _LaunchRun:
    """The measurement of a pair with one file to draft with."""

    bench: Bench
    thread: InterruptibleThread
    launch: BenchLaunch
    result: PairResult
    share: _Share

    def measure(self) -> None:
        """Add to ``result``. Raises KeyboardInterrupt after Ctrl-C."""
        bench, thread, options = self.bench, self.thread, self.launch.chat_config.load
        try:
            pair = thread.open(bench.opener, options, bench.loading)
            try:
                self._measure(pair)
            finally:
                thread.call(pair.close)
        except Cancelled:
            raise KeyboardInterrupt from None
        except LocalSpecError as error:
            self.result.error = str(error)
            bench.errors.append(error)

    def _measure(self, pair: OpenPair) -> None:
        bench, plan = self.bench, self.bench.plan
        before = Snapshot.take()
        conditions = [each for each in plan.conditions if each.plain or each.spec in self.launch.specs]
        first = 1 + max((sample.repetition for sample in self.result.samples), default=-1)
        trials = schedule(plan.prompts, conditions, range(first, first + plan.repeats), plan.seed)
        setup = Setup(
            self.launch.chat_config.reply.sampling,
            plan.tokens,
            plan.seed,
            bench.clock,
            lambda: bench.clock() < self.share.until_s,
        )
        done_n = 0
        try:
            for step in self.thread.stream(lambda: measure(pair, trials, setup)):
                self._take(step)
                done_n = step.done_n
                share = self.share.done(done_n / len(trials), bench.clock())
                bench.progress(f"measuring {self.result.pair}", share)
        finally:
            self.result.facts = _with_draft(self.result.facts, pair.info)
            self.result.notes += notes(before, Snapshot.take())
        if self.thread.interrupted:
            raise KeyboardInterrupt
        if done_n < len(trials):
            bench.result.cut_short = OUT_OF_TIME
        elif not self.result.samples:
            others = "Choose other prompts"
            hint = f"{others}." if _TOO_SHORT in self.result.left_out.values() else f"{others}, or a larger --ctx."
            raise CapacityError("No prompt could be measured.", hint)

    def _take(self, step: Measured) -> None:
        match step.result:
            case Sample(prompt=prompt) if step.result.predicted_n < FEWEST_TOKENS:
                self.result.left_out[prompt] = _TOO_SHORT
            case Sample():
                self.result.samples.append(step.result)
            case LeftOut(prompt, reason):
                self.result.left_out[prompt] = reason


def _with_draft(facts: dict[str, Any], info: PairInfo) -> dict[str, Any]:
    """The facts of a pair's first launch, with the drafts of all."""
    if not facts:
        return _facts(info)
    return {**facts, "draft": ", ".join(filter(None, (facts["draft"], info.draft_name)))}


def _facts(info: PairInfo) -> dict[str, Any]:
    return {
        "target": info.target_name,
        "draft": info.draft_name,
        "drafters": list(info.drafters),
        "device": info.device,
        "draft_device": info.draft_device,
        "threads": info.threads,
        "n_ctx": info.n_ctx,
        "load_s": info.load_s,
        "target_size_bytes": info.target_size_bytes,
        "draft_size_bytes": info.draft_size_bytes,
        "resident_bytes": resident_bytes(),
    }


@contextmanager
def bench_lock() -> Iterator[None]:
    """Hold the lock that lets one benchmark run at a time: two would slow each other down.

    Raises CapacityError if another benchmark of this user holds it, ConfigError.
    """
    file = user_paths().data / "bench.lock"
    with ExitStack() as held:
        with explaining(ConfigError, f"{file} cannot be written", OWN_FOLDER):
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                held.enter_context(file_lock(file, wait=False))
            except BlockingIOError:
                raise CapacityError(
                    "Another localspec bench is running; two would slow each other down.",
                    "Wait until it has ended, or stop it.",
                ) from None
        yield
