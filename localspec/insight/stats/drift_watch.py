"""The watch for drift: a notice when a pair works worse than before.

The baseline of a pair is all replies since its last notice. Acceptance, speed-up, and divergence of draft and target
each have a ``DriftDetector``, with ranks among replies of the same subject, so that a change of subject is not drift.
In 1,000 replies without a change the three together raise a notice with a probability of at most 2 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import median
from typing import Any

from localspec.insight.stats.causes import Circumstances
from localspec.insight.stats.digest import MEASURES
from localspec.insight.stats.drift import DriftDetector
from localspec.insight.stats.groups import pair_of
from localspec.insight.stats.subjects import Subject, subject_of
from localspec.runtime.figures import nats, percent, times
from localspec.store import Arm, ReplyRecord


@dataclass(frozen=True, slots=True)
class WatchedMeasure:
    """A watched measure."""

    name: str
    """Its name in a sentence."""
    written: Callable[[float], str]
    rise: bool = False
    """True if a higher value is worse."""


WATCHED: Mapping[str, WatchedMeasure] = {
    "acceptance": WatchedMeasure("acceptance", percent),
    "speedup_vs_plain": WatchedMeasure("the speed-up", times),
    "divergence": WatchedMeasure("the divergence of draft and target", nats, rise=True),
}
"""The watched measures by their names in ``MEASURES``."""

UNEXPLAINED = "no recorded option changed with it; the questions may be of another kind"


@dataclass(frozen=True, slots=True)
class DriftNotice:
    """The notice that a figure of a pair has become worse."""

    pair: str
    measure: str
    """A key of ``WATCHED``."""
    at: datetime
    """The begin of the reply that raised the alarm."""
    message: str
    """The id of that reply's message."""
    before: float
    """The median of the baseline."""
    before_n: int
    since: float
    """The median since the change."""
    since_n: int
    evidence: float
    """The evidence of the detector, at least ``drift.ALARM``."""
    causes: tuple[str, ...]
    """Likely causes without full stops; empty if no recorded option changed."""

    @property
    def change(self) -> str:
        """The change in a clause: "a-pair: acceptance fell from 75% to 20%"."""
        watched = WATCHED[self.measure]
        went, written = "rose" if watched.rise else "fell", watched.written
        return f"{self.pair}: {watched.name} {went} from {written(self.before)} to {written(self.since)}"

    @property
    def text(self) -> str:
        """The change and its likely causes in two or three sentences."""
        basis = f"medians of {self.before_n:,} replies before and the last {self.since_n}"
        cause = "; ".join(self.causes) or UNEXPLAINED
        return f"{self.change} ({basis}). Likely cause: {cause}."

    def to_dict(self) -> dict[str, Any]:
        """The object for ``--json``."""
        return {**asdict(self), "at": self.at.isoformat(), "causes": list(self.causes), "text": self.text}


class DriftWatch:
    """Receives records one after another: for a chat, the stored ones first, and then each that ends.

    A record takes well under a millisecond, without access to the disk.
    """

    def __init__(self) -> None:
        self._watches: dict[tuple[str, str], _MeasureWatch] = {}

    def receive(self, run: ReplyRecord) -> tuple[DriftNotice, ...]:
        """Receive the next record and return the notices it raises, mostly none.

        Replies of a trial's candidate are ignored: the trial judges them itself.
        """
        if run.about.arm is Arm.CANDIDATE:
            return ()
        pair, subject = pair_of(run), subject_of(run.text)
        notices = []
        for measure in WATCHED:
            if (value := MEASURES[measure](run)) is not None:
                if (pair, measure) not in self._watches:
                    self._watches[pair, measure] = _MeasureWatch(pair, measure)
                notices.append(self._watches[pair, measure].receive(value, run, subject))
        return tuple(notice for notice in notices if notice is not None)


class _MeasureWatch:
    """The detector for one figure of one pair; it is reset after a notice."""

    def __init__(self, pair: str, measure: str) -> None:
        self._pair, self._measure = pair, measure
        self._sign = -1 if WATCHED[measure].rise else 1
        self._begin()

    def _begin(self) -> None:
        self._detector = DriftDetector(f"{self._pair} {self._measure}")
        self._circumstances = Circumstances()

    def receive(self, value: float, run: ReplyRecord, subject: Subject) -> DriftNotice | None:
        self._circumstances.add(run, subject)
        if not self._detector.add(self._sign * value, subject):
            return None
        values, since_n = [self._sign * each for each in self._detector.values], self._detector.since_n
        notice = DriftNotice(
            self._pair,
            self._measure,
            run.at,
            run.message,
            before=median(values[:-since_n]),
            before_n=len(values) - since_n,
            since=median(values[-since_n:]),
            since_n=since_n,
            evidence=self._detector.evidence,
            causes=self._circumstances.changes(since_n),
        )
        self._begin()
        return notice
