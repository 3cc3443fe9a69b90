"""One file from the Hub into the cache, whatever happens on the way.

Goes on where the part ends, asks for the rest of the same content, starts over only if the server has other
content or the bytes turn out wrong, and installs nothing that does not hash to its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from localspec.download.content_range import begins_at
from localspec.download.events import Delayed, DownloadEvent, Fetched
from localspec.download.layout import Layout
from localspec.download.locks import held
from localspec.download.part import Part, is_strong
from localspec.download.refusals import PassingError, refused_status, unreachable
from localspec.download.remote_file import RemoteFile
from localspec.download.surroundings import Surroundings
from localspec.errors import DownloadError

_MAX_WRONG = 3
"""How often a file may arrive whole and wrong."""
_MAX_RESTARTS = 5
"""How often a server may refuse to go on where it stopped."""


@dataclass(slots=True)
class Transfer:
    """Fetches one file; ``run`` it in a thread of its own."""

    remote: RemoteFile
    around: Surroundings
    report: Callable[[DownloadEvent], None]
    progress: Callable[[RemoteFile, int, int], None]
    """Called with the file, its bytes on the disk, and how many of them have just come over the network."""
    _fetched: int = 0
    _failures: int = 0
    _restarts: int = 0

    def run(self) -> Path:
        """Where the file is. Raises DownloadError, NotFoundError or Stopped; what has arrived stays."""
        layout = Layout(self.around.cache, self.remote)
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
    def _locked(self, layout: Layout) -> Iterator[None]:
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
            while part.held < self.remote.size_bytes:
                self._attempt(part)
            if part.is_right():
                return
            part.start_over()
            self.progress(self.remote, 0, 0)
        raise DownloadError(
            f"{self.remote.label} arrives damaged: its sha256 is wrong, {_MAX_WRONG} times now.",
            "A proxy may be changing it; try again from another network.",
        )

    def _attempt(self, part: Part) -> None:
        """Ask once for what is missing; after a failure that may pass, wait."""
        held_before = part.held
        try:
            self._ask(part)
        except PassingError as error:
            self._failures = 1 if part.held > held_before else self._failures + 1
            wait_s = self.around.retry.wait_s(self._failures, error.asked_s)
            if wait_s is None:
                raise
            self.report(Delayed(self.remote.label, error.message, wait_s))
            self.around.pause(wait_s)
            self._renew()

    def _ask(self, part: Part) -> None:
        url = self.remote.url
        host = httpx2.URL(url).host
        try:
            with self.around.hub.client.stream("GET", url, headers=self._headers(part, url)) as response:
                if self._accept(response, part, host):
                    self._take(response, part)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            raise unreachable(error, host) from error
        if part.held < self.remote.size_bytes and response.is_success:
            raise PassingError(f"{host} ended {self.remote.file} early.", "Try again; what has arrived is kept.")

    def _headers(self, part: Part, url: str) -> dict[str, str]:
        headers = self.around.hub.headers_for(url)
        if part.held:
            headers["Range"] = f"bytes={part.held}-"
            if part.validator:
                headers["If-Range"] = part.validator
        return headers

    def _accept(self, response: httpx2.Response, part: Part, host: str) -> bool:
        """Whether the body is the rest of the file; the part is made to fit it."""
        status = response.status_code
        if status == 206 and part.held and begins_at(response, part.held, self.remote.size_bytes):
            return True
        if status in (206, 416):
            # The server counts differently than we do: nothing that is here can be relied on.
            if not part.held:
                raise PassingError(f"{host} answers a plain request with a part.", "Try again later.")
            self._start_over(part, host)
            raise PassingError(f"{host} has another file than before.", "Try again; it starts over.")
        if status == 200:
            if part.held:
                self._start_over(part, host)
            self._fits(response, host)
            part.note(_strong(response.headers.get("etag")))
            return True
        if status in (401, 403, 404, 410) and self._failures == 0:
            # Signed addresses run out; the Hub gives another, or says what is really the matter.
            raise PassingError(f"{host} wants a fresh address.", "Run the command again.", asked_s=0.0)
        raise refused_status(status, response.headers.get("retry-after"), self.remote.file, host)

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
            raise PassingError(
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

    def _renew(self) -> None:
        """Have a fresh address; one that cannot be had now is no reason to give up, a file that is gone is."""
        try:
            renewed = self.around.hub.locate(
                self.remote.repo, self.remote.file, self.remote.revision, self.remote.commit
            )
        except PassingError:
            return
        if (renewed.etag, renewed.size_bytes) != (self.remote.etag, self.remote.size_bytes):
            raise DownloadError(
                f"{self.remote.label} has changed on the Hub while it was fetched.", "Run the command again."
            )
        self.remote = renewed


def _strong(etag: str | None) -> str | None:
    return etag if etag and is_strong(etag) else None
