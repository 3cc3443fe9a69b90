"""The header of a model on the Hub, read by Range requests: a few MiB instead of the file."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

from localspec.download.content_range import begins_at
from localspec.download.hub import Hub
from localspec.download.refusals import PassingError, refused_status, unreachable
from localspec.download.remote_file import RemoteFile
from localspec.download.surroundings import Surroundings
from localspec.gguf import GgufHeader, parse_header

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


def read_remote_header(remote: RemoteFile, around: Surroundings) -> GgufHeader:
    """Read a header. Raises ModelFileError for a file that is no GGUF, DownloadError for one that cannot be had."""
    reader = RangeReader(remote, around)
    return parse_header(reader, source=remote.file.rpartition("/")[2], size_bytes=remote.size_bytes)


class RangeReader:
    """Reads a remote file forward, in blocks."""

    def __init__(self, remote: RemoteFile, around: Surroundings) -> None:
        self._remote = remote
        self._around = around
        self._blocks = _blocks()
        self._at = 0
        self._buffer = b""

    def read(self, size: int, /) -> bytes:
        if not self._buffer and self._at < self._remote.size_bytes:
            self._buffer = self._fetch(self._at, min(self._at + next(self._blocks), self._remote.size_bytes))
            self._at += len(self._buffer)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _fetch(self, start: int, stop: int) -> bytes:
        return self._around.patiently(lambda: _bytes_of(self._remote, start, stop, self._around.hub))


def _bytes_of(remote: RemoteFile, start: int, stop: int, hub: Hub) -> bytes:
    url = remote.url
    host = httpx2.URL(url).host
    taken = bytearray()
    try:
        headers = hub.headers_for(url) | {"Range": f"bytes={start}-{stop - 1}"}
        with hub.client.stream("GET", url, headers=headers) as response:
            if response.status_code not in (200, 206):
                raise refused_status(response.status_code, response.headers.get("retry-after"), remote.file, host)
            if response.status_code == 206 and not begins_at(response, start, remote.size_bytes):
                raise PassingError(
                    f"{host} sends another part of {remote.file} than was asked for.", "Try again later."
                )
            # A server that knows no ranges sends everything from the beginning: skip to the block.
            skip = start if response.status_code == 200 else 0
            for data in response.iter_raw():
                taken += data[skip:]
                skip = max(0, skip - len(data))
                if len(taken) >= stop - start:
                    break
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise unreachable(error, host) from error
    if len(taken) < stop - start:
        raise PassingError(f"{host} ended {remote.file} early.", "Try again later.")
    return bytes(taken[: stop - start])
