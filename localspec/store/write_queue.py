"""The queue of writes to the database, which waits while the disk is full or another program holds the database.

Nothing is dropped while the program runs: failed writes are tried again, in order, with the next one.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext

from localspec.base.errors import StoreError
from localspec.store.database import Database, Statement

IMPATIENT_S = 0.02
"""The longest that a write during a reply waits for another program; the next write repeats its text."""


class WriteQueue:
    """Writes in order, each in one transaction. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[Sequence[Statement]] = deque()
        self._lock = threading.RLock()
        self.trouble: StoreError | None = None
        """The reason why the last write failed; None once it, or the next one, is done."""

    def write(self, *statements: Statement, patient: bool = True) -> None:
        """Write after all waiting writes. Never raises: see ``trouble``."""
        with self._lock:
            if statements:
                self._waiting.append(statements)
            self.flush(patient=patient)

    def flush(self, *, patient: bool = True) -> bool:
        """Try the waiting writes again; True if all are done.

        Without any ``trouble`` stays: it is about a write that was dropped.
        """
        with self._lock:
            if not self._waiting:
                return self.trouble is None
            refused: StoreError | None = None
            try:
                with nullcontext() if patient else self._database.waiting_at_most(IMPATIENT_S):
                    while self._waiting:
                        refused = self._write_first() or refused
            except StoreError as error:
                self.trouble = error
                return False
            self.trouble = refused
            return refused is None

    def _write_first(self) -> StoreError | None:
        """Do the oldest write. One that can never succeed is dropped, and its error returned."""
        try:
            self._database.run(self._waiting[0])
        except StoreError as error:
            if not _is_hopeless(error):
                raise
            self._waiting.popleft()
            return error
        self._waiting.popleft()
        return None


def _is_hopeless(error: StoreError) -> bool:
    """True if another program has deleted a row that the write refers to."""
    return isinstance(error.__cause__, sqlite3.IntegrityError)
