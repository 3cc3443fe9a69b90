"""Files that somebody names, read without waiting for ever and without filling the memory."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_CHUNK_BYTES = 1_000_000
_OURS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Names of what is open in this process: a pipe there has somebody who writes, as in ``@<(command)``."""


class UnfitFileError(OSError):
    """A file that is there and is not read: no regular file, or a larger one than is read."""


def read_file(path: Path, most_bytes: int) -> bytes:
    """The whole of a regular file. Raises UnfitFileError, or another OSError; ``strerror`` says why."""
    data = read_beginning(path, most_bytes + 1)
    if len(data) > most_bytes:
        raise UnfitFileError(errno.EFBIG, f"it is larger than {in_megabytes(most_bytes)}", str(path))
    return data


def read_beginning(path: Path, most_bytes: int) -> bytes:
    """The first bytes of a regular file. Raises UnfitFileError, or another OSError."""
    may_be_pipe = str(path).startswith(_OURS)
    data = bytearray()
    with open(path, "rb", opener=None if may_be_pipe else _open_at_once) as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not stat.S_ISREG(mode) and not (may_be_pipe and stat.S_ISFIFO(mode)):
            raise UnfitFileError(errno.EINVAL, "it is not a regular file", str(path))
        while chunk := stream.read(min(_CHUNK_BYTES, most_bytes - len(data))):
            data += chunk
    return bytes(data)


def in_megabytes(n: int) -> str:
    """An amount in words.

    >>> in_megabytes(4_000_000), in_megabytes(512_000_000)
    ('4 MB', '512 MB')
    """
    return f"{n // 1_000_000} MB"


def _open_at_once(path: str, flags: int) -> int:
    """Without waiting for whoever writes to a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
