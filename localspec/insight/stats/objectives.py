"""Objectives for the speed of a pair, and the days on which they were missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import tzinfo
from typing import Any

from localspec.config import Config
from localspec.insight.stats.groups import BY, pair_of
from localspec.insight.stats.sketch import Sketch
from localspec.runtime.figures import MISSING
from localspec.store import ReplyRecord


@dataclass(frozen=True, slots=True)
class Objectives:
    """The objectives for each day; None is no objective."""

    ttft_p95_s: float | None = None
    """The largest 95th percentile of the time to first token."""
    min_speedup: float | None = None
    """The smallest median speed-up."""

    @property
    def any(self) -> bool:
        return self.ttft_p95_s is not None or self.min_speedup is not None


def objectives_of(config: Config) -> Objectives:
    """The objectives in the settings."""
    values = {key: config.values.get(f"stats.{key}") for key in ("ttft_p95_s", "min_speedup")}
    return Objectives(**{key: float(value) for key, value in values.items() if isinstance(value, int | float)})


@dataclass(frozen=True, slots=True)
class Miss:
    """A day on which a pair did not meet an objective."""

    day: str
    pair: str
    objective: str
    """The name of the field of ``Objectives``."""
    wanted: float
    was: float
    replies_n: int
    """Replies measured on that day."""

    def to_dict(self) -> dict[str, Any]:
        """The object for ``--json``."""
        return asdict(self)


def seconds(value: float | None) -> str:
    """A duration with three significant digits or fewer.

    >>> seconds(0.0123), seconds(2.5), seconds(61.2), seconds(0.0001)
    ('0.012 s', '2.50 s', '61 s', '0.1 ms')
    """
    if value is None:
        return MISSING
    if 0 < value < 0.001:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


class ObjectiveWatch:
    """Evaluates objectives by pair and day. Days begin at midnight in ``zone``; None is the system's."""

    def __init__(self, objectives: Objectives, zone: tzinfo | None = None) -> None:
        self.objectives = objectives
        """The objectives, which may be changed at any time."""
        self._zone = zone
        self._days: dict[tuple[str, str], tuple[Sketch, Sketch]] = {}

    def add(self, run: ReplyRecord) -> None:
        """Count a reply."""
        day, pair = BY["day"](run, self._zone)[1], pair_of(run)
        ttft, speedup = self._days.setdefault((day, pair), (Sketch(), Sketch()))
        ttft.add(run.ttft_s)
        speedup.add(run.timings.speedup_vs_plain)

    def misses(self) -> Iterator[Miss]:
        """The missed objectives, oldest first."""
        wanted_s, least = self.objectives.ttft_p95_s, self.objectives.min_speedup
        for (day, pair), (ttft, speedup) in sorted(self._days.items()):
            was_s, was = ttft.quantile(0.95), speedup.quantile(0.5)
            if wanted_s is not None and was_s is not None and was_s > wanted_s:
                yield Miss(day, pair, "ttft_p95_s", wanted_s, was_s, ttft.n)
            if least is not None and was is not None and was < least:
                yield Miss(day, pair, "min_speedup", least, was, speedup.n)
