"""Vectors of texts on disk, by the digest of the model and the text. Losing them costs time alone."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MOST_VECTORS = 200_000
"""About 200 MB with vectors of 384 numbers; the oldest go first."""
_SPARE = 1.1
"""Old ones are deleted together, once there are so many times the most."""


class VectorCache:
    """A SQLite file that any number of processes may use.

    A damaged one is begun anew; what cannot be read or written now is computed again.
    """

    def __init__(self, path: Path, model: str, width: int) -> None:
        self._path, self._model, self._width = path, model, width
        self._kept_n = 0
        self._database = self._opened() or _in_memory()

    def get(self, text: str) -> NDArray[np.float32] | None:
        """The vector of a text; None if it is not known."""
        with suppress(sqlite3.Error):
            row = self._database.execute("SELECT vector FROM vectors WHERE key = ?", (self._key(text),)).fetchone()
            if row and isinstance(row[0], bytes) and len(row[0]) == 2 * self._width:
                return np.frombuffer(row[0], np.float16).astype(np.float32)
        return None

    def keep(self, text: str, vector: NDArray[np.float32]) -> None:
        """Keep a vector, as numbers of 16 bits."""
        with suppress(sqlite3.Error):
            half = vector.astype(np.float16).tobytes()
            self._database.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (self._key(text), half))
            self._kept_n += 1
            if self._kept_n % 1000 == 1:
                self._shrink()

    def close(self) -> None:
        self._database.close()

    def _shrink(self) -> None:
        (n,) = self._database.execute("SELECT count(*) FROM vectors").fetchone()
        if n > MOST_VECTORS * _SPARE:
            oldest = "SELECT rowid FROM vectors ORDER BY rowid LIMIT ?"
            self._database.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (n - MOST_VECTORS,))  # noqa: S608

    def _key(self, text: str) -> bytes:
        return sha256(f"{self._model}\0{text}".encode(errors="replace")).digest()

    def _opened(self) -> sqlite3.Connection | None:
        """None if it cannot be used now, as while another process makes it."""
        with suppress(OSError, sqlite3.Error):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return self._connected()
            except sqlite3.OperationalError:
                return None
            except sqlite3.DatabaseError:  # damaged, or no database
                self._path.unlink()
                return self._connected()
        return None

    def _connected(self) -> sqlite3.Connection:
        """Raises sqlite3.Error or OSError."""
        database = sqlite3.connect(self._path, timeout=0.5, isolation_level=None)
        try:
            self._path.chmod(0o600)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = OFF")
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
            database.execute("SELECT key, vector FROM vectors LIMIT 1").fetchone()
        except BaseException:
            database.close()
            raise
        return database


def _in_memory() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
    return database
