"""The download of one file from the Hub into the cache, resumed after every interruption.

It continues where the partial file ends, with the rest of the same content. It starts over only if the server has other
content or the bytes are wrong, and installs nothing whose checksum is not its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from filelock import FileLock

from localspec.base.errors import OWN_CACHE, DownloadError, refused
from localspec.models.download.context import DownloadContext
from localspec.models.download.events import Delayed, DownloadEvent, Fetched
from localspec.models.download.layout import CacheLayout
from localspec.models.download.partial_file import PartialFile, is_strong
from localspec.models.download.refusals import TransientError
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.source import ByteSource, begins_at

_POLL_S = 0.25
_MAX_WRONG = 3
"""Complete downloads with a wrong checksum before giving up."""
_MAX_RESTARTS = 5
"""Refusals of a server to resume before giving up."""


class Transfer:
    """Downloads one file; ``run`` it in a thread of its own.

    ``progress`` is called with the file, its bytes on the disk, and the bytes that just came over the network.
    """

    def __init__(
        self,
        remote: RemoteFile,
        context: DownloadContext,
        report: Callable[[DownloadEvent], None],
        progress: Callable[[RemoteFile, int, int], None],
    ) -> None:
        self.remote = remote
        self.context = context
        self.report = report
        self.progress = progress
        self._source = ByteSource(remote, context.hub)
        self._fetched = 0
        self._restarts = 0

    def run(self) -> Path:
        """Download the file and return its path. Raises DownloadError, NotFoundError or Stopped; partial files stay."""
        layout = CacheLayout(self.context.cache, self.remote)
        layout.prepare()
        with self._locked(layout):
            if not layout.complete:
                with PartialFile(layout, self.context.free_bytes) as part:
                    self._fill(part)
                    part.install()
            path = layout.publish()
        self.progress(self.remote, self.remote.size_bytes, 0)
        self.report(Fetched(self.remote.label, path, self.remote.size_bytes, self._fetched))
        return path

    @contextmanager
    def _locked(self, layout: CacheLayout) -> Iterator[None]:
        reported = False

        def waiting() -> None:
            nonlocal reported
            if not reported:
                self.report(Delayed(self.remote.label, "another program is downloading it", 0.0))
                reported = True
            self.context.check()

        with download_lock(layout.lock, waiting):
            yield

    def _fill(self, part: PartialFile) -> None:
        def hashed() -> None:
            self.progress(self.remote, part.held, 0)
            self.context.check()

        part.hash_held(hashed)
        for _ in range(_MAX_WRONG):
            if part.held < self.remote.size_bytes:
                self._fetch(part)
            if part.is_verified():
                return
            part.start_over()
            self.progress(self.remote, 0, 0)
        raise DownloadError(
            f"{self.remote.label} arrives damaged: its checksum was wrong {_MAX_WRONG} times.",
            "A proxy may be changing it; try again from another network.",
        )

    def _fetch(self, part: PartialFile) -> None:
        """Fetch all missing bytes, with a wait after each TransientError."""
        try:
            self.context.with_retries(
                lambda: self._request(part),
                arrived=lambda: part.held,
                attempts=self.context.retry.attempts,
                delayed=lambda error, wait_s: self.report(Delayed(self.remote.label, error.message, wait_s)),
                recover=self._source.renew,
            )
        except TransientError as error:
            error.hint += " What has arrived is kept." if part.held else ""
            raise

    def _request(self, part: PartialFile) -> None:
        """Request the missing bytes and write them. Raises TransientError if some are still missing."""
        source = self._source
        with source.request(_headers(part)) as response:
            self._accept(response, part)
            self._take(response, part)
        if part.held < self.remote.size_bytes:
            raise TransientError(f"{source.host} ended {self.remote.file} early.", "Try again later.")

    def _accept(self, response: httpx2.Response, part: PartialFile) -> None:
        """Prepare the partial file for the body of a response. Raises TransientError for an unusable response."""
        status, host = response.status_code, self._source.host
        if status == 206 and part.held and begins_at(response, part.held, self.remote.size_bytes):
            return
        if status in (206, 416):
            # The server has another size or range than expected: the partial file cannot be trusted.
            if not part.held:
                raise TransientError(f"{host} answers a request for the whole file with a part.", "Try again later.")
            self._start_over(part, host)
            raise TransientError(f"{host} has a different file than before.", "Try again; it starts over.")
        if part.held:
            self._start_over(part, host)
        self._check_length(response, host)
        part.note(_strong(response.headers.get("etag")))

    def _start_over(self, part: PartialFile, host: str) -> None:
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            raise DownloadError(
                f"{host} does not resume {self.remote.file} where it stopped.",
                "Try again over a steadier connection, or set HF_ENDPOINT to another mirror.",
            )
        part.start_over()

    def _check_length(self, response: httpx2.Response, host: str) -> None:
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) != self.remote.size_bytes:
            raise TransientError(
                f"{host} sends {int(length):,} bytes for {self.remote.file}, the Hub says {self.remote.size_bytes:,}.",
                "Run the command again; the file may just have changed.",
            )

    def _take(self, response: httpx2.Response, part: PartialFile) -> None:
        for data in response.iter_raw():
            room = self.remote.size_bytes - part.held
            part.write(data[:room])
            self._fetched += len(data[:room])
            self.progress(self.remote, part.held, len(data))
            self.context.check()
            if len(data) > room:
                return  # more than there should be; the checksum decides


@contextmanager
def download_lock(lock_file: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock that the Hub's own client takes too. ``waiting`` is called while another holds it, and may raise.

    The system drops the lock when its holder dies. Raises DownloadError if the lock cannot be taken.
    """
    lock = FileLock(lock_file, timeout=_POLL_S, mode=0o664, thread_local=False)
    while True:
        try:
            lock.acquire()
            break
        except TimeoutError:
            waiting()
        except OSError as error:
            raise DownloadError(*refused(f"The lock {lock_file} cannot be taken", error, OWN_CACHE)) from error
    try:
        yield
    finally:
        lock.release()


def _headers(part: PartialFile) -> dict[str, str]:
    """The headers that request the rest of the same content."""
    if not part.held:
        return {}
    return {"Range": f"bytes={part.held}-"} | ({"If-Range": part.validator} if part.validator else {})


def _strong(etag: str | None) -> str | None:
    return etag if etag and is_strong(etag) else None
