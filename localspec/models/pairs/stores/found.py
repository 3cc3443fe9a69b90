"""A model file in a program's folder, and the search for such files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from localspec.base.paths import expanded
from localspec.base.shared_file import resolved
from localspec.models.pairs.split_files import is_later_part

_MAX_DEPTH = 6
_MAX_FILES = 20_000
"""The largest number of files examined in one folder, so that not a whole disk is searched."""


@dataclass(frozen=True, slots=True)
class Found:
    """A model file; of a split model, the first."""

    path: Path
    store: str
    """The name of the program that owns it."""
    name: str
    """The program's name for it."""


def home(environ: Mapping[str, str]) -> Path:
    return expanded(environ.get("HOME") or "~")


def gguf_files(folder: Path) -> Iterator[Path]:
    """The GGUF files under a folder, sorted, without later files of split models; none if it cannot be read.

    Links to folders are followed, but not to those above, as Wine makes one to the whole disk; each is entered once.
    """
    seen, entered, top = 0, set[Path](), resolved(folder)
    for place, folders, files in os.walk(folder, followlinks=True):
        real = resolved(Path(place))
        if real in entered or (entered and top.is_relative_to(real)):
            folders.clear()
            continue
        entered.add(real)
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [] if depth >= _MAX_DEPTH else sorted(folders)
        for file in sorted(files):
            seen += 1
            if seen > _MAX_FILES:
                return
            if file.lower().endswith(".gguf") and not is_later_part(file):
                yield Path(place, file)


def in_folder(folder: Path, store: str) -> Iterator[Found]:
    """The files under a folder, named by their relative path."""
    for path in gguf_files(folder):
        yield Found(path, store, path.relative_to(folder).as_posix())
