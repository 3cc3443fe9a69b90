"""The queue of downloads: one pair after the other, each in a thread and with its latest state.

Only the latest event is kept, so that the work of the screen does not grow with the speed of the network.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError
from localspec.chat.pairs import download_words
from localspec.chat.pairs.background import Spawn, failure, in_thread

if TYPE_CHECKING:
    from localspec.models.download.events import Delayed, DownloadEvent, Progressed
    from localspec.models.download.queue_file import QueuedDownload

Fetch = Callable[[str, threading.Event], "Generator[DownloadEvent, None, None]"]
"""Downloads the missing files of a pair and yields events; setting the Event stops it. Raises LocalSpecError."""
Keep = Callable[["Sequence[QueuedDownload]"], None]
"""Writes the queue to the disk; called in a thread of its own."""


class Stage(StrEnum):
    """The stage of a download."""

    WAITING = "waiting"
    PROVING = "reading the headers"
    FETCHING = "fetching"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Download:
    """The state of a download at a moment."""

    pair_id: str
    title: str
    stage: Stage = Stage.WAITING
    progress: Progressed | None = None
    """The latest progress."""
    delay: Delayed | None = None
    """The reason why nothing arrives; None while something does."""
    error: LocalSpecError | None = None

    @property
    def active(self) -> bool:
        return self.stage in (Stage.PROVING, Stage.FETCHING)

    @property
    def pending(self) -> bool:
        """True if it runs or waits for its turn."""
        return self.active or self.stage is Stage.WAITING

    @property
    def stopped_notice(self) -> str:
        """The sentence printed on the terminal if the download stops with the app."""
        at = f" at {self.percent}" if self.percent else ""
        return (
            f"The download of {self.title} stopped{at}; it goes on at the next start, "
            f"or with `localspec pairs pull {self.pair_id}`."
        )

    @property
    def percent(self) -> str:
        """The arrived percentage, rounded down; empty while unknown."""
        return "" if self.progress is None else f"{int(download_words.fraction(self.progress) * 100)} %"

    @property
    def line(self) -> str:
        """The state in a few words, without the pair's name."""
        if self.stage is Stage.FAILED and self.error is not None:
            return self.error.message
        if self.stage in (Stage.PAUSED, Stage.WAITING):
            return f"{self.stage} at {self.percent}" if self.percent else str(self.stage)
        if self.delay is not None:
            return download_words.delay(self.delay)
        if self.progress is None:
            return str(self.stage)
        return ", ".join(filter(None, (self.percent, download_words.pace(self.progress))))

    def after(self, event: DownloadEvent) -> Download:
        """The state after an event."""
        from localspec.models.download.events import Delayed, Progressed

        match event:
            case Progressed():
                return replace(self, stage=Stage.FETCHING, progress=event, delay=None)
            case Delayed():
                return replace(self, delay=event)
            case _:
                return replace(self, stage=Stage.FETCHING, delay=None)


class _DownloadJob:
    """One download and its thread, whose events are ignored after its end."""

    def __init__(self, download: Download) -> None:
        self.now = download
        self.stop = threading.Event()
        self._over = False
        self._lock = threading.Lock()

    def tell(self, event: DownloadEvent) -> bool:
        """Record an event; False if the download has ended."""
        with self._lock:
            if not self._over:
                self.now = self.now.after(event)
            return not self._over

    def end(self, stage: Stage, error: LocalSpecError | None = None) -> bool:
        """End the download; False if it had ended before."""
        with self._lock:
            first, self._over = not self._over, True
            if first:
                self.now = replace(self.now, stage=stage, error=error, delay=None)
        self.stop.set()
        return first


class Downloads:
    """The queue: of those that are neither paused nor failed the first is running, and the others wait.

    ``changed`` is called from any thread, ``keep`` with the queue after every change of it.
    """

    def __init__(
        self,
        fetch: Fetch,
        changed: Callable[[], object],
        spawn: Spawn = in_thread,
        keep: Keep = lambda queue: None,
    ) -> None:
        self._fetch = fetch
        self._changed = changed
        self._spawn = spawn
        self._keep = keep
        self._jobs: dict[str, _DownloadJob] = {}
        """The downloads in their order; finished ones stay, so that their end can be reported."""
        self._running: _DownloadJob | None = None
        self._reported: set[str] = set()
        self._lock = threading.RLock()
        self._keeping = threading.Lock()
        self._closed = False

    def get(self, pair_id: str) -> Download | None:
        """The latest download of a pair; None if there was none."""
        job = self._jobs.get(pair_id)
        return job.now if job else None

    @property
    def all(self) -> list[Download]:
        """Every download of this start, also those that are done."""
        with self._lock:
            return [job.now for job in self._jobs.values()]

    @property
    def queue(self) -> list[Download]:
        """The downloads that are not done, in their order."""
        return [download for download in self.all if download.stage is not Stage.DONE]

    @property
    def pending(self) -> list[Download]:
        """The running download and those that wait for their turn."""
        return [download for download in self.queue if download.pending]

    def start(self, pair_id: str, title: str) -> None:
        """Put a download at the end of the queue, or resume it at its place; do nothing if it is pending."""
        with self._lock:
            known = self._jobs.get(pair_id)
            if known is not None and known.now.pending:
                return
            if known is not None and known.now.stage is Stage.DONE:
                del self._jobs[pair_id]
            progress = known.now.progress if known else None
            self._jobs[pair_id] = _DownloadJob(Download(pair_id, title, progress=progress))
            self._reported.discard(pair_id)
        self._arrange()

    def resume(self, queue: Sequence[QueuedDownload]) -> None:
        """Go on with the queue of an earlier start, before those that were asked for since."""
        with self._lock:
            earlier = {
                each.pair_id: _DownloadJob(
                    Download(each.pair_id, each.title, Stage.PAUSED if each.paused else Stage.WAITING)
                )
                for each in queue
            }
            self._jobs = earlier | self._jobs
            self._reported.update(each.pair_id for each in queue if each.paused)
        self._arrange()

    def stop(self, pair_id: str) -> bool:
        """Pause a download, keeping its partial files; False if it was not pending."""
        with self._lock:
            job = self._jobs.get(pair_id)
            stopped = job is not None and job.end(Stage.PAUSED)
        if stopped:
            self._arrange()
        return stopped

    def take_out(self, pair_id: str) -> bool:
        """Take a download out of the queue, keeping its partial files; False if it was not in it."""
        with self._lock:
            job = self._jobs.get(pair_id)
            if job is None or job.now.stage is Stage.DONE:
                return False
            job.end(Stage.PAUSED)
            del self._jobs[pair_id]
        self._arrange()
        return True

    def move(self, pair_id: str, step: int) -> None:
        """Move a download by so many places in the queue; the one that is first then runs."""
        with self._lock:
            order = [download.pair_id for download in self.queue]
            if pair_id not in order:
                return
            at = max(0, min(len(order) - 1, order.index(pair_id) + step))
            order.remove(pair_id)
            order.insert(at, pair_id)
            done = {each: job for each, job in self._jobs.items() if each not in order}
            self._jobs = done | {each: self._jobs[each] for each in order}
        self._arrange()

    def close(self) -> None:
        """Stop without waiting; partial files stay on the disk, and the queue for the next start."""
        self._write()
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                job.end(Stage.PAUSED)

    def take_ended(self) -> list[Download]:
        """Return the downloads that have ended since the last call."""
        with self._lock:
            ended = [
                job.now for job in self._jobs.values() if not job.now.pending and job.now.pair_id not in self._reported
            ]
            self._reported.update(download.pair_id for download in ended)
        return ended

    def _arrange(self) -> None:
        """Run the first that may run, in place of any other, and keep the order."""
        with self._lock:
            first = next((job for job in self._jobs.values() if job.now.pending), None)
            if first is not None and not first.now.active and not self._closed:
                self._give_way()
                first.now = replace(first.now, stage=Stage.PROVING)
                self._running = first
                self._spawn(lambda: self._run(first))
        self._spawn(self._write)
        self._changed()

    def _give_way(self) -> None:
        """Have the running download wait again."""
        running = self._running
        if running is not None and running.now.active and running.end(Stage.WAITING):
            self._jobs[running.now.pair_id] = _DownloadJob(running.now)

    def _write(self) -> None:
        """Keep the queue as it is now; the last to write has the latest."""
        from localspec.models.download.queue_file import QueuedDownload

        with self._keeping:
            if not self._closed:
                self._keep(
                    [QueuedDownload(each.pair_id, each.title, each.stage is Stage.PAUSED) for each in self.queue]
                )

    def _run(self, job: _DownloadJob) -> None:
        """Run a download, in a thread of its own, and then the next."""
        try:
            with closing(self._fetch(job.now.pair_id, job.stop)) as events:
                for event in events:
                    if not job.tell(event):
                        return
                    self._changed()
        except Exception as error:  # noqa: BLE001 -- nothing else would report an error of a thread
            told = failure(error, "The download failed", "Try again; what has arrived is kept.")
            ended = job.end(Stage.FAILED, told)
        else:
            ended = job.end(Stage.DONE)
        if ended:
            self._arrange()
