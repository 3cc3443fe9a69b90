"""Files that a person names, read with a limit on size and without waiting for a pipe's writer."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_CHUNK_BYTES = 1_000_000
_OWN_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Paths of this process's own descriptors. A pipe there has a writer, as in ``@<(command)``."""


class UnfitFileError(OSError):
    """A file that exists and is refused: it is not regular, or too large."""


def read_file(path: Path, most_bytes: int) -> bytes:
    """The whole of a regular file. Raises UnfitFileError, or another OSError; ``strerror`` says why."""
    data = read_beginning(path, most_bytes + 1)
    if len(data) > most_bytes:
        raise UnfitFileError(errno.EFBIG, f"it is larger than {in_megabytes(most_bytes)}", str(path))
    return data


def read_beginning(path: Path, most_bytes: int) -> bytes:
    """The first bytes of a regular file, at most so many. Raises UnfitFileError, or another OSError."""
    may_be_pipe = str(path).startswith(_OWN_DESCRIPTORS)
    data = bytearray()
    with open(path, "rb", opener=None if may_be_pipe else _open_at_once) as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not stat.S_ISREG(mode) and not (may_be_pipe and stat.S_ISFIFO(mode)):
            raise UnfitFileError(errno.EINVAL, "it is not a regular file", str(path))
        while chunk := stream.read(min(_CHUNK_BYTES, most_bytes - len(data))):
            data += chunk
    return bytes(data)


def in_megabytes(n: int) -> str:
    """A size limit in words.

    >>> in_megabytes(4_000_000), in_megabytes(512_000_000)
    ('4 MB', '512 MB')
    """
    return f"{n // 1_000_000} MB"


def _open_at_once(path: str, flags: int) -> int:
    """Open without blocking until a pipe has a writer."""
    return os.open(path, flags | os.O_NONBLOCK)
