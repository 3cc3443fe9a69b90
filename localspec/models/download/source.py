"""The bytes of a remote file, by Range requests to an address that is renewed when it expires."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from localspec.base.errors import DownloadError
from localspec.models.download.hub import Hub
from localspec.models.download.refusals import TransientError, refused_bytes, sign_in_page, unreachable
from localspec.models.download.remote_file import RemoteFile

_EXPIRED = frozenset({401, 403, 404, 410})
"""Statuses of storage for an expired signed address, among other things."""
_MAX_REFUSED = 1
"""Fresh addresses in a row that may be refused as if they had expired."""

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class ByteSource:
    """One remote file. Not thread-safe."""

    def __init__(self, remote: RemoteFile, hub: Hub) -> None:
        self.remote = remote
        """The file with its newest address."""
        self._hub = hub
        self._fresh = False
        """True from a renewal of the address until storage accepts it."""
        self._refused_n = 0
        """Fresh addresses refused in a row."""

    @property
    def host(self) -> str:
        return httpx2.URL(self.remote.url).host

    @contextmanager
    def request(self, wanted: dict[str, str]) -> Iterator[httpx2.Response]:
        """Send a request with the headers ``wanted``; the response is the file, a range of it, or status 416.

        Raises TransientError if it may succeed later, after ``renew``; else DownloadError.
        """
        headers = self._hub.headers_for(self.remote.url) | wanted
        try:
            with self._hub.client.stream("GET", self.remote.url, headers=headers) as response:
                self._check(response)
                yield response
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:  # by a redirect: the first one was checked
            raise TransientError(f"{self.host} redirects to an invalid address.", "Try again later.") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise unreachable(error, self.host) from error

    def renew(self) -> None:
        """Get a fresh address; after a temporary failure the old one stays.

        Raises DownloadError if the content on the Hub has changed, NotFoundError if the file is gone.
        """
        old = self.remote
        try:
            renewed = self._hub.locate(old.repo, old.file, old.revision, old.commit)
        except TransientError:
            return
        if (renewed.etag, renewed.size_bytes) != (old.etag, old.size_bytes):
            raise DownloadError(f"{old.label} has changed on the Hub during the download.", "Run the command again.")
        self.remote, self._fresh = renewed, True

    def _check(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in (200, 206, 416):
            if response.headers.get("content-type", "").startswith("text/html"):
                raise sign_in_page(self.host, self.remote.file)
            self._fresh, self._refused_n = False, 0
            return
        self._refused_n += self._fresh
        if status in _EXPIRED and self._refused_n <= _MAX_REFUSED:
            raise TransientError(
                f"The address of {self.remote.file} at {self.host} has expired.",
                "Run the command again: it requests a new one.",
                asked_s=0.0,
            )
        raise refused_bytes(response, self.remote.file, self.host)


def begins_at(response: httpx2.Response, start: int, size_bytes: int) -> bool:
    """True if the range of a response begins at ``start``, in a file of the expected size."""
    found = _RANGE.fullmatch(response.headers.get("content-range", ""))
    return found is not None and found[1] == str(start) and found[3] in ("*", str(size_bytes))
