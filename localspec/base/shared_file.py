"""Files that others read meanwhile: replaced as a whole, and changed by one at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other LocalSpecs from changing ``path`` meanwhile, by a lock on its folder, which is made.

    For whoever reads a file and writes it anew. Not to be nested: the folder's other files are locked with it.
    Raises OSError where there is no folder to be had.
    """
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def new_private_file(path: Path) -> Iterator[TextIO]:
    """A file that was not there: whole or not there at all, and its owner's alone.

    Raises FileExistsError if the name is taken, also while the file is written; OSError.
    """
    _refuse_taken(path)
    descriptor, temporary = _beside(path, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            yield stream
            stream.flush()
            os.fsync(descriptor)
        _name(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def replace_file(
    path: Path, data: bytes, *, private: bool = False, check: Callable[[Path], None] = lambda _: None
) -> None:
    """Write ``data`` beside ``path`` and put it in place at once, through a link if it is one.

    A ``private`` file is its owner's alone, and of a kind that is written often and missed little: nobody waits for
    the disk. Another keeps its permissions. ``check`` is given what was written, and may raise before anything is
    replaced. Raises OSError.
    """
    real = followed(path)
    real.parent.mkdir(parents=True, exist_ok=True)
    kept = 0o600 if private else _permissions(real)
    descriptor, temporary = _beside(real, 0o666 if kept is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if not private:
                file.flush()
                os.fsync(file.fileno())
        check(temporary)
        if kept is not None:
            temporary.chmod(kept)
        temporary.replace(real)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Replace a file that a person named, in one step; a passage is written through. Raises OSError."""
    if is_passage(path):
        # Behind all that is there; and never made, should it have gone meanwhile.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as stream:
            stream.write(text)
        return
    followed(path).parent.stat()  # a folder that is not there is not made: its name may be a slip
    replace_file(path, text.encode())


def followed(path: Path) -> Path:
    """The file itself, at the end of the links that lead to it; it need not be there."""
    return Path(os.path.realpath(path))


def is_passage(path: Path) -> bool:
    """Whether what is written there goes on to somewhere else, and nothing can take its place.

    So it is with devices, terminals and pipes, and with a file that our own output goes to (``/dev/stdout``).
    """
    try:
        there = path.stat()
    except OSError:
        return False
    return not stat.S_ISREG(there.st_mode) or any(_leads_to(number, there) for number in (1, 2))


def _beside(path: Path, mode: int) -> tuple[int, Path]:
    """A new file in the same folder, by a name that cannot be guessed; what has it, say a link, is not written to."""
    temporary = path.with_name(f".{path.stem[:100]}-{os.urandom(8).hex()}{path.suffix}")
    return os.open(temporary, _NEW_FILE, mode), temporary


def _name(temporary: Path, path: Path) -> None:
    """Give a finished file its name, unless somebody has taken that meanwhile."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # a file system without hard links
        _refuse_taken(path)
        temporary.rename(path)


def _refuse_taken(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _permissions(path: Path) -> int | None:
    """Those of a file; None if it is not there."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _leads_to(descriptor: int, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), there)
    except OSError:
        return False  # it is closed
