"""Locks between processes: ``flock`` on a file or a folder. The system drops a lock when its holder dies.

The locks of the Hub's cache are taken with filelock, as its other users take them. Here flock is called directly:
filelock takes a tenth of a second to import, waits by polling, and cannot lock a folder.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file, which is created if it is missing, or of an existing folder.

    Raises BlockingIOError if another process holds it and ``wait`` is False, OSError if ``path`` cannot be opened. On a
    file system without locks nothing is held.
    """
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _acquire(descriptor, wait=wait)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def folder_lock(path: Path) -> Iterator[None]:
    """Hold the lock of the folder that ``path`` is in; the folder is created if it is missing.

    For reading a file and replacing it. It is not reentrant, and locks the other files of the folder too.
    Raises OSError if the folder cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(path.parent):
        yield


def is_locked(file: Path) -> bool:
    """True if a process holds the lock of ``file``; False also if there is no such file, or no locks."""
    try:
        with file.open("r+b") as stream:
            _acquire(stream.fileno(), wait=False)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _acquire(descriptor: int, *, wait: bool) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        pass  # a file system without locks
