"""Queries of the file system that never fail: what may not be read counts as missing.

Where pathlib raises, ``os.path`` does not: in a folder of another user (Ollama's, where it runs as a service), for a
name that is too long, and for circular links.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def file_size(path: Path) -> int | None:
    """Bytes of a file; None if there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def is_link(path: Path) -> bool:
    """True for any link, also a broken one."""
    return os.path.islink(path)  # noqa: PTH114


def is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def may_exist(path: Path) -> bool:
    """True if the path exists, or may exist where only its owner can see."""
    try:
        return path.exists()
    except PermissionError:
        return True
    except OSError:
        return False


def matching(folder: Path, pattern: str) -> list[Path]:
    """The paths of ``folder.glob``, sorted; empty if the folder cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def links_below(folder: Path) -> list[Path]:
    """Every link below a folder, at any depth; none if there is no such folder.

    Raises OSError if part of it cannot be read: before unlinked files are deleted, all links must be known.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    found = []
    for place, folders, files in os.walk(folder, onerror=refuse):
        found += [path for name in (*folders, *files) if (path := Path(place, name)).is_symlink()]
    return found
