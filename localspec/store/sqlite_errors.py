"""SQLite's errors as StoreErrors: a sentence and the next step."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

from localspec.base.errors import OWN_FOLDER, StoreError, refused

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_REFUSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_TRIED_BYTES = 64 * 1024
"""Bytes written as a trial; more than SQLite needs beside a database to read it."""


def is_damage(error: sqlite3.Error) -> bool:
    """True if the file itself is damaged."""
    return _code(error) in _DAMAGE or "malformed" in str(error)


def is_busy(error: sqlite3.Error) -> bool:
    """True if another program holds the database."""
    return _code(error) in _BUSY


def refusal_in(folder: Path) -> OSError | None:
    """The reason why a folder cannot be written, found by a trial because SQLite does not report it; None if it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
    except OSError as error:
        return error
    return None


def marker(path: Path) -> Path:
    """The file that marks a database as damaged, to be checked when it is opened next."""
    return path.with_name(path.name + "-damaged")


def translate(error: sqlite3.Error, path: Path | None) -> StoreError:
    """The StoreError for an error of SQLite's. Damage is marked in a file until the database is opened next."""
    place = path or "memory"
    code = _code(error)
    if is_busy(error):
        return StoreError(
            f"The conversations in {place} are in use by another program.", "It is tried again; nothing is lost."
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreError(
            f"There is no room on the disk to store conversations in {place}.",
            "Free some; nothing new is stored until then.",
        )
    if path is not None and code in _REFUSED | {sqlite3.SQLITE_IOERR} and (refusal := refusal_in(path.parent)):
        return StoreError(*refused(f"Conversations cannot be stored in {path}", refusal, OWN_FOLDER))
    if code in _REFUSED:
        return StoreError(
            f"Conversations cannot be stored in {place} ({error}).",
            "Correct the permissions of the file and its folder, or set LOCALSPEC_HOME to a folder of your own.",
        )
    if is_damage(error):
        if path is not None:
            with suppress(OSError):
                marker(path).touch(mode=0o600)
        return StoreError(
            f"The file of conversations {place} is damaged.",
            "Start LocalSpec again: it renames the damaged file and keeps what can be read.",
        )
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
        return StoreError("Another program has continued this reply, too.", "Export it to keep what is shown.")
    if isinstance(error, sqlite3.IntegrityError):
        return StoreError("Another program has deleted this conversation.", "Export it to keep what is shown.")
    return StoreError(f"The conversations in {place} cannot be read or written ({error}).", "Try again.")


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary error code; -1 for an error of Python's sqlite3 module."""
    code = getattr(error, "sqlite_errorcode", None)
    return -1 if code is None else int(code) & 0xFF
