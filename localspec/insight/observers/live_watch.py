"""The observer that watches for drift: after each stored reply it checks whether the pair has become worse.

It reads the store as ``localspec stats --watch`` does, so that both give the same notices. Its thread starts with the
end of the first reply and pauses between slices, so that it never delays a reply.
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
from localspec.insight.stats.wording import OBJECTIVES, replies_text, wanted
from localspec.store import RecordFilter, ReplyMetadata, ReplyRecord, Store

if TYPE_CHECKING:
    from localspec.insight.stats.drift_watch import DriftNotice, DriftWatch

_SLICE_N = 25
"""The number of replies between pauses, about 5 ms."""
_REST_S = 0.01


class LiveWatch:
    """Watches the replies of one store. Close it before the store."""

    def __init__(self, store: Store, objectives: Objectives | None = None) -> None:
        self.objectives = objectives or Objectives()
        """The objectives from now on."""
        self._store = store
        self._on_news: Callable[[], object] = lambda: None
        self._watch: DriftWatch | None = None
        """Created, with the import of numpy, when there is something to judge."""
        self._days = ObjectiveWatch(self.objectives)
        self._place = 0
        self._own: set[str] = set()
        """Ids of messages whose replies were made here; only about these there is news."""
        self._missed: set[tuple[str, str, str]] = set()
        self._news: deque[News] = deque()
        self._closed = Event()
        self._due = Condition()
        self._ended_n = self._read_n = 0
        self._thread: Thread | None = None

    def listen(self, on_news: Callable[[], object]) -> None:
        """Call ``on_news``, from the reading thread, when there is news."""
        self._on_news = on_news

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return _Watched(self, message)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        if wait_s:
            self.wait(wait_s)
        return [self._news.popleft() for _ in range(len(self._news))]

    def ended(self, message: str) -> None:
        """Note that the reply of a message has ended and is stored."""
        with self._due:
            self._own.add(message)
            self._ended_n += 1
            self._due.notify_all()
            if self._thread is None and not self._closed.is_set():
                self._thread = Thread(target=self._serve, name="localspec-watch", daemon=True)
                self._thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until all ended replies are judged; False after a timeout."""
        with self._due:
            return self._due.wait_for(lambda: self._read_n >= self._ended_n or self._closed.is_set(), timeout_s)

    def close(self) -> None:
        """Stop judging."""
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
            has_news = self._catch_up()
            with self._due:
                self._read_n = upto_n
                self._due.notify_all()
            if has_news and not self._closed.is_set():
                self._on_news()

    def _catch_up(self) -> bool:
        """Judge the new records; True if there is news."""
        try:
            return self._judge(self._store.runs(self._place, where=RecordFilter(texts=True, settled=True)))
        except StoreError:
            return False  # the file is in use or closing; the next reply tries again

    def _judge(self, runs: Iterable[ReplyRecord]) -> bool:
        news_n, watch = len(self._news), self._loaded()
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
        return len(self._news) > news_n

    def _loaded(self) -> DriftWatch:
        if self._watch is None:
            from localspec.insight.stats.drift_watch import DriftWatch

            self._watch = DriftWatch()
        return self._watch

    def _tell_misses(self, touched: set[tuple[str, str]]) -> None:
        """Report missed objectives, once for each day, pair and objective."""
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
    """The news about a drift notice, for a chat."""
    return News(notice.text, f"{notice.change}; /stats says why.")


def miss_news(miss: Miss) -> News:
    """The news about a missed objective."""
    name, _, written = OBJECTIVES[miss.objective]
    was = f"{miss.pair}: {name} is {written(miss.was)} today, {wanted(miss)} is wanted"
    return News(f"{was} ({replies_text(miss.replies_n)}).", f"{was}.")
