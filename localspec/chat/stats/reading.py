"""Passes over all stored replies in slices, whose result can be shown from the first slice on."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

from localspec.base.errors import StoreError
from localspec.insight.stats.drift_watch import DriftNotice, DriftWatch
from localspec.insight.stats.groups import BY, NEED_ROUNDS, NEED_TEXTS, Group
from localspec.insight.stats.objectives import Miss, Objectives, ObjectiveWatch
from localspec.insight.stats.overview import Overview
from localspec.store import RecordFilter, ReplyRecord, Store

SLICE_S = 0.1
"""The duration of a slice."""
_STEP_ASIDE_S = 0.001


class GroupedFigures:
    def __init__(self, by: str) -> None:
        self.whole = Overview()
        self._by = by
        self._groups: defaultdict[Group, Overview] = defaultdict(Overview)

    def add(self, run: ReplyRecord) -> None:
        self.whole.add(run)
        self._groups[BY[self._by](run, None)].add(run)

    def groups(self) -> dict[str, Overview]:
        """The groups in order, by name."""
        return {name: overview for (_, name), overview in sorted(self._groups.items(), key=lambda item: item[0])}


class PairHistory:
    """The drift notices and the missed objectives of all pairs."""

    def __init__(self, objectives: Objectives) -> None:
        self.replies_n = 0
        self.notices: list[DriftNotice] = []
        self._watch = DriftWatch()
        self._wanted = ObjectiveWatch(objectives)

    def add(self, run: ReplyRecord) -> None:
        self.replies_n += 1
        self.notices += self._watch.receive(run)
        self._wanted.add(run)

    def misses(self) -> list[Miss]:
        """The missed objectives, oldest first."""
        return list(self._wanted.misses())


T = TypeVar("T", GroupedFigures, PairHistory)


class Reading(Generic[T]):
    """One pass over the store. ``read`` is for a thread of its own; ``taken`` is to be read within ``look``."""

    def __init__(self, store: Store, taken: T, where: RecordFilter) -> None:
        self.taken: T = taken
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


def counting(store: Store, by: str) -> Reading[GroupedFigures]:
    """A pass that groups replies; ``by`` is a key of ``groups.BY``."""
    where = RecordFilter(texts=by in NEED_TEXTS, rounds=by in NEED_ROUNDS, settled=True)
    return Reading(store, GroupedFigures(by), where)


def watching(store: Store, objectives: Objectives) -> Reading[PairHistory]:
    """A pass that watches for drift."""
    return Reading(store, PairHistory(objectives), RecordFilter(texts=True, settled=True))
