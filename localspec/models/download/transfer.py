"""One file from the Hub into the cache, whatever happens on the way.

Goes on where the part ends, asks for the rest of the same content, starts over only if the server has other
content or the bytes turn out wrong, and installs nothing that does not hash to its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from localspec.base.errors import DownloadError
from localspec.models.download.content_range import begins_at
from localspec.models.download.context import DownloadContext
from localspec.models.download.events import Delayed, DownloadEvent, Fetched
from localspec.models.download.layout import CacheLayout
from localspec.models.download.locks import held
from localspec.models.download.partial_file import Part, is_strong
from localspec.models.download.refusals import TransientError
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.source import ByteSource

_MAX_WRONG = 3
"""How often a file may arrive whole and wrong."""
_MAX_RESTARTS = 5
"""How often a server may refuse to go on where it stopped."""


class Transfer:
    """Fetches one file; ``run`` it in a thread of its own.

    ``progress`` is called with the file, its bytes on the disk, and how many of them have just come over the network.
    """

    def __init__(
        self,
        remote: RemoteFile,
        around: DownloadContext,
        report: Callable[[DownloadEvent], None],
        progress: Callable[[RemoteFile, int, int], None],
    ) -> None:
        self.remote = remote
        self.around = around
        self.report = report
        self.progress = progress
        self._source = ByteSource(remote, around.hub)
        self._fetched = 0
        self._restarts = 0

    def run(self) -> Path:
        """Where the file is. Raises DownloadError, NotFoundError or Stopped; what has arrived stays."""
        layout = CacheLayout(self.around.cache, self.remote)
        layout.prepare()
        with self._locked(layout):
            if not layout.complete:
                with Part(layout, self.around.free_bytes) as part:
                    self._fill(part)
                    part.install()
            path = layout.publish()
        self.progress(self.remote, self.remote.size_bytes, 0)
        self.report(Fetched(self.remote.label, path, self.remote.size_bytes, self._fetched))
        return path

    @contextmanager
    def _locked(self, layout: CacheLayout) -> Iterator[None]:
        told = False

        def waiting() -> None:
            nonlocal told
            if not told:
                self.report(Delayed(self.remote.label, "another program is fetching it", 0.0))
                told = True
            self.around.check()

        with held(layout.lock, waiting):
            yield

    def _fill(self, part: Part) -> None:
        def proved() -> None:
            self.progress(self.remote, part.held, 0)
            self.around.check()

        part.prove_held(proved)
        for _ in range(_MAX_WRONG):
            if part.held < self.remote.size_bytes:
                self._fetch(part)
            if part.is_right():
                return
            part.start_over()
            self.progress(self.remote, 0, 0)
        raise DownloadError(
            f"{self.remote.label} arrives damaged: its sha256 is wrong, {_MAX_WRONG} times now.",
            "A proxy may be changing it; try again from another network.",
        )

    def _fetch(self, part: Part) -> None:
        """All that is missing, with a wait after each failure that may pass."""
        try:
            self.around.patiently(
                lambda: self._ask(part),
                arrived=lambda: part.held,
                attempts=self.around.retry.attempts,
                delayed=lambda error, wait_s: self.report(Delayed(self.remote.label, error.message, wait_s)),
                recover=self._source.renew,
            )
        except TransientError as error:
            error.hint += " What has arrived is kept." if part.held else ""
            raise

    def _ask(self, part: Part) -> None:
        """Ask for what is missing, and take it; returns when all of it is there."""
        source = self._source
        with source.request(_headers(part)) as response:
            self._accept(response, part)
            self._take(response, part)
        if part.held < self.remote.size_bytes:
            raise TransientError(f"{source.host} ended {self.remote.file} early.", "Try again later.")

    def _accept(self, response: httpx2.Response, part: Part) -> None:
        """Make the part fit the body that follows. Raises PassingError where none does."""
        status, host = response.status_code, self._source.host
        if status == 206 and part.held and begins_at(response, part.held, self.remote.size_bytes):
            return
        if status in (206, 416):
            # The server counts differently than we do: nothing that is here can be relied on.
            if not part.held:
                raise TransientError(f"{host} answers a plain request with a part.", "Try again later.")
            self._start_over(part, host)
            raise TransientError(f"{host} has another file than before.", "Try again; it starts over.")
        if part.held:
            self._start_over(part, host)
        self._fits(response, host)
        part.note(_strong(response.headers.get("etag")))

    def _start_over(self, part: Part, host: str) -> None:
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            raise DownloadError(
                f"{host} does not let {self.remote.file} go on where it stopped.",
                "Try again over a steadier connection, or set HF_ENDPOINT to another mirror.",
            )
        part.start_over()

    def _fits(self, response: httpx2.Response, host: str) -> None:
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) != self.remote.size_bytes:
            raise TransientError(
                f"{host} sends {int(length):,} bytes for {self.remote.file}, the Hub says {self.remote.size_bytes:,}.",
                "Run the command again; the file may just have changed.",
            )

    def _take(self, response: httpx2.Response, part: Part) -> None:
        for data in response.iter_raw():
            room = self.remote.size_bytes - part.held
            part.write(data[:room])
            self._fetched += len(data[:room])
            self.progress(self.remote, part.held, len(data))
            self.around.check()
            if len(data) > room:
                return  # more than there should be; the checksum will tell


def _headers(part: Part) -> dict[str, str]:
    """For the rest of the same content."""
    if not part.held:
        return {}
    return {"Range": f"bytes={part.held}-"} | ({"If-Range": part.validator} if part.validator else {})


def _strong(etag: str | None) -> str | None:
    return etag if etag and is_strong(etag) else None
