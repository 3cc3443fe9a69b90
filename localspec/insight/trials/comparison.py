"""The comparison of the two sides of a trial, updated reply by reply, and its verdict."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from localspec.insight.stats.digest import MEASURES, Digest
from localspec.insight.stats.groups import BY
from localspec.insight.stats.subjects import subject_of
from localspec.insight.trials.evidence import FailureTest, Ranks, ShiftTest
from localspec.insight.trials.trial import Outcome, Trial
from localspec.store import Arm, ReplyRecord, ReplyState

_WEIGHTS = {"tokens_per_second": 0.5, "ttft_s": 0.25, "failures": 0.25}
"""The weights of the measures for a rollback. A weighted mean of evidence is evidence."""
_FEWEST_TOKENS_N = 8
"""The shortest reply whose speed counts."""
_PROMPT_STEP = 4
"""The factor between strata of prompt length."""


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """The outcome that the evidence supports."""

    outcome: Outcome
    measure: str | None
    """The decisive measure; None if nothing was shown."""


class Side:
    """The replies of one arm."""

    def __init__(self) -> None:
        self.digest = Digest()
        """The digest of all replies with figures."""
        self.failed_n = 0
        self.units_n = 0
        """The number of turns or conversations that count as evidence."""

    @property
    def replies_n(self) -> int:
        return self.digest.replies_n + self.failed_n

    def median(self, measure: str) -> float | None:
        return self.digest.measures[measure].quantile(0.5)

    def add(self, run: ReplyRecord) -> None:
        if run.state is ReplyState.FAILED:
            self.failed_n += 1
        else:
            self.digest.add(run)


@dataclass(slots=True)
class _Unit:
    """The outcomes of a turn or a conversation, for one bet."""

    arm: Arm
    failed: bool
    speeds: list[float]
    """The normal scores of its replies."""
    waits: list[float]


class TrialComparison:
    """Receives the trial's replies one after another, oldest first.

    There is one bet for every turn or conversation: for a turn on its first reply, because further ones are similar;
    for a conversation on its replies until the next one begins. Later replies count for the figures only.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.sides = {arm: Side() for arm in Arm}
        self._speed_ranks, self._wait_ranks = Ranks(), Ranks()
        self._speed, self._wait = ShiftTest(trial.share), ShiftTest(trial.share)
        self._failures = FailureTest(trial.share)
        self._seen: set[str] = set()
        self._latest = ""
        self._open: _Unit | None = None
        self._logs: defaultdict[Hashable, dict[Arm, list[float]]] = defaultdict(lambda: {arm: [] for arm in Arm})

    def receive(self, run: ReplyRecord) -> None:
        """Receive the next reply; those of other trials are ignored."""
        arm = run.about.arm
        if run.about.trial != self._trial.id or arm is None:
            return
        self.sides[arm].add(run)
        unit = run.conversation if self._trial.sticky else run.question or run.message
        if unit not in self._seen:
            self._close_unit()
            self._seen.add(unit)
            self._latest, self._open = unit, _Unit(arm, False, [], [])
            self.sides[arm].units_n += 1
        if self._open is not None and unit == self._latest:
            self._take(run, self._open)
            if not self._trial.sticky:
                self._close_unit()

    def _take(self, run: ReplyRecord, unit: _Unit) -> None:
        if run.state is ReplyState.FAILED:
            unit.failed = True
            return
        speed, ttft_s = run.timings.predicted_per_second, run.ttft_s
        if speed and run.timings.predicted_n >= _FEWEST_TOKENS_N:
            stratum = (subject_of(run.text), BY["temperature"](run, None), BY["context"](run, None))
            _append(unit.speeds, self._speed_ranks.score(math.log(speed), stratum))
            self._logs[stratum][unit.arm].append(math.log(speed))
        if ttft_s is not None:
            read = round(math.log(max(run.timings.prompt_n, 1), _PROMPT_STEP))
            _append(unit.waits, self._wait_ranks.score(-ttft_s, read))

    def _close_unit(self) -> None:
        """Bet on the open unit."""
        unit, self._open = self._open, None
        if unit is None:
            return
        candidate = unit.arm is Arm.CANDIDATE
        for scores, test in ((unit.speeds, self._speed), (unit.waits, self._wait)):
            if scores:
                test.bet(fmean(scores), candidate=candidate)
        self._failures.bet(unit.failed, candidate=candidate)

    @property
    def units_n(self) -> int:
        return sum(side.units_n for side in self.sides.values())

    @property
    def worse(self) -> dict[str, float]:
        """The evidence that the candidate is worse, by measure. If it is not, P(evidence >= 1 / a) is at most a."""
        return {
            "tokens_per_second": self._speed.worse,
            "ttft_s": self._wait.worse,
            "failures": self._failures.worse,
        }

    @property
    def evidence_worse(self) -> float:
        """The evidence that it is worse, over all measures."""
        return sum(_WEIGHTS[name] * owned for name, owned in self.worse.items())

    @property
    def evidence_better(self) -> float:
        """The evidence that it is faster."""
        return self._speed.better

    @property
    def gain(self) -> float | None:
        """The speed of the candidate over the incumbent's on similar replies; None without such replies.

        Hodges and Lehmann's estimate: the median of all ratios within strata.
        """
        ratios = [
            after - before
            for arms in self._logs.values()
            for after in arms[Arm.CANDIDATE]
            for before in arms[Arm.INCUMBENT]
        ]
        return math.exp(median(ratios)) if ratios else None

    def verdict(self) -> TrialVerdict | None:
        """The verdict; None while it is open."""
        bar = 1 / self._trial.error
        if self.evidence_worse >= bar:
            return TrialVerdict(Outcome.ROLLED_BACK, max(_WEIGHTS, key=lambda name: _WEIGHTS[name] * self.worse[name]))
        # A candidate that is faster but begins later, or fails more, is not promoted yet.
        if self.evidence_better >= bar and self.evidence_worse <= 1 and not self._fails_more:
            return TrialVerdict(Outcome.PROMOTED, "tokens_per_second")
        return TrialVerdict(Outcome.UNDECIDED, None) if self.units_n >= self._trial.most_n else None

    @property
    def _fails_more(self) -> bool:
        ours, theirs = self.sides[Arm.CANDIDATE], self.sides[Arm.INCUMBENT]
        return ours.failed_n * theirs.replies_n > theirs.failed_n * ours.replies_n

    def to_dict(self) -> dict[str, Any]:
        """The object for ``--json``, also stored with a trial that has ended."""
        return {
            "arms": {str(arm): _side_to_dict(side) for arm, side in self.sides.items()},
            "gain": self.gain,
            "evidence_worse": self.evidence_worse,
            "evidence_better": self.evidence_better,
            "evidence_worse_by_measure": self.worse,
            "evidence_to_decide": 1 / self._trial.error,
        }


def compared(trial: Trial, runs: Iterable[ReplyRecord]) -> TrialComparison:
    """The comparison after all records of a trial."""
    comparison = TrialComparison(trial)
    for run in runs:
        comparison.receive(run)
    return comparison


def _append(scores: list[float], score: float | None) -> None:
    if score is not None:
        scores.append(score)


def _side_to_dict(side: Side) -> dict[str, Any]:
    return {
        "replies_n": side.replies_n,
        "units_n": side.units_n,
        "failed_n": side.failed_n,
        "draft_acceptance_rate": side.digest.acceptance,
        "mean_acceptance_length": side.digest.mean_acceptance_length,
        "medians": {name: side.median(name) for name in MEASURES},
    }
