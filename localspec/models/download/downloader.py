"""Several files at once, and what is told about it."""

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

_AT_ONCE = 4
_SETTLE_S = 2.0
"""How long a stop waits for the threads; all they have received is on the disk by then."""


def check_space(files: Sequence[RemoteFile], cache: Path, free_bytes: Callable[[Path], int | None]) -> None:
    """Raise DownloadError, with the figures, unless what is missing of ``files`` fits on the disk."""
    missing = sum(remote.size_bytes - CacheLayout(cache, remote).held_bytes for remote in files)
    free, reserve = free_bytes(cache), reserve_bytes(cache)
    if missing and free is not None and missing + reserve > free:
        raise DownloadError(
            f"{amount(missing)} are to be fetched, and {cache} has {amount(free)} free, "
            f"of which {amount(reserve)} are left to other programs.",
            "Free some space, or set HF_HOME to a folder on another disk.",
        )


def download(
    files: Sequence[RemoteFile], around: DownloadContext, *, clock: Callable[[], float] = monotonic
) -> Generator[DownloadEvent, None, None]:
    """Fetch files side by side, and yield what happens; closing the iterator stops, and keeps what has arrived.

    Raises the first error of any file, after the others have been stopped. Setting ``around.stop`` from any thread
    ends it too; it is set in the end, so every download needs surroundings of its own.
    """
    files = list({(remote.repo, remote.file, remote.commit): remote for remote in files}.values())
    check_space(files, around.cache, around.free_bytes)
    team = _Team(files, around, clock)
    try:
        yield from team.events()
    finally:
        team.stop()


class _Team:
    """The threads, and the queue they report into."""

    def __init__(self, files: Sequence[RemoteFile], around: DownloadContext, clock: Callable[[], float]) -> None:
        self._around = around
        self._waiting = list(files)
        self._lock = threading.Lock()
        self._reports: SimpleQueue[DownloadEvent | _Left] = SimpleQueue()
        self._meter = SpeedMeter(sum(remote.size_bytes for remote in files), clock)
        for remote in files:
            self._meter.at(_key(remote), CacheLayout(around.cache, remote).held_bytes)
        self._threads = [
            # Daemons: a thread that waits for a silent server must not keep the program from ending.
            threading.Thread(target=self._work, name=f"localspec-download-{number}", daemon=True)
            for number in range(min(_AT_ONCE, len(files)))
        ]

    def events(self) -> Iterator[DownloadEvent]:
        for thread in self._threads:
            thread.start()
        running = len(self._threads)
        while running:
            report = self._reports.get()
            if not isinstance(report, _Left):
                yield report
                continue
            running -= 1
            if report.error is not None and not isinstance(report.error, Stopped):
                raise report.error

    def stop(self) -> None:
        self._around.stop.set()
        until = monotonic() + _SETTLE_S
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - monotonic()))

    def _work(self) -> None:
        try:
            while (remote := self._next()) is not None:
                Transfer(remote, self._around, self._reports.put, self._progress).run()
        except BaseException as error:  # noqa: BLE001 -- it is raised again where the events are read
            self._reports.put(_Left(error))
        else:
            self._reports.put(_Left())

    def _next(self) -> RemoteFile | None:
        with self._lock:
            return self._waiting.pop(0) if self._waiting and not self._around.stop.is_set() else None

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
    """Of one file there may be several revisions on the way."""
    return f"{remote.label}@{remote.commit}"


class _Left:
    """A thread has nothing more to do; ``error`` is why it gave up."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
