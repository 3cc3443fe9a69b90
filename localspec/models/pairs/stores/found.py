"""A model file that lies in some program's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from localspec.models.pairs.split_files import is_later_part

_MAX_DEPTH = 6
_MAX_FILES = 20_000
"""Looked at in one folder: nobody waits for a whole disk to be searched."""


@dataclass(frozen=True, slots=True)
class Found:
    """One model file, of several parts the first."""

    path: Path
    store: str
    """The program that keeps it."""
    name: str
    """What that program, or a person, would call it."""


def home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def gguf_files(folder: Path) -> Iterator[Path]:
    """The GGUF files under a folder, in order, later parts of a model left out; none where nothing may be read."""
    seen = 0
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [] if depth >= _MAX_DEPTH else sorted(folders)
        for file in sorted(files):
            seen += 1
            if seen > _MAX_FILES:
                return
            if file.lower().endswith(".gguf") and not is_later_part(file):
                yield Path(place, file)


def in_folder(folder: Path, store: str) -> Iterator[Found]:
    """The files under a folder, named by their way from it."""
    for path in gguf_files(folder):
        yield Found(path, store, path.relative_to(folder).as_posix())
