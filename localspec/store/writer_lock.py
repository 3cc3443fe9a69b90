"""The lock by which other programs see that the writer of an unfinished reply is still running.

Each program that records replies holds the lock of a small file beside the database. The system drops the lock when the
program dies.
"""

from __future__ import annotations

import glob
import secrets
from contextlib import ExitStack, suppress
from pathlib import Path

from localspec.base.file_lock import file_lock


class WriterLock:
    """The lock of this program; the file is created when its first reply begins."""

    def __init__(self, database: Path | None) -> None:
        """``database`` is None for one in memory, which no other program sees."""
        self.name = secrets.token_hex(8)
        self._database = database
        self._held: ExitStack | None = None

    def sign(self) -> str:
        """Take the lock, and return the name that is stored with a reply that begins."""
        if self._database is not None and self._held is None:
            self._held = ExitStack()
            # Without the lock others may mark a growing reply as cut off; the end of the reply corrects that.
            with suppress(OSError):
                self._held.enter_context(file_lock(_lock_file(self._database, self.name), wait=False))
        return self.name

    def close(self) -> None:
        """Release the lock and delete its file."""
        if self._held is not None and self._database is not None:
            with suppress(OSError):
                self._held.close()
                _lock_file(self._database, self.name).unlink(missing_ok=True)
            self._held = None


def living_writers(database: Path) -> set[str]:
    """The names of writers that are still running. The lock files of dead ones are deleted."""
    prefix = _lock_file(database, "").name
    return {file.name.removeprefix(prefix) for file in database.parent.glob(f"{glob.escape(prefix)}*") if _lives(file)}


def _lives(file: Path) -> bool:
    try:
        with file_lock(file, wait=False):
            file.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _lock_file(database: Path, name: str) -> Path:
    return database.with_name(f"{database.name}-writer-{name}")
