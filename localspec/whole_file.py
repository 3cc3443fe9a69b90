"""Files written for people and other programs: replaced as a whole, wherever their name leads."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


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


def write_whole(path: Path, text: str) -> None:
    """Write in one step, so that an older file is either kept or replaced. Raises OSError.

    Links and permissions stay as they are; a passage is written through.
    """
    if is_passage(path):
        # Behind all that is there; and never made, should it have gone meanwhile.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as stream:
            stream.write(text)
        return
    real = followed(path)
    temporary = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        if real.exists():
            temporary.chmod(stat.S_IMODE(real.stat().st_mode))
        temporary.replace(real)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _leads_to(descriptor: int, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), there)
    except OSError:
        return False  # it is closed
