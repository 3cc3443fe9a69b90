"""Files that other programs may read at any moment: written beside their place, then put there in one step."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_NAME_BYTES = 100
"""The part of a file's name that its temporary file repeats; file systems allow names of 255 bytes."""
_STALE_S = 3600.0
"""A temporary file of this age was left behind by a program that was killed."""


@contextmanager
def new_private_file(path: Path) -> Iterator[TextIO]:
    """A stream into a file that does not exist yet, readable by its owner alone; it has its name once it is complete.

    Raises FileExistsError if the name is taken, at the beginning or by the end; OSError.
    """
    _refuse_taken(path)
    descriptor, temporary = _open_temporary(path, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            yield stream
            stream.flush()
            os.fsync(descriptor)
        _give_name(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def replace_file(
    path: Path, data: bytes, *, private: bool = False, check: Callable[[Path], None] = lambda _: None
) -> None:
    """Replace the content of a file in one step; a link stays, and the file that it leads to is replaced.

    A ``private`` file is readable by its owner alone. It is written often and can be spared, so nothing waits for the
    disk. Any other file keeps its permissions. ``check`` is given the temporary file and may raise to keep the old
    content. Raises OSError.
    """
    real = resolved(path)
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if private else _permissions(real)
    descriptor, temporary = _open_temporary(real, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if not private:
                file.flush()
                os.fsync(file.fileno())
        check(temporary)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(real)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Replace a file that a person named; a device or a pipe is written to. Raises OSError."""
    if is_stream(path):
        # Append, so that earlier output stays; without O_CREAT, so that a pipe that has gone does not become a file.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as stream:
            stream.write(text)
        return
    resolved(path).parent.stat()  # a missing folder is not created: its name may be a slip
    replace_file(path, text.encode())


def resolved(path: Path) -> Path:
    """The file that ``path`` leads to through links; it need not exist."""
    try:
        return Path(os.path.realpath(path))
    except OSError:  # a link that went between two looks at it
        return Path(os.path.abspath(path))  # noqa: PTH100 -- as above, without links


def file_stamp(path: Path) -> tuple[int, int] | None:
    """The time and size of a file, by which a change is noticed; None if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def is_stream(path: Path) -> bool:
    """True for a device, a terminal or a pipe, and for the file that this process's own output goes to.

    Such a path can be written to, but not replaced.
    """
    try:
        status = path.stat()
    except OSError:
        return False
    return not stat.S_ISREG(status.st_mode) or any(_is_open_as(number, status) for number in (1, 2))


def _open_temporary(path: Path, mode: int) -> tuple[int, Path]:
    """A new file in the folder of ``path``. Its name cannot be guessed, and a link of that name is not followed."""
    _remove_stale(path)
    stem, suffix = _repeated(path)
    temporary = path.with_name(f".{stem}-{os.urandom(8).hex()}{suffix}")
    return os.open(temporary, _NEW_FILE, mode), temporary


def _repeated(path: Path) -> tuple[str, str]:
    """The beginnings of the stem and the suffix of a file that its temporary file repeats."""
    stem, suffix = (os.fsencode(part)[:_NAME_BYTES].decode(errors="ignore") for part in (path.stem, path.suffix))
    return stem, suffix


def _remove_stale(path: Path) -> None:
    """Delete temporary files for ``path`` that killed programs of this user have left behind."""
    stem, suffix = map(re.escape, _repeated(path))
    name = re.compile(rf"\.{stem}-[0-9a-f]{{16}}{suffix}")
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                status = entry.stat(follow_symlinks=False)
                old = time.time() - status.st_mtime > _STALE_S
                if old and stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
                    Path(entry.path).unlink()


def _give_name(temporary: Path, path: Path) -> None:
    """Rename a finished file. Raises FileExistsError if the name has been taken meanwhile."""
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
    """The permission bits of a file; None if it does not exist."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _is_open_as(descriptor: int, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), status)
    except OSError:
        return False  # it is closed
