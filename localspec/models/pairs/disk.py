"""Queries of the file system that never fail: what may not be read counts as missing.

pathlib raises for some paths: in a folder of another user (Ollama's, where it runs as a service), with a name that is
too long, or with circular links.
"""

from __future__ import annotations

import os
from pathlib import Path


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def is_link(path: Path) -> bool:
    """True for any link, also a broken one."""
    try:
        return path.is_symlink()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


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
