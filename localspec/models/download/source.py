"""The bytes of a remote file, by Range requests to an address that is renewed when it runs out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from localspec.base.errors import DownloadError
from localspec.models.download.hub import Hub
from localspec.models.download.refusals import TransientError, refused_bytes, sign_in_page, unreachable
from localspec.models.download.remote_file import RemoteFile

_EXPIRED = frozenset({401, 403, 404, 410})
"""Storage answers so to a signed address that has run out, among other things."""
_MAX_REFUSED = 1
"""So many fresh addresses in a row may be refused as if they had run out."""


class ByteSource:
    """One remote file. For one thread."""

    def __init__(self, remote: RemoteFile, hub: Hub) -> None:
        self.remote = remote
        """With the newest address."""
        self._hub = hub
        self._fresh = False
        """True from a renewal of the address until storage accepts it."""
        self._refused_n = 0
        """Fresh addresses in a row that were refused."""

    @property
    def host(self) -> str:
        return httpx2.URL(self.remote.url).host

    @contextmanager
    def request(self, wanted: dict[str, str]) -> Iterator[httpx2.Response]:
        """The answer to a request with the headers ``wanted``: a whole, a part, or 416.

        Raises PassingError where the same may go well later, after ``renew``; else DownloadError.
        """
        headers = self._hub.headers_for(self.remote.url) | wanted
        try:
            with self._hub.client.stream("GET", self.remote.url, headers=headers) as response:
                self._check(response)
                yield response
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:  # the first address was looked at before
            raise TransientError(f"{self.host} leads to an address that is none.", "Try again later.") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise unreachable(error, self.host) from error

    def renew(self) -> None:
        """Have a fresh address. One that cannot be had now may be had later.

        Raises DownloadError if the Hub has other content now, or refuses; NotFoundError if the file is gone.
        """
        old = self.remote
        try:
            renewed = self._hub.locate(old.repo, old.file, old.revision, old.commit)
        except TransientError:
            return
        if (renewed.etag, renewed.size_bytes) != (old.etag, old.size_bytes):
            raise DownloadError(f"{old.label} has changed on the Hub while it was fetched.", "Run the command again.")
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
                f"The address of {self.remote.file} at {self.host} is not valid any more.",
                "Run the command again: it asks the Hub for another.",
                asked_s=0.0,
            )
        raise refused_bytes(response, self.remote.file, self.host)
