"""Passes over all stored replies in slices, whose result can be shown from the first slice on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from threading import Lock
from typing import Generic, Protocol, TypeVar

from localspec.base.errors import StoreError
from localspec.insight.stats.drift_watch import DriftNotice, DriftWatch
from localspec.insight.stats.groups import BY, NEED_ROUNDS, NEED_TEXTS, Group
from localspec.insight.stats.objectives import Miss, Objectives, ObjectiveWatch
from localspec.insight.stats.overview import Overview
from localspec.store import RecordFilter, ReplyRecord, Store

SLICE_S = 0.1
"""The duration of a slice."""
_STEP_ASIDE_S = 0.001


class RecordSink(Protocol):
    """Takes in records of replies."""

    def add(self, run: ReplyRecord) -> None:
        """Count a reply."""
        ...


T = TypeVar("T", bound=RecordSink)


class GroupedFigures:
    """All replies together, and group by group."""

    def __init__(self, by: str, zone: tzinfo | None = None) -> None:
        self.whole = Overview(zone=zone)
        self._by = by
        self._zone = zone
        self._groups: dict[Group, Overview] = {}

    def add(self, run: ReplyRecord) -> None:
        """Count a reply."""
        self.whole.add(run)
        group = BY[self._by](run, self._zone)
        if group not in self._groups:
            self._groups[group] = Overview(zone=self._zone)
        self._groups[group].add(run)

    def groups(self) -> dict[str, Overview]:
        """The groups in order, by name."""
        return {name: overview for (_, name), overview in sorted(self._groups.items(), key=lambda item: item[0])}


class PairHistory:
    """The drift notices and the missed objectives of all pairs."""

    def __init__(self, objectives: Objectives, zone: tzinfo | None = None) -> None:
        self.replies_n = 0
        self.notices: list[DriftNotice] = []
        self._watch = DriftWatch()
        self._wanted = ObjectiveWatch(objectives, zone)

    def add(self, run: ReplyRecord) -> None:
        """Count a reply."""
        self.replies_n += 1
        self.notices += self._watch.receive(run)
        self._wanted.add(run)

    def misses(self) -> list[Miss]:
        """The missed objectives, oldest first."""
        return list(self._wanted.misses())


class Reading(Generic[T]):
    """One pass over the store. ``read`` is for a thread of its own; ``taken`` is to be read within ``look``."""

    def __init__(self, store: Store, taken: T, where: RecordFilter) -> None:
        self.taken = taken
        self.done = False
        """True once all replies are read."""
        self.trouble = ""
        """The reason why reading failed; empty if it did not."""
        self._lock = Lock()
        self._looks = False
        """True while a reader waits for the lock."""
        self._store = store
        self._where = where
        self._place = 0
        self._runs: Iterator[ReplyRecord] | None = None

    def read(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Read the next slice. Never raises: see ``trouble``."""
        until_s = clock() + SLICE_S
        try:
            if self._runs is None:
                self._runs = self._store.runs(self._place, where=self._where)
            for run in self._runs:
                with self._lock:
                    self.taken.add(run)
                self._place = run.place
                if self._looks:
                    time.sleep(_STEP_ASIDE_S)  # a lock is not fair: it would be taken again before they wake
                if clock() >= until_s:
                    return
        except StoreError as error:
            self.trouble = str(error)
        self._runs = None
        self.done = True

    @contextmanager
    def look(self) -> Iterator[T]:
        """The result so far, unchanged for the length of the ``with``."""
        self._looks = True
        with self._lock:
            self._looks = False
            yield self.taken

    def again(self) -> None:
        """Continue with new replies."""
        if self.done:
            self.done, self.trouble = False, ""


def counting(store: Store, by: str, zone: tzinfo | None = None) -> Reading[GroupedFigures]:
    """A pass that groups replies; ``by`` is a key of ``groups.BY``."""
    where = RecordFilter(texts=by in NEED_TEXTS, rounds=by in NEED_ROUNDS, settled=True)
    return Reading(store, GroupedFigures(by, zone), where)


def watching(store: Store, objectives: Objectives, zone: tzinfo | None = None) -> Reading[PairHistory]:
    """A pass that watches for drift."""
    return Reading(store, PairHistory(objectives, zone), RecordFilter(texts=True, settled=True))
