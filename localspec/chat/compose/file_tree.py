"""Files below a folder, found in bounded time."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from localspec.base.bounded_file import read_file

MAX_ENTRIES = 20_000
MAX_SEEK_S = 2.0
_MOST_BYTES = 1_000_000
"""The largest list of files that git ignores."""

_NOISE = {
    *("node_modules", "bower_components", "vendor", "Pods", "DerivedData"),
    *("__pycache__", "venv", "env", "site-packages", "htmlcov", "coverage"),
    *("dist", "build", "target", "out"),
}
"""Folders that tools fill; hidden ones (.git, .venv, .cache) are passed over anyway."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Paths, the nearest first; folders end with a slash."""

    paths: tuple[str, ...]
    complete: bool = True
    """False if there was more than was looked at."""


def list_files(
    root: Path,
    max_entries: int = MAX_ENTRIES,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> Listing:
    """Paths below ``root``, level by level, without what is hidden, built or named in its ``.gitignore``.

    Ends early after ``max_entries`` entries or two seconds. Never raises: what cannot be read is passed over,
    and links to folders are not followed.
    """
    ignored = _ignored_by_git(root)
    found: list[str] = []
    folders = deque([""])
    give_up_at = clock() + MAX_SEEK_S
    seen_n = 0
    while folders:
        if cancelled() or clock() > give_up_at:
            return Listing(tuple(found), complete=False)
        folder = folders.popleft()
        for name, is_folder in _entries(root / folder, max_entries + 1):
            seen_n += 1
            if seen_n > max_entries:
                return Listing(tuple(found), complete=False)
            path = f"{folder}{name}{'/' if is_folder else ''}"
            if _unwanted(name, is_folder) or any(fnmatch(name, pattern) for pattern in ignored):
                continue
            found.append(path)
            if is_folder:
                folders.append(path)
    return Listing(tuple(found))


def list_folder(folder: Path, max_entries: int = MAX_ENTRIES) -> Listing:
    """The entries of one folder, hidden ones too. Never raises."""
    entries = _entries(folder, max_entries + 1)
    names = [f"{name}{'/' if is_folder else ''}" for name, is_folder in entries if name.isprintable()]
    return Listing(tuple(names[:max_entries]), complete=len(entries) <= max_entries)


def _entries(folder: Path, at_most: int) -> list[tuple[str, bool]]:
    """Sorted names, each with True for a folder; pipes, sockets and devices are left out."""
    try:
        with os.scandir(folder) as entries:
            looked_at = [(entry.name, _is_folder(entry)) for entry in islice(entries, at_most)]
    except (OSError, ValueError):
        return []
    return sorted((name, is_folder) for name, is_folder in looked_at if is_folder is not None)


def _is_folder(entry: os.DirEntry[str]) -> bool | None:
    """True for a folder, False for a file; None for neither, as for a link that leads to itself."""
    try:
        is_folder = entry.is_dir(follow_symlinks=False)
        return is_folder if is_folder or entry.is_file() else None
    except OSError:
        return None


def _unwanted(name: str, is_folder: bool) -> bool:
    return (
        name.startswith(".") or not name.isprintable() or (is_folder and (name in _NOISE or name.endswith(".egg-info")))
    )


def _ignored_by_git(root: Path) -> tuple[str, ...]:
    """The patterns for plain names in the folder's own ``.gitignore``; those about paths are not understood."""
    try:
        rows = read_file(root / ".gitignore", _MOST_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return ()
    names = (row.strip().strip("/") for row in rows)
    return tuple(name for name in names if name and "/" not in name and name[0] not in "#!")[:200]
