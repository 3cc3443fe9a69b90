"""Concurrent downloads of pairs, each in a thread and with its latest state.

Only the latest event is kept, so that the work of the screen does not grow with the speed of the network.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError
from localspec.chat.pairs import download_words
from localspec.chat.pairs.background import Spawn, in_thread

if TYPE_CHECKING:
    from localspec.models.download.events import Delayed, DownloadEvent, Progressed

Fetch = Callable[[str, threading.Event], "Generator[DownloadEvent, None, None]"]
"""Downloads the missing files of a pair and yields events; setting the Event stops it. Raises LocalSpecError."""


class Stage(StrEnum):
    """The stage of a download."""

    PROVING = "reading the headers"
    FETCHING = "fetching"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Download:
    """The state of a download at a moment."""

    pair_id: str
    title: str
    stage: Stage = Stage.PROVING
    progress: Progressed | None = None
    """The latest progress."""
    delay: Delayed | None = None
    """The reason why nothing arrives; None while something does."""
    error: LocalSpecError | None = None

    @property
    def active(self) -> bool:
        return self.stage in (Stage.PROVING, Stage.FETCHING)

    @property
    def stopped_notice(self) -> str:
        """The sentence printed on the terminal if the download stops with the app."""
        at = f" at {self.percent}" if self.percent else ""
        return f"The download of {self.title} stopped{at}; `localspec pairs pull {self.pair_id}` goes on with it."

    @property
    def percent(self) -> str:
        """The arrived percentage, rounded down; empty while unknown."""
        return "" if self.progress is None else f"{int(download_words.fraction(self.progress) * 100)} %"

    @property
    def line(self) -> str:
        """The state in a few words, without the pair's name."""
        if self.stage is Stage.FAILED and self.error is not None:
            return self.error.message
        if self.stage is Stage.STOPPED:
            return f"stopped at {self.percent}" if self.percent else "stopped"
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
    """One download and its thread, whose events are ignored after a stop."""

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
    """Belongs to the screen's thread; ``changed`` is called from any."""

    def __init__(self, fetch: Fetch, changed: Callable[[], object], spawn: Spawn = in_thread) -> None:
        self._fetch = fetch
        self._changed = changed
        self._spawn = spawn
        self._jobs: dict[str, _DownloadJob] = {}
        self._reported: set[str] = set()

    def get(self, pair_id: str) -> Download | None:
        """The latest download of a pair; None if there was none."""
        job = self._jobs.get(pair_id)
        return job.now if job else None

    @property
    def active(self) -> list[Download]:
        """The running downloads, oldest first."""
        return [job.now for job in self._jobs.values() if job.now.active]

    def start(self, pair_id: str, title: str) -> None:
        """Begin or resume a download; do nothing if it is running."""
        known = self.get(pair_id)
        if known is not None and known.active:
            return
        self._jobs.pop(pair_id, None)
        job = self._jobs[pair_id] = _DownloadJob(Download(pair_id, title))
        self._reported.discard(pair_id)
        self._spawn(lambda: self._run(job))
        self._changed()

    def stop(self, pair_id: str) -> bool:
        """Stop a download, keeping its partial files; False if it was not running."""
        job = self._jobs.get(pair_id)
        stopped = job is not None and job.end(Stage.STOPPED)
        if stopped:
            self._changed()
        return stopped

    def close(self) -> None:
        """Stop all downloads without waiting; partial files stay on the disk."""
        for job in self._jobs.values():
            job.end(Stage.STOPPED)

    def take_ended(self) -> list[Download]:
        """Return the downloads that have ended since the last call."""
        ended = [job.now for job in self._jobs.values() if not job.now.active and job.now.pair_id not in self._reported]
        self._reported.update(download.pair_id for download in ended)
        return ended

    def _run(self, job: _DownloadJob) -> None:
        """Run a download, in a thread of its own."""
        try:
            with closing(self._fetch(job.now.pair_id, job.stop)) as events:
                for event in events:
                    if not job.tell(event):
                        return
                    self._changed()
        except LocalSpecError as error:
            job.end(Stage.FAILED, error)
        except Exception as error:  # noqa: BLE001 -- nothing else would report an error of a thread
            failure = LocalSpecError(f"The download failed: {error!r}.", "Try again; what has arrived is kept.")
            job.end(Stage.FAILED, failure)
        else:
            job.end(Stage.DONE)
        self._changed()
