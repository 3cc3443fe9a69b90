"""The header of a file on the Hub, read by Range requests: a few MiB instead of the file."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

import httpx2

from localspec.gguf import GgufHeader, parse_header
from localspec.models.download.content_range import begins_at
from localspec.models.download.context import DownloadContext
from localspec.models.download.layout import CacheLayout
from localspec.models.download.refusals import TransientError
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.source import ByteSource

_LARGEST_BLOCK = 2**22


def _blocks() -> Iterator[int]:
    """How much to ask for at a time: a short header costs little, a long one few requests.

    The longest in use, Gemma 4's, end just behind 15 MiB: starting small there anew keeps them under 16 MB.
    """
    yield from (2**20, 2**21, _LARGEST_BLOCK, _LARGEST_BLOCK, _LARGEST_BLOCK)
    size = 2**18
    while True:
        yield size
        size = min(2 * size, _LARGEST_BLOCK)


def read_remote_header(remote: RemoteFile, around: DownloadContext, *, from_part: bool = False) -> GgufHeader:
    """Read a header. Raises ModelFileError for a file that is no GGUF, DownloadError for one that cannot be had.

    ``from_part`` begins with what an interrupted download has left of the file. Its bytes are not proved yet.
    """
    with _opened_part(remote, around) if from_part else BytesIO() as part:
        reader = RangeReader(remote, around, part)
        return parse_header(reader, source=remote.file.rpartition("/")[2], size_bytes=remote.size_bytes)


def _opened_part(remote: RemoteFile, around: DownloadContext) -> BinaryIO:
    """Empty if there is none."""
    try:
        return CacheLayout(around.cache, remote).part.open("rb")
    except OSError:
        return BytesIO()


class RangeReader:
    """Reads a remote file forward, in blocks; first what ``part`` has of it."""

    def __init__(self, remote: RemoteFile, around: DownloadContext, part: BinaryIO) -> None:
        self._source = ByteSource(remote, around.hub)
        self._around = around
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
        """A whole block: where the connection breaks, what has come of it stays and the rest is asked for."""
        taken = bytearray()
        self._around.patiently(
            lambda: self._take(taken, start, stop), arrived=lambda: len(taken), recover=self._source.renew
        )
        return bytes(taken)

    def _take(self, taken: bytearray, start: int, stop: int) -> None:
        """Add to ``taken`` what is missing of a block."""
        at = start + len(taken)
        with self._source.request({"Range": f"bytes={at}-{stop - 1}"}) as response:
            self._check(response, at)
            # A server that knows no ranges sends everything from the beginning: skip to the block.
            skip = at if response.status_code == 200 else 0
            for data in response.iter_raw():
                taken += data[skip : skip + stop - start - len(taken)]
                skip = max(0, skip - len(data))
                if len(taken) == stop - start:
                    return
        raise TransientError(f"{self._source.host} ended {self._source.remote.file} early.", "Try again later.")

    def _check(self, response: httpx2.Response, at: int) -> None:
        """Raise PassingError for another part than was asked for."""
        if response.status_code != 200 and not begins_at(response, at, self._size_bytes):
            raise TransientError(
                f"{self._source.host} sends another part of {self._source.remote.file} than was asked for.",
                "Try again later.",
            )
