"""A notice when a pair works worse than it used to.

The baseline of a pair is all that is on record since its last notice. Acceptance, speed-up and the divergence of draft
and target are watched each by a ``DriftDetector``, ranked among replies of the same subject, so that turning from code
to stories is no drift. In 1,000 replies without a change the three together raise a notice with a probability of at
most 2 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
    """A measure that is watched."""

    said: str
    """What it is called in a sentence."""
    written: Callable[[float], str]
    rise: bool = False
    """Whether more of it is worse."""


WATCHED: Mapping[str, WatchedMeasure] = {
    "acceptance": WatchedMeasure("acceptance", percent),
    "speedup_vs_plain": WatchedMeasure("the speed-up", times),
    "divergence": WatchedMeasure("the divergence of draft and target", nats, rise=True),
}
"""By the name of the measure."""

UNEXPLAINED = "nothing that is on record changed with it; what is asked for may be of another kind"


@dataclass(frozen=True, slots=True)
class DriftNotice:
    """A figure of a pair has become worse for good."""

    pair: str
    measure: str
    """A key of ``WATCHED``."""
    at: datetime
    """When the reply began that settled it."""
    message: str
    """Id of that reply's message."""
    before: float
    """Median of the baseline."""
    before_n: int
    since: float
    """Median since."""
    since_n: int
    evidence: float
    """See ``drift``; an alarm from ``drift.ALARM`` on."""
    causes: tuple[str, ...]
    """Sentences without full stops, the likeliest first; empty if nothing on record changed with it."""

    @property
    def change(self) -> str:
        """What happened, as in "a-pair: acceptance fell from 75% to 20%"."""
        watched = WATCHED[self.measure]
        went, written = "rose" if watched.rise else "fell", watched.written
        return f"{self.pair}: {watched.said} {went} from {written(self.before)} to {written(self.since)}"

    @property
    def text(self) -> str:
        """All of it in two or three sentences."""
        basis = f"medians of {self.before_n} replies before and the last {self.since_n}"
        cause = "; ".join(self.causes) or UNEXPLAINED
        return f"{self.change} ({basis}). Likely cause: {cause}."

    def to_dict(self) -> dict[str, Any]:
        """As in ``--json``."""
        return {**asdict(self), "at": self.at.isoformat(), "causes": list(self.causes), "text": self.text}


class DriftWatch:
    """Takes one reply after another; for a chat, those on record first, and then each that ends.

    ``watch = Watch(); list(watch.notices(store.runs(asked=Asked(texts=True))))`` brings it up to date; after each reply
    ``watch.receive(run)`` gives what is to be shown. It neither reads nor writes, and takes well under a
    millisecond. ``run`` comes from ``store.runs(last.place, asked=...)``, or is made of the reply at hand.
    """

    def __init__(self) -> None:
        self._pairs: dict[str, _PairWatch] = {}

    def receive(self, run: ReplyRecord) -> tuple[DriftNotice, ...]:
        """Take in the next reply; the notices it raises, mostly none.

        Replies of a trial's candidate are passed over: the trial judges them itself.
        """
        if run.about.arm is Arm.CANDIDATE:
            return ()
        pair = pair_of(run)
        if pair not in self._pairs:
            self._pairs[pair] = _PairWatch(pair)
        return tuple(self._pairs[pair].receive(run))

    def notices(self, runs: Iterable[ReplyRecord]) -> Iterator[DriftNotice]:
        """Those that all these replies raise."""
        for run in runs:
            yield from self.receive(run)


class _PairWatch:
    def __init__(self, pair: str) -> None:
        self._pair = pair
        self._measures = {name: _MeasureWatch(name, f"{pair} {name}") for name in WATCHED}

    def receive(self, run: ReplyRecord) -> Iterator[DriftNotice]:
        subject = subject_of(run.text)
        for name, watch in self._measures.items():
            value = MEASURES[name](run)
            if value is not None and (change := watch.receive(value, run, subject)) is not None:
                yield DriftNotice(self._pair, name, run.at, run.message, *change)


Worsening = tuple[float, int, float, int, float, tuple[str, ...]]
"""The last six fields of a notice."""


class _MeasureWatch:
    """One figure of one pair; begins anew after a notice."""

    def __init__(self, name: str, seed: str) -> None:
        self._sign = -1 if WATCHED[name].rise else 1
        self._seed = seed
        self._begin()

    def _begin(self) -> None:
        self._detector = DriftDetector(self._seed)
        self._circumstances = Circumstances()

    def receive(self, value: float, run: ReplyRecord, subject: Subject) -> Worsening | None:
        self._circumstances.add(run, subject)
        if not self._detector.add(self._sign * value, subject):
            return None
        values, since_n = [self._sign * each for each in self._detector.values], self._detector.since_n
        change = (
            median(values[:-since_n]),
            len(values) - since_n,
            median(values[-since_n:]),
            since_n,
            self._detector.evidence,
            self._circumstances.changes(since_n),
        )
        self._begin()
        return change
