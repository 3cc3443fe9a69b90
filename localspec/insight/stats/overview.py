"""The overview of replies: all together, by day, and by group."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any

from localspec.insight.stats.digest import Digest
from localspec.insight.stats.groups import BY, Group, pair_of
from localspec.store import ReplyRecord


class Overview:
    """Figures updated one reply at a time. Days begin at midnight in ``zone``; None is the system's."""

    def __init__(self, by: str | None = None, zone: tzinfo | None = None) -> None:
        """``by`` is a key of ``groups.BY``, which determines the fields that records need."""
        self.by = by
        self.whole = Digest()
        self.pairs: set[str] = set()
        self.first: datetime | None = None
        self.last: datetime | None = None
        self._groups: dict[Group, Digest] = {}
        self._days: dict[str, Digest] = {}
        self._zone = zone

    def add(self, run: ReplyRecord) -> None:
        """Count a reply."""
        self.whole.add(run)
        self.pairs.add(pair_of(run))
        self.first = min(self.first or run.at, run.at)
        self.last = max(self.last or run.at, run.at)
        self._days.setdefault(BY["day"](run, self._zone)[1], Digest()).add(run)
        if self.by is not None:
            self._groups.setdefault(BY[self.by](run, self._zone), Digest()).add(run)

    def groups(self) -> list[tuple[str, Digest]]:
        """The groups in order, by name."""
        return [(name, digest) for (_, name), digest in sorted(self._groups.items(), key=lambda item: item[0])]

    def days(self) -> list[tuple[str, Digest]]:
        """The days with replies, oldest first."""
        return sorted(self._days.items())

    def to_dict(self) -> dict[str, Any]:
        """The object for ``--json``."""
        return {
            "since": self.first.isoformat() if self.first else None,
            "until": self.last.isoformat() if self.last else None,
            "pairs": sorted(self.pairs),
            "all": self.whole.to_dict(),
            "by": self.by,
            "groups": {name: digest.to_dict() for name, digest in self.groups()},
            "days": {
                name: {
                    "replies_n": day.replies_n,
                    "draft_acceptance_rate": day.acceptance,
                    "speedup_vs_plain": day.measures["speedup_vs_plain"].quantile(0.5),
                }
                for name, day in self.days()
            },
        }
