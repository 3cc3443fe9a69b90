"""The header of a file on the Hub, read by Range requests for a few MiB."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

import httpx2

from localspec.gguf import GgufHeader, parse_header
from localspec.models.download.context import DownloadContext
from localspec.models.download.layout import CacheLayout
from localspec.models.download.refusals import TransientError
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.source import ByteSource, begins_at

_LARGEST_BLOCK = 2**22


def _blocks() -> Iterator[int]:
    """The sizes of successive requests: a short header costs few bytes, a long one few requests.

    The longest headers in use, Gemma 4's, end just after 15 MiB; small blocks from there keep them under 16 MB.
    """
    yield from (2**20, 2**21, _LARGEST_BLOCK, _LARGEST_BLOCK, _LARGEST_BLOCK)
    size = 2**18
    while True:
        yield size
        size = min(2 * size, _LARGEST_BLOCK)


def read_remote_header(remote: RemoteFile, context: DownloadContext, *, from_part: bool = False) -> GgufHeader:
    """Read a header. Raises ModelFileError for a file that is not GGUF, DownloadError if it cannot be fetched.

    ``from_part`` reads the partial file of an interrupted download first, whose bytes are not verified.
    """
    with _opened_part(remote, context) if from_part else BytesIO() as part:
        reader = RangeReader(remote, context, part)
        return parse_header(reader, source=remote.file.rpartition("/")[2], size_bytes=remote.size_bytes)


def _opened_part(remote: RemoteFile, context: DownloadContext) -> BinaryIO:
    """The partial file; an empty stream if there is none."""
    try:
        return CacheLayout(context.cache, remote).part.open("rb")
    except OSError:
        return BytesIO()


class RangeReader:
    """A forward reader of a remote file in blocks, after the bytes in ``part``."""

    def __init__(self, remote: RemoteFile, context: DownloadContext, part: BinaryIO) -> None:
        self._source = ByteSource(remote, context.hub)
        self._context = context
        self._part = part
        self._size_bytes = remote.size_bytes
        self._blocks = _blocks()
        self._at = 0
        self._buffer = b""

    def read(self, size: int, /) -> bytes:
        if not self._buffer and self._at < self._size_bytes:
            stop = min(self._at + next(self._blocks), self._size_bytes)
            self._buffer = self._part.read(stop - self._at) or self._fetch(self._at, stop)
            self._at += len(self._buffer)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _fetch(self, start: int, stop: int) -> bytes:
        """Fetch a whole block. After a lost connection only the rest is requested."""
        taken = bytearray()
        self._context.with_retries(
            lambda: self._take(taken, start, stop), arrived=lambda: len(taken), recover=self._source.renew
        )
        return bytes(taken)

    def _take(self, taken: bytearray, start: int, stop: int) -> None:
        """Append the missing bytes of a block to ``taken``."""
        at = start + len(taken)
        with self._source.request({"Range": f"bytes={at}-{stop - 1}"}) as response:
            self._check(response, at)
            # A server without ranges sends the file from its beginning: skip to the block.
            skip = at if response.status_code == 200 else 0
            for data in response.iter_raw():
                taken += data[skip : skip + stop - start - len(taken)]
                skip = max(0, skip - len(data))
                if len(taken) == stop - start:
                    return
        raise TransientError(f"{self._source.host} ended {self._source.remote.file} early.", "Try again later.")

    def _check(self, response: httpx2.Response, at: int) -> None:
        """Raise TransientError if the response is not the requested range."""
        if response.status_code != 200 and not begins_at(response, at, self._size_bytes):
            raise TransientError(
                f"{self._source.host} sent the wrong part of {self._source.remote.file}.",
                "Try again later.",
            )
