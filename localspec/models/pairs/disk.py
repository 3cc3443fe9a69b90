"""Looking at the disk of a machine with several users: what may not be looked at holds nothing for us.

pathlib answers some refusals with an exception: the folder of another user (Ollama's, where it runs as a service),
a name that is too long, links that go round in circles.
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
    """Whether it leads anywhere or not."""
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
    """Whether there is something, or something that only its owner may see."""
    try:
        return path.exists()
    except PermissionError:
        return True
    except OSError:
        return False


def matching(folder: Path, pattern: str) -> list[Path]:
    """As ``folder.glob``, in order; nothing where nothing may be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def real(path: Path) -> Path:
    """Where links lead, as far as they do."""
    return Path(os.path.realpath(path))


def links_below(folder: Path) -> list[Path]:
    """Every link below a folder, however deep; none if there is no such folder.

    Raises OSError if part of it may not be read: whoever deletes what no link points to must know them all.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    found = []
    for place, folders, files in os.walk(folder, onerror=refuse):
        found += [path for name in (*folders, *files) if (path := Path(place, name)).is_symlink()]
    return found
