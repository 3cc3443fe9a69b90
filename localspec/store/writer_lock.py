"""Whether the program that was writing a reply still lives.

Each program that records holds the lock of a small file beside the database; the system drops the lock when
the program dies, however it dies.
"""

from __future__ import annotations

import glob
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock


class Writer:
    """The program's own lock; the file is made when the first reply begins."""

    def __init__(self, database: Path | None) -> None:
        """``database`` is None for one in memory, which nobody else sees."""
        self.name = secrets.token_hex(8)
        self._database = database
        self._lock: FileLock | None = None

    def sign(self) -> str:
        """The name to write into a reply that begins."""
        if self._database is not None and self._lock is None:
            from filelock import FileLock

            self._lock = FileLock(_lock_file(self._database, self.name), timeout=0, thread_local=False, mode=0o600)
            # Without it others may take a reply for cut off while it grows; its end sets that right.
            with suppress(OSError):
                self._lock.acquire()
        return self.name

    def close(self) -> None:
        """Let go; the file goes as well, or the next program that opens the database takes it away."""
        if self._lock is not None and self._database is not None:
            with suppress(OSError):
                self._lock.release()
                _lock_file(self._database, self.name).unlink(missing_ok=True)
            self._lock = None


def living(database: Path) -> set[str]:
    """The names of programs that still run; what dead ones left behind is cleared away."""
    files = list(database.parent.glob(glob.escape(_lock_file(database, "").name) + "*"))
    return {file.name.removeprefix(_lock_file(database, "").name) for file in files if _is_held(file)}


def _is_held(file: Path) -> bool:
    from filelock import FileLock, Timeout

    try:
        with FileLock(file, timeout=0, thread_local=False):
            pass
        file.unlink(missing_ok=True)
    except Timeout:
        return True
    except OSError:
        return False
    return False


def _lock_file(database: Path, name: str) -> Path:
    return database.with_name(f"{database.name}-writer-{name}")
