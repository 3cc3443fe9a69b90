"""Folders and GGUF files on this disk: the ones that can be chosen, and the rest of a path that is being typed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from localspec.base.visible import is_visible
from localspec.models.pairs.disk import is_folder
from localspec.models.pairs.split_files import is_later_part

_OF_PATHS = ("/", "~", "./", "../")
"""The beginnings of paths."""
_MOST = 20_000
"""The most entries of a folder that are looked at."""


def typed_path(text: str) -> Path | None:
    """The path that was typed; None for other words."""
    text = text.strip()
    return Path(os.path.expanduser(text)) if text.startswith(_OF_PATHS) else None  # noqa: PTH111 -- never raises


def folder_around(path: Path | None) -> Path:
    """The folder to begin a choice in: the typed path, the nearest folder around it, or that of the user."""
    within = () if path is None else (path, *path.parents)
    return next(filter(is_folder, within), Path.home()).absolute()


def choosable(paths: Iterable[Path], *, hidden: bool = False) -> Iterator[Path]:
    """The folders and models among ``paths``; of a split model the first file. Slow where the disk is."""
    for path in islice(paths, _MOST):
        if (hidden or not path.name.startswith(".")) and (_is_model(path.name) or is_folder(path)):
            yield path


def completed(text: str) -> str | None:
    """A typed path with the rest of the first name that begins so; None if there is no such name.

    A folder ends with a slash.
    """
    if typed_path(text) is None:
        return None
    folder, slash, name = text.rpartition("/")
    if not slash:
        return f"{text}/"
    try:
        inside = list(Path(os.path.expanduser(f"{folder}/")).iterdir())  # noqa: PTH111 -- never raises
    except (OSError, ValueError):
        return None
    beginning = (path for path in inside if path.name.startswith(name) and is_visible(path.name))
    found = min(choosable(beginning, hidden=name.startswith(".")), key=lambda path: path.name, default=None)
    return None if found is None else f"{folder}/{found.name}{'/' if is_folder(found) else ''}"


def _is_model(name: str) -> bool:
    return name.lower().endswith(".gguf") and not is_later_part(name)
