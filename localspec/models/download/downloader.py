"""Concurrent downloads of several files, with progress events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from time import monotonic

from localspec.base.amounts import amount
from localspec.base.errors import DownloadError
from localspec.models.download.context import DownloadContext, Stopped
from localspec.models.download.events import DownloadEvent, Progressed
from localspec.models.download.layout import CacheLayout
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.speed_meter import SpeedMeter
from localspec.models.download.transfer import Transfer
from localspec.models.pairs.free_space import reserve_bytes

_MAX_THREADS = 4
_STOP_S = 2.0
"""The longest that a stop waits for the threads; what they have received is on the disk."""


def check_space(files: Sequence[RemoteFile], cache: Path, free_bytes: Callable[[Path], int | None]) -> None:
    """Raise DownloadError, with the figures, unless the missing bytes of ``files`` fit on the disk."""
    missing = sum(remote.size_bytes - CacheLayout(cache, remote).held_bytes for remote in files)
    free, reserve = free_bytes(cache), reserve_bytes(cache)
    if missing and free is not None and missing + reserve > free:
        raise DownloadError(
            f"{amount(missing)} are to be downloaded, but {cache} has {amount(free)} free, "
            f"of which {amount(reserve)} are reserved for other programs.",
            "Free some space, or set HF_HOME to a folder on another disk.",
        )


def download(
    files: Sequence[RemoteFile], context: DownloadContext, *, clock: Callable[[], float] = monotonic
) -> Generator[DownloadEvent, None, None]:
    """Download files concurrently and yield events. Closing the iterator stops; partial files stay.

    Raises the first error of any file, after the other downloads have stopped. Setting ``context.stop`` from any thread
    stops too. It is set at the end, so each download needs a context of its own.
    """
    files = list({(remote.repo, remote.file, remote.commit): remote for remote in files}.values())
    check_space(files, context.cache, context.free_bytes)
    workers = _Workers(files, context, clock)
    try:
        yield from workers.events()
    finally:
        workers.stop()


class _Workers:
    """The download threads, and the queue of their events."""

    def __init__(self, files: Sequence[RemoteFile], context: DownloadContext, clock: Callable[[], float]) -> None:
        self._context = context
        self._waiting = list(files)
        self._lock = threading.Lock()
        self._reports: SimpleQueue[DownloadEvent | BaseException | None] = SimpleQueue()
        """Events, and the end of each thread: None, or the error that ended it."""
        self._meter = SpeedMeter(sum(remote.size_bytes for remote in files), clock)
        for remote in files:
            self._meter.at(_key(remote), CacheLayout(context.cache, remote).held_bytes)
        self._threads = [
            # Daemons: a thread that waits for a silent server must not keep the program from ending.
            threading.Thread(target=self._work, name=f"localspec-download-{number}", daemon=True)
            for number in range(min(_MAX_THREADS, len(files)))
        ]

    def events(self) -> Iterator[DownloadEvent]:
        for thread in self._threads:
            thread.start()
        running = len(self._threads)
        while running:
            report = self._reports.get()
            if report is None or isinstance(report, Stopped):
                running -= 1
            elif isinstance(report, BaseException):
                raise report
            else:
                yield report

    def stop(self) -> None:
        self._context.stop.set()
        until = monotonic() + _STOP_S
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - monotonic()))

    def _work(self) -> None:
        try:
            while (remote := self._next()) is not None:
                Transfer(remote, self._context, self._reports.put, self._progress).run()
            self._reports.put(None)
        except BaseException as error:  # noqa: BLE001 -- it is raised again where the events are read
            self._reports.put(error)

    def _next(self) -> RemoteFile | None:
        with self._lock:
            return self._waiting.pop(0) if self._waiting and not self._context.stop.is_set() else None

    def _progress(self, remote: RemoteFile, held: int, arrived: int) -> None:
        with self._lock:
            meter = self._meter
            meter.at(_key(remote), held, arrived)
            if held == remote.size_bytes or meter.is_due(_key(remote)):
                self._reports.put(
                    Progressed(
                        remote.label,
                        held,
                        remote.size_bytes,
                        meter.done_bytes,
                        meter.total_bytes,
                        meter.bytes_per_second,
                        meter.seconds_left,
                    )
                )


def _key(remote: RemoteFile) -> str:
    """A name for a file at its commit: two revisions of it may be downloaded together."""
    return f"{remote.label}@{remote.commit}"
