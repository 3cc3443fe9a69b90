"""Statements in and rows out, one thread at a time, and every fault as a StoreError."""

from __future__ import annotations

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


class Database:
    """An open database. May be used from any thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None, refusal: str = "") -> None:
        """``refusal`` says why nothing can be written, if nothing can."""
        self.connection = connection
        self.path = path
        self._refusal = refusal
        self._lock = threading.RLock()

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """All rows. Raises StoreError."""
        with self._lock:
            try:
                return self.connection.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                raise sqlite_errors.translate(error, self.path) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing. Raises StoreError."""
        with self._lock:
            if self._refusal:
                raise StoreError(self._refusal, "What is said now is lost when the program ends; export it to keep it.")
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
        """Some statements as one transaction. Raises StoreError."""
        with self.transaction() as connection:
            for sql, parameters in statements:
                connection.execute(sql, parameters)

    @contextmanager
    def waiting_at_most(self, wait_s: float) -> Iterator[None]:
        """Give up sooner, or later, on a database that another program is writing."""
        with self._lock:
            (usual_ms,) = self.connection.execute("PRAGMA busy_timeout").fetchone()
            self.connection.execute(f"PRAGMA busy_timeout = {round(wait_s * 1e3)}")
            try:
                yield
            finally:
                self.connection.execute(f"PRAGMA busy_timeout = {usual_ms}")

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")


def storable(text: str) -> str:
    """A text as it can be stored: half of a surrogate pair, which is no character, becomes U+FFFD.

    As many characters as before.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)
    return text
