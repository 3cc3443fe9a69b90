"""Downloads of pairs side by side: each in a thread, each with one newest word to say about it.

The downloader tells more than anyone can look at; only what it said last is kept, so that the screen's work
does not grow with the speed of the line.
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
"""Fetches what is missing of a pair, and yields what happens; the event ends it early. Raises LocalSpecError."""


class Stage(StrEnum):
    """How far a download is."""

    PROVING = "reading the headers"
    FETCHING = "fetching"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Download:
    """What there is to say about a download at this moment."""

    pair_id: str
    title: str
    stage: Stage = Stage.PROVING
    progress: Progressed | None = None
    """What was told last of how much is here."""
    delay: Delayed | None = None
    """Why nothing arrives; None while something does."""
    error: LocalSpecError | None = None

    @property
    def active(self) -> bool:
        return self.stage in (Stage.PROVING, Stage.FETCHING)

    @property
    def farewell(self) -> str:
        """The sentence for the terminal where it ends with the app."""
        at = f" at {self.percent}" if self.percent else ""
        return f"The download of {self.title} stopped{at}; `localspec pairs pull {self.pair_id}` goes on with it."

    @property
    def percent(self) -> str:
        """How much of it is here, never a whole too early; empty while that is unknown."""
        return "" if self.progress is None else f"{int(download_words.fraction(self.progress) * 100)} %"

    @property
    def line(self) -> str:
        """All of it in some words, without the pair's name."""
        if self.stage is Stage.FAILED and self.error is not None:
            return self.error.message
        if self.stage is Stage.STOPPED:
            return f"stopped at {self.percent}" if self.percent else "stopped"
        if self.delay is not None:
            return download_words.delay(self.delay)
        if self.progress is None:
            return str(self.stage)
        return ", ".join(filter(None, (self.percent, download_words.pace(self.progress))))

    def told(self, event: DownloadEvent) -> Download:
        """As it is after an event."""
        from localspec.models.download.events import Delayed, Progressed

        match event:
            case Progressed():
                return replace(self, stage=Stage.FETCHING, progress=event, delay=None)
            case Delayed():
                return replace(self, delay=event)
            case _:
                return replace(self, stage=Stage.FETCHING, delay=None)


class _Job:
    """One download and its thread; once it is stopped, nothing its thread says counts."""

    def __init__(self, download: Download) -> None:
        self.now = download
        self.stop = threading.Event()
        self._over = False
        self._lock = threading.Lock()

    def tell(self, event: DownloadEvent) -> bool:
        """Whether the download goes on."""
        with self._lock:
            if not self._over:
                self.now = self.now.told(event)
            return not self._over

    def end(self, stage: Stage, error: LocalSpecError | None = None) -> bool:
        """Whether it had not ended before."""
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
        self._jobs: dict[str, _Job] = {}
        self._told: set[str] = set()

    def get(self, pair_id: str) -> Download | None:
        """The latest download of a pair, if there was one."""
        job = self._jobs.get(pair_id)
        return job.now if job else None

    @property
    def active(self) -> list[Download]:
        """Those under way, oldest first."""
        return [job.now for job in self._jobs.values() if job.now.active]

    def start(self, pair_id: str, title: str) -> None:
        """Begin, or go on where it stopped; nothing if it is under way."""
        known = self.get(pair_id)
        if known is not None and known.active:
            return
        self._jobs.pop(pair_id, None)
        job = self._jobs[pair_id] = _Job(Download(pair_id, title))
        self._told.discard(pair_id)
        self._spawn(lambda: self._run(job))
        self._changed()

    def stop(self, pair_id: str) -> bool:
        """End it and keep what has arrived; whether there was anything to end."""
        job = self._jobs.get(pair_id)
        stopped = job is not None and job.end(Stage.STOPPED)
        if stopped:
            self._changed()
        return stopped

    def close(self) -> None:
        """End all of them without waiting; whatever has arrived is on the disk."""
        for job in self._jobs.values():
            job.end(Stage.STOPPED)

    def take_ended(self) -> list[Download]:
        """Those that have come to an end since this was last asked."""
        ended = [job.now for job in self._jobs.values() if not job.now.active and job.now.pair_id not in self._told]
        self._told.update(download.pair_id for download in ended)
        return ended

    def _run(self, job: _Job) -> None:
        """In the job's own thread."""
        try:
            with closing(self._fetch(job.now.pair_id, job.stop)) as events:
                for event in events:
                    if not job.tell(event):
                        return
                    self._changed()
        except LocalSpecError as error:
            job.end(Stage.FAILED, error)
        except Exception as error:  # noqa: BLE001 -- a thread has nobody else to tell
            what = LocalSpecError(f"The download broke off: {error!r}.", "Try again; what has arrived is kept.")
            job.end(Stage.FAILED, what)
        else:
            job.end(Stage.DONE)
        self._changed()
