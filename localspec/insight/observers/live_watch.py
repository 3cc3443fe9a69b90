"""Has the watch follow replies: after each one that is on record, whether its pair has become worse by it.

What is judged is read from the store, as ``localspec stats --watch`` reads it, so that both come to the same notices.
The thread that reads begins with the end of the first reply and rests between a few replies and the next few:
however much is on record, nobody waits for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError, StoreError
from localspec.engine.events import Event as EngineEvent
from localspec.engine.events import Finished
from localspec.insight.observers import News, ReplyObserver
from localspec.insight.stats.groups import BY, pair_of
from localspec.insight.stats.objectives import Miss, Objectives, ObjectiveWatch
from localspec.insight.stats.wording import OBJECTIVES, replies_said, wanted
from localspec.store import RecordFilter, ReplyMetadata, ReplyRecord, Store

if TYPE_CHECKING:
    from localspec.insight.stats.drift_watch import DriftNotice, DriftWatch

_SLICE_N = 25
"""So many replies are judged, about 5 ms, before others have the interpreter."""
_REST_S = 0.01


class LiveWatch:
    """Watches the replies of one store. To be closed before the store is."""

    def __init__(
        self, store: Store, objectives: Objectives | None = None, ring: Callable[[], object] = lambda: None
    ) -> None:
        """``ring`` is called, from the thread that reads, when there is news."""
        self.objectives = objectives or Objectives()
        """What is wanted from now on."""
        self._store = store
        self._ring = ring
        self._watch: DriftWatch | None = None
        """Loaded with its numerics once there is something to judge."""
        self._days = ObjectiveWatch(self.objectives)
        self._place = 0
        self._own: set[str] = set()
        """Messages whose replies were made here; of others it is not for us to speak."""
        self._missed: set[tuple[str, str, str]] = set()
        self._news: deque[News] = deque()
        self._closed = Event()
        self._due = Condition()
        self._ended_n = self._read_n = 0
        self._thread: Thread | None = None

    def listen(self, ring: Callable[[], object]) -> None:
        """Have another bell rung."""
        self._ring = ring

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return _Watched(self, message)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        if wait_s:
            self.wait(wait_s)
        return [self._news.popleft() for _ in range(len(self._news))]

    def ended(self, message: str) -> None:
        """The reply of this message is over, and on record."""
        with self._due:
            self._own.add(message)
            self._ended_n += 1
            self._due.notify_all()
            if self._thread is None and not self._closed.is_set():
                self._thread = Thread(target=self._serve, name="localspec-watch", daemon=True)
                self._thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until all replies that are over have been judged, at most so long; whether they have."""
        with self._due:
            return self._due.wait_for(lambda: self._read_n >= self._ended_n or self._closed.is_set(), timeout_s)

    def close(self) -> None:
        """Judge no more."""
        with self._due:
            self._closed.set()
            self._due.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        while True:
            with self._due:
                self._due.wait_for(lambda: self._ended_n > self._read_n or self._closed.is_set())
                if self._closed.is_set():
                    return
                upto_n = self._ended_n
            told = self._catch_up()
            with self._due:
                self._read_n = upto_n
                self._due.notify_all()
            if told and not self._closed.is_set():
                self._ring()

    def _catch_up(self) -> bool:
        """Judge what has been put on record since; whether there is news."""
        try:
            return self._judge(self._store.runs(self._place, asked=RecordFilter(texts=True, settled=True)))
        except StoreError:
            return False  # the file is in use, or on its way out; the next reply tries again

    def _judge(self, runs: Iterable[ReplyRecord]) -> bool:
        told_n, watch = len(self._news), self._loaded()
        touched: set[tuple[str, str]] = set()
        for n, run in enumerate(runs, 1):
            if n % _SLICE_N == 0 and self._closed.wait(_REST_S):
                return False
            self._place = run.place
            self._days.add(run)
            for notice in watch.receive(run):
                if run.message in self._own:
                    self._news.append(notice_news(notice))
            if run.message in self._own:
                touched.add((BY["day"](run, None)[1], pair_of(run)))
        self._days.objectives = self.objectives
        if touched and self.objectives.any:
            self._tell_misses(touched)
        return len(self._news) > told_n

    def _loaded(self) -> DriftWatch:
        if self._watch is None:
            from localspec.insight.stats.drift_watch import DriftWatch

            self._watch = DriftWatch()
        return self._watch

    def _tell_misses(self, touched: set[tuple[str, str]]) -> None:
        """Once for each day, pair and objective."""
        for miss in self._days.misses():
            key = (miss.day, miss.pair, miss.objective)
            if key[:2] in touched and key not in self._missed:
                self._missed.add(key)
                self._news.append(miss_news(miss))


class _Watched:
    def __init__(self, watch: LiveWatch, message: str) -> None:
        self._watch = watch
        self._message = message

    def receive(self, event: EngineEvent) -> None:
        if isinstance(event, Finished):
            self._watch.ended(self._message)

    def fail(self, error: LocalSpecError) -> None:
        self._watch.ended(self._message)


def notice_news(notice: DriftNotice) -> News:
    """What a notice says to somebody who is in the middle of a chat."""
    return News(notice.text, f"{notice.change}; /stats says why.")


def miss_news(miss: Miss) -> News:
    """That an objective is missed on a day."""
    name, _, written = OBJECTIVES[miss.objective]
    was = f"{miss.pair}: {name} is {written(miss.was)} today, {wanted(miss)} is wanted"
    return News(f"{was} ({replies_said(miss.replies_n)}).", f"{was}.")
