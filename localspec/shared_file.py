"""Files that several LocalSpecs read and write: put in place as a whole, and changed by one at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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


def replace_file(
    path: Path, data: bytes, *, private: bool = False, check: Callable[[Path], None] = lambda _: None
) -> None:
    """Write ``data`` beside ``path`` and put it in place at once, through a link if it is one.

    A ``private`` file is its owner's alone, and of a kind that is written often and missed little: nobody waits for
    the disk. Another keeps its permissions. ``check`` is given what was written, and may raise before anything is
    replaced. Raises OSError.
    """
    import tempfile  # takes time, which no start has to spare

    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{real.stem}-", suffix=real.suffix, dir=real.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if not private:
                file.flush()
                os.fsync(file.fileno())
        check(temporary)
        if not private:
            temporary.chmod(real.stat().st_mode & 0o777 if real.exists() else 0o644)
        temporary.replace(real)
    finally:
        temporary.unlink(missing_ok=True)
