"""Opening the file of conversations, in whatever state it is found.

A new one is made; an old one is copied and brought up to date; one of a newer LocalSpec, or that cannot be
written, is opened to be read; a damaged one is set aside under another name, whole, and a new one begun.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from localspec.errors import StoreError
from localspec.store import faults
from localspec.store.moments import Clock
from localspec.store.schema import MIGRATIONS, Migration

APPLICATION_ID = int.from_bytes(b"LSpc", "big")
"""Tells our databases from others; see file(1)."""
COMPANIONS = ("-wal", "-shm")
"""What SQLite keeps beside a database in WAL mode."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A database that is open."""

    connection: sqlite3.Connection
    read_only: bool = False
    notice: str = ""
    """What the person should know of it, in a sentence or two."""


def open_file(path: Path, clock: Clock, busy_s: float, migrations: Sequence[Migration] = MIGRATIONS) -> Opened:
    """Raises StoreError if it is in use by others for longer than ``busy_s``, or can be neither read nor made."""
    try:
        return _open(path, busy_s, migrations)
    except sqlite3.Error as error:
        if not faults.is_damage(error):
            raise faults.translate(error, path) from error
    aside = set_aside(path, clock)
    try:
        opened = _open(path, busy_s, migrations)
    except sqlite3.Error as error:
        raise faults.translate(error, path) from error
    notice = (
        f"The file of conversations was damaged. It was set aside as {aside}, and a new one begun. "
        f"Much of it can often be saved: sqlite3 {aside} .recover"
    )
    return replace(opened, notice=notice)


def open_memory(migrations: Sequence[Migration] = MIGRATIONS) -> sqlite3.Connection:
    """A database that ends with the program."""
    connection = _connect(":memory:", 0)
    _migrate(connection, None, migrations)
    return connection


def open_again(path: Path, busy_s: float) -> sqlite3.Connection:
    """A second connection to read with, to a database that is open. Raises StoreError."""
    try:
        return _connect(_uri(path, "ro"), busy_s)
    except sqlite3.Error as error:
        if not path.exists():
            raise StoreError(
                f"The file of conversations {path} is not there any more.",
                "Put it back where it was, or export what is open to keep it.",
            ) from error
        raise faults.translate(error, path) from error


def _open(path: Path, busy_s: float, migrations: Sequence[Migration]) -> Opened:
    if not _can_write(path):
        return _open_to_read(path, busy_s, migrations)
    if path.stat().st_size and _look(path, busy_s) > len(migrations):
        return _open_to_read(path, busy_s, migrations)
    connection = _connect(_uri(path, "rw"), busy_s)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        _migrate(connection, path, migrations)
    except BaseException:
        connection.close()
        raise
    return Opened(connection)


def _can_write(path: Path) -> bool:
    """Whether it may be written, and is there; it is made if need be, for its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        if path.is_file() and os.access(path, os.R_OK):
            return False
        raise StoreError(
            f"Conversations cannot be stored in {path} ({error.strerror or error}).",
            "Mend its permissions, or set LOCALSPEC_HOME to a folder of your own.",
        ) from error
    return os.access(path.parent, os.W_OK)


def _open_to_read(path: Path, busy_s: float, migrations: Sequence[Migration]) -> Opened:
    """Where nothing may be written beside it, SQLite cannot see what a program that was killed left in the journal."""
    notice = f"The conversations in {path} cannot be written, so they are only shown, and nothing new is stored."
    connection = _connect(_uri(path, "ro"), busy_s)
    try:
        version = version_of(connection)
    except sqlite3.OperationalError:
        connection.close()
        connection = _connect(_uri(path, "ro&immutable=1"), busy_s)
        version = version_of(connection)
    if version > len(migrations):
        notice = (
            f"The conversations in {path} were stored by a newer LocalSpec, so they are only shown, and nothing new "
            "is stored. Update LocalSpec."
        )
    elif version < len(migrations):
        connection.close()
        raise StoreError(
            f"The conversations in {path} were stored by an older LocalSpec and cannot be brought up to date.",
            "Make the file and its folder writable, and try again.",
        )
    return Opened(connection, read_only=True, notice=notice)


def _connect(name: str, busy_s: float) -> sqlite3.Connection:
    """Transactions are ours (``isolation_level=None``); several threads may share it, one at a time."""
    connection = sqlite3.connect(name, timeout=busy_s, isolation_level=None, check_same_thread=False, uri=True)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path))}?mode={mode}"


def version_of(connection: sqlite3.Connection) -> int:
    """How many migrations it has seen."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _look(path: Path, busy_s: float) -> int:
    """The version, found without changing anything: of a damaged file SQLite would throw the journal away."""
    with closing(_connect(_uri(path, "ro"), busy_s)) as connection:
        if faults.marker(path).exists():
            _check(connection, path)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return version_of(connection)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Look at all of a database that was found damaged while it was in use."""
    for (finding,) in connection.execute("PRAGMA quick_check(1)"):
        if finding != "ok":
            raise sqlite3.DatabaseError(f"malformed: {finding}")
    faults.marker(path).unlink(missing_ok=True)


def _migrate(connection: sqlite3.Connection, path: Path | None, migrations: Sequence[Migration]) -> None:
    version = version_of(connection)
    if version >= len(migrations):
        return
    if version and path is not None:
        back_up(connection, path.with_name(f"{path.stem}-before-v{len(migrations)}{path.suffix}"))
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another program may have done it since.
        for migration in migrations[version_of(connection) :]:
            migration(connection)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def back_up(connection: sqlite3.Connection, copy: Path) -> None:
    """Copy a database as it is now, for its owner alone; an older copy of that name goes once this one is whole."""
    unfinished = copy.with_name(copy.name + ".part")
    try:
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(unfinished)) as target:
            connection.backup(target)
        unfinished.replace(copy)
    except OSError as error:
        raise StoreError(
            f"The conversations cannot be copied to {copy} before they are brought up to date "
            f"({error.strerror or error}).",
            "Free some room, and try again.",
        ) from error


def set_aside(path: Path, clock: Clock) -> Path:
    """Give a damaged database another name, with what SQLite keeps beside it. Raises StoreError."""
    stem = f"{path.stem}-damaged-{clock():%Y%m%dT%H%M%SZ}"
    number, aside = 1, path.with_name(stem + path.suffix)
    while aside.exists():
        number += 1
        aside = path.with_name(f"{stem}-{number}{path.suffix}")
    try:
        path.rename(aside)
        for companion in COMPANIONS:
            with suppress(FileNotFoundError):
                path.with_name(path.name + companion).rename(aside.with_name(aside.name + companion))
        faults.marker(path).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"The file of conversations {path} is damaged and cannot be set aside ({error.strerror or error}).",
            "Move it away, and start again.",
        ) from error
    return aside
