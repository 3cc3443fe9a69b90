"""The database connection: one thread at a time, with every fault as a StoreError."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from localspec.base.errors import StoreError
from localspec.store import sqlite_errors

Statement = tuple[str, Sequence[object]]
Row = tuple[Any, ...]

_SURROGATE = re.compile("[\ud800-\udfff]")


class Database:
    """An open database, safe for several threads."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None, refusal: str = "") -> None:
        """``refusal`` is the reason why nothing can be written, if so."""
        self.connection = connection
        self.path = path
        self._refusal = refusal
        self._lock = threading.RLock()

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run a query and return all rows. Raises StoreError."""
        with self._lock:
            try:
                return self.connection.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                raise sqlite_errors.translate(error, self.path) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed at the end, rolled back on any exception. Raises StoreError."""
        with self._lock:
            if self._refusal:
                raise StoreError(
                    self._refusal, "New messages are lost when the program ends; export them to keep them."
                )
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise sqlite_errors.translate(error, self.path) from error
                raise

    def run(self, statements: Iterable[Statement]) -> None:
        """Run statements in one transaction. Raises StoreError, also if a row to update is gone."""
        with self.transaction() as connection:
            for sql, parameters in statements:
                changed_n = connection.execute(sql, parameters).rowcount
                if not changed_n and sql.startswith("UPDATE"):
                    raise sqlite3.IntegrityError("the row is gone")

    @contextmanager
    def waiting_at_most(self, wait_s: float) -> Iterator[None]:
        """Set the time to wait for another program that is writing, for the length of a ``with``. Raises StoreError."""
        with self._lock:
            ((usual_ms,),) = self.query("PRAGMA busy_timeout")
            self.query(f"PRAGMA busy_timeout = {round(wait_s * 1e3)}")
            try:
                yield
            finally:
                self.query(f"PRAGMA busy_timeout = {usual_ms}")

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # a closed connection cannot even be asked
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")


def storable(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD, so that it can be stored; its length stays."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def loaded(text: str | None) -> Any:
    """The value of a column of JSON; None for NULL."""
    return None if text is None else json.loads(text)
