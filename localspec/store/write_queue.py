"""What is to be written and may have to wait: the disk may be full, another program may hold the database.

Nothing is dropped while the program runs; whatever could not be written is tried again, in order, with
the next that is.
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
"""How long a write while a reply streams waits for another program; the next one has its text as well."""


class Journal:
    """Writes in order, each one whole or not at all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[Sequence[Statement]] = deque()
        self._lock = threading.RLock()
        self.trouble: StoreError | None = None
        """Why the last write failed; None once all is written."""

    @property
    def waiting_n(self) -> int:
        """Writes that are still to be done."""
        return len(self._waiting)

    def write(self, *statements: Statement, patient: bool = True) -> bool:
        """Write, after what still waits; whether all is written. Never raises: ``trouble`` says what is wrong."""
        with self._lock:
            self._waiting.append(statements)
            return self.flush(patient=patient)

    def flush(self, *, patient: bool = True) -> bool:
        """Try again what waits; whether all is written."""
        with self._lock, nullcontext() if patient else self._database.waiting_at_most(IMPATIENT_S):
            refused: StoreError | None = None
            try:
                while self._waiting:
                    refused = self._write_first() or refused
            except StoreError as error:
                self.trouble = error
                return False
            self.trouble = refused
            return refused is None

    def _write_first(self) -> StoreError | None:
        """Write the oldest; an error if it never can be written, and then it waits no more."""
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
    """Whether a row that this refers to was removed by another program."""
    return isinstance(error.__cause__, sqlite3.IntegrityError)
