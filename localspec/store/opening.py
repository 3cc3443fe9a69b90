"""The opening of the database file, in any state.

A missing file is created. An old one is backed up and migrated. One of a newer LocalSpec, or one that cannot be
written, is opened read-only. A damaged one is renamed, and what can be read of it is kept in a new one.
"""

from __future__ import annotations

import errno
import glob
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from localspec.base.amounts import number_of
from localspec.base.errors import OWN_FOLDER, StoreError, explaining, refused
from localspec.base.file_lock import folder_lock
from localspec.store import sqlite_errors
from localspec.store.salvage import salvage
from localspec.store.schema import MIGRATIONS, Migration
from localspec.store.timestamps import Clock

APPLICATION_ID = int.from_bytes(b"LSpc", "big")
"""The application id of our databases, as file(1) shows it."""
_JOURNAL = "-wal"
COMPANIONS = (_JOURNAL, "-shm")
"""The suffixes of SQLite's files beside a database in WAL mode."""
_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class Opened:
    """An open database."""

    connection: sqlite3.Connection
    read_only: bool = False
    notice: str = ""
    """A remark for the user, in a sentence or two; empty if all is well."""


def open_file(path: Path, clock: Clock, busy_s: float, migrations: Sequence[Migration] = MIGRATIONS) -> Opened:
    """Open the file. Raises StoreError if others use it longer than ``busy_s``, or it can be neither read nor made."""
    before = _identity(path)
    try:
        return _open(path, busy_s, migrations)
    except sqlite3.Error as error:
        if not sqlite_errors.is_damage(error):
            raise sqlite_errors.translate(error, path) from error
    notice = ""
    with _creation_lock(path):
        if before is not None and _identity(path) == before:  # no other program has set it aside meanwhile
            notice = _begin_anew(path, clock, migrations)
    try:
        opened = _open(path, busy_s, migrations)
        return replace(opened, notice=notice) if notice else opened
    except sqlite3.Error as error:
        raise sqlite_errors.translate(error, path) from error


def _identity(path: Path) -> tuple[int, int] | None:
    """The device and the number of a file, which stay when it is written and change when it is replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _begin_anew(path: Path, clock: Clock, migrations: Sequence[Migration]) -> str:
    """Set a damaged database aside, with what can be read of it in its place; returns the notice. Raises StoreError."""
    whole = path.with_name(path.name + ".part")
    try:
        # Recovery may take long. A program that is killed meanwhile leaves the damaged file to the next start.
        conversations_n, messages_n = _recover(path, whole, migrations)
        aside = set_aside(path, clock)
        if conversations_n:
            with explaining(StoreError, f"Conversations cannot be stored in {path}", OWN_FOLDER):
                whole.rename(path)
    finally:
        with suppress(OSError):
            whole.unlink(missing_ok=True)
    if conversations_n:
        found = f"{number_of(conversations_n, 'conversation')} with {number_of(messages_n, 'message')}"
        begun = f"a new one was begun with what could still be read: {found}. More can sometimes"
    else:
        begun = "a new one was begun. Much of it can often"
    return (
        f"The file of conversations was damaged. It was renamed to {aside}, and {begun} be recovered: "
        f"sqlite3 {aside} .recover"
    )


def _recover(path: Path, whole: Path, migrations: Sequence[Migration]) -> tuple[int, int]:
    """Copy what can be read into the new file ``whole``; returns the numbers of conversations and messages."""
    if not _size(path):
        return 0, 0  # opened even to read, SQLite would delete its journal
    with suppress(sqlite3.Error, OSError):
        whole.unlink(missing_ok=True)
        os.close(os.open(whole, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with (
            closing(_connect(_uri(path, _mode_to_look(path)), 0)) as damaged,
            closing(_connect(_uri(whole, "rw"), 0)) as begun,
        ):
            _migrate(begun, None, migrations)
            return salvage(damaged, begun)
    return 0, 0


def examine(path: Path, busy_s: float) -> str:
    """The notice that opening a file would give, empty if all is well. The file stays as it is. Raises StoreError."""
    refusal = _refusal(path)
    try:
        with closing(_connect(_uri(path, _mode_to_look(path)), busy_s)) as connection:
            version = version_of(connection)
    except sqlite3.Error as error:
        raise sqlite_errors.translate(error, path) from error
    return _why_read_only(path, version, len(MIGRATIONS), refusal)


def _mode_to_look(path: Path) -> str:
    # Beside a file without a journal nobody writes it, and looking would leave an index.
    return "ro" if _size(path.with_name(path.name + _JOURNAL)) else "ro&immutable=1"


def copies_of(path: Path) -> list[Path]:
    """The files that earlier starts left beside a database: damaged ones, and copies before a migration."""
    return sorted(path.parent.glob(f"{glob.escape(path.stem)}-*{path.suffix}"))


def open_memory() -> sqlite3.Connection:
    """A new database in memory."""
    connection = _connect(":memory:", 0)
    _migrate(connection, None, MIGRATIONS)
    return connection


def open_again(path: Path, busy_s: float) -> sqlite3.Connection:
    """A second connection to an open database, for reading. Raises StoreError."""
    try:
        return _connect(_uri(path, "ro"), busy_s)
    except sqlite3.Error as error:
        if not path.exists():
            raise StoreError(
                f"The file of conversations {path} no longer exists.",
                "Put it back, or export the open conversation to keep it.",
            ) from error
        raise sqlite_errors.translate(error, path) from error


def _open(path: Path, busy_s: float, migrations: Sequence[Migration]) -> Opened:
    """``_open_now``, retried while another program holds the database: SQLite itself does not always wait."""
    deadline_s = time.monotonic() + busy_s
    while True:
        try:
            return _open_now(path, busy_s, migrations)
        except sqlite3.Error as error:
            if not sqlite_errors.is_busy(error) or time.monotonic() >= deadline_s:
                raise
        _pause()


def _pause() -> None:
    time.sleep(_PAUSE_S)


def _open_now(path: Path, busy_s: float, migrations: Sequence[Migration]) -> Opened:
    if not _size(path):
        with _creation_lock(path):
            if not _size(path):  # no other program has created it meanwhile
                return _begin(path, busy_s, migrations)
    if (refusal := _refusal(path)) is not None:
        return _open_to_read(path, busy_s, migrations, refusal)
    try:
        if _stored_version(path, busy_s) > len(migrations):
            return _open_to_read(path, busy_s, migrations)
        return _open_to_write(path, busy_s, migrations)
    except sqlite3.OperationalError as error:
        if sqlite_errors.is_busy(error) or (refusal := sqlite_errors.refusal_in(path.parent)) is None:
            raise
        return _open_to_read(path, busy_s, migrations, refusal)


def _begin(path: Path, busy_s: float, migrations: Sequence[Migration]) -> Opened:
    """Create a database. For an existing empty file a notice is given: it may have held conversations."""
    existed = os.path.lexists(path)
    if _size(path.with_name(path.name + _JOURNAL)):
        raise sqlite3.DatabaseError("malformed: it is empty, and its journal is not")
    if (refusal := _refusal(path)) is not None:
        raise _unwritable(path, refusal)
    try:
        opened = _open_to_write(path, busy_s, migrations)
    except sqlite3.Error as error:
        if not existed and not sqlite_errors.is_busy(error) and not _size(path):
            path.unlink(missing_ok=True)  # the next start would give a notice about an empty file
        raise
    return replace(opened, notice=_emptied(path)) if existed else opened


def _emptied(path: Path) -> str:
    copies = [*map(str, copies_of(path))]
    earlier = f"Earlier conversations may be in {', '.join(copies)}." if copies else "There is no backup beside it."
    return (
        f"The file of conversations {path} was empty, as a crash of the system or a full disk can leave it, and a new "
        f"one was begun. {earlier}"
    )


def _open_to_write(path: Path, busy_s: float, migrations: Sequence[Migration]) -> Opened:
    connection = _connect(_uri(path, "rw"), busy_s)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        _migrate(connection, path, migrations)
    except BaseException:
        connection.close()
        raise
    return Opened(connection)


@contextmanager
def _creation_lock(path: Path) -> Iterator[None]:
    """Hold the lock for creating, migrating or replacing the file; its folder is created. Raises StoreError."""
    with ExitStack() as locked:
        with explaining(StoreError, f"Conversations cannot be stored in {path}", OWN_FOLDER):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            locked.enter_context(folder_lock(path))
        yield


def _size(path: Path) -> int:
    """The size in bytes; 0 for a missing or unreadable file."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _refusal(path: Path) -> OSError | None:
    """The reason why a file is read-only; None if it can be written. A missing file is created. Raises StoreError."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        if path.is_file() and os.access(path, os.R_OK):
            return error
        raise _unwritable(path, error) from error
    return None if os.access(path.parent, os.W_OK) else PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(*refused(f"Conversations cannot be stored in {path}", error, OWN_FOLDER))


def _open_to_read(path: Path, busy_s: float, migrations: Sequence[Migration], refusal: OSError | None = None) -> Opened:
    """Open read-only, with a notice. ``refusal`` is why it cannot be written; None for a newer LocalSpec's file."""
    connection = _reading(path, busy_s)
    try:
        notice = _why_read_only(path, version_of(connection), len(migrations), refusal)
    except StoreError:
        connection.close()
        raise
    return Opened(connection, read_only=True, notice=notice)


def _why_read_only(path: Path, version: int, newest: int, refusal: OSError | None) -> str:
    """The notice for a database of this version; empty if it can be written. Raises StoreError for an old one."""
    if version > newest:
        why, hint = f"The conversations in {path} were stored by a newer LocalSpec.", "Update LocalSpec."
    elif refusal is not None:
        why, hint = refused(f"Conversations cannot be stored in {path}", refusal, OWN_FOLDER)
    else:
        return ""
    if version < newest:
        raise StoreError(f"{why} They were stored by an older LocalSpec, and cannot be migrated.", hint)
    return f"{why} They can be read, but nothing new is stored. {hint}"


def _reading(path: Path, busy_s: float) -> sqlite3.Connection:
    """A read-only connection. Raises sqlite3.Error.

    Even for reading SQLite creates an index file beside a database. Where it cannot, the VFS without locks keeps the
    index in memory. Where that fails too, the file is opened as immutable, without what a killed program left in the
    journal.
    """
    for mode, locking in (("ro", "NORMAL"), ("ro&vfs=unix-none", "EXCLUSIVE")):
        try:
            return _tried(path, mode, locking, busy_s)
        except sqlite3.OperationalError as error:
            if sqlite_errors.is_busy(error):
                raise
    return _connect(_uri(path, "ro&immutable=1"), busy_s)


def _tried(path: Path, mode: str, locking: str, busy_s: float) -> sqlite3.Connection:
    """A connection that has been tried by reading the version."""
    connection = _connect(_uri(path, mode), busy_s)
    try:
        connection.execute(f"PRAGMA locking_mode = {locking}")
        version_of(connection)
    except sqlite3.OperationalError:
        connection.close()
        raise
    return connection


class _Connection(sqlite3.Connection):
    """A connection that raises sqlite3.Error for every damage, also where SQLite's message quotes it."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("malformed: its schema is not UTF-8") from error


def _connect(name: str, busy_s: float) -> sqlite3.Connection:
    """A connection with explicit transactions, which several threads may share, one at a time."""
    connection = sqlite3.connect(
        name, timeout=busy_s, isolation_level=None, check_same_thread=False, uri=True, factory=_Connection
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.text_factory = _text
    return connection


def _text(stored: bytes) -> str:
    """A text of the database; U+FFFD stands for bytes of it that are damaged."""
    return stored.decode(errors="replace")


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def version_of(connection: sqlite3.Connection) -> int:
    """The number of migrations that the database has had."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _stored_version(path: Path, busy_s: float) -> int:
    """The version, read without changing anything: opening a damaged file to write would lose the journal."""
    with closing(_connect(_uri(path, "ro"), busy_s)) as connection:
        if sqlite_errors.marker(path).exists():
            _check(connection, path)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return version_of(connection)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Check a database that was marked as damaged. Raises sqlite3.DatabaseError if it is; else removes the mark."""
    for (finding,) in connection.execute("PRAGMA quick_check(1)"):
        if finding != "ok":
            raise sqlite3.DatabaseError(f"malformed: {finding}")
    sqlite_errors.marker(path).unlink(missing_ok=True)


def _migrate(connection: sqlite3.Connection, path: Path | None, migrations: Sequence[Migration]) -> None:
    version = version_of(connection)
    if version >= len(migrations):
        return
    with ExitStack() as locked:
        if version and path is not None:
            locked.enter_context(_creation_lock(path))
            if version_of(connection) == version:  # no other program has migrated it meanwhile
                back_up(connection, path.with_name(f"{path.stem}-before-v{len(migrations)}{path.suffix}"))
        connection.execute("BEGIN IMMEDIATE")
        try:
            for migration in migrations[version_of(connection) :]:
                migration(connection)
            connection.execute(f"PRAGMA user_version = {len(migrations)}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite itself may have rolled back
                connection.execute("ROLLBACK")
            raise


def back_up(connection: sqlite3.Connection, copy: Path) -> None:
    """Copy a database, readable by its owner alone; an older copy is replaced once this one is complete."""
    unfinished = copy.with_name(copy.name + ".part")
    with explaining(StoreError, f"The conversations cannot be copied to {copy} before their migration", OWN_FOLDER):
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(unfinished)) as target:
            connection.backup(target)
        unfinished.replace(copy)


def set_aside(path: Path, clock: Clock) -> Path:
    """Rename a damaged database and its companions. Raises StoreError."""
    stem = f"{path.stem}-damaged-{clock():%Y%m%dT%H%M%SZ}"
    number, aside = 1, path.with_name(stem + path.suffix)
    while aside.exists():
        number += 1
        aside = path.with_name(f"{stem}-{number}{path.suffix}")
    what = f"The file of conversations {path} is damaged and cannot be renamed"
    with explaining(StoreError, what, "move it away, and start again"):
        path.rename(aside)
        for companion in COMPANIONS:
            with suppress(FileNotFoundError):
                path.with_name(path.name + companion).rename(aside.with_name(aside.name + companion))
        sqlite_errors.marker(path).unlink(missing_ok=True)
    return aside
