"""The lock of a file in the Hub's cache: one program downloads it at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from localspec.base.errors import OWN_CACHE, DownloadError, refused

_POLL_S = 0.25


@contextmanager
def download_lock(lock_file: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock that the Hub's own client takes too. ``waiting`` is called while another holds it, and may raise.

    The system drops the lock when its holder dies. Raises DownloadError if the lock cannot be taken.
    """
    lock = FileLock(lock_file, timeout=_POLL_S, mode=0o664, thread_local=False)
    while True:
        try:
            lock.acquire()
            break
        except TimeoutError:
            waiting()
        except OSError as error:
            raise DownloadError(*refused(f"The lock {lock_file} cannot be taken", error, OWN_CACHE)) from error
    try:
        yield
    finally:
        lock.release()
