"""The embedding models of this machine: passages of attached files are found by the vectors of the smallest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.models.embedders import is_embedder
from localspec.models.pairs.scan import find_files
from localspec.models.pairs.split_files import read_parts
from localspec.models.pairs.user_pairs import own_pairs

_PROBE_BYTES = 65_536
_TRACE = re.compile(rb"pooling_type|general\.architecture[\s\S]{12}(?:[a-z-]*bert|gemma-embedding)")
"""It stands in front of the long lists of a header, so that most files are known as others by their beginning."""


def find_embedder(environ: Mapping[str, str]) -> Path | None:
    """The smallest embedding model on this machine; None if there is none."""
    return next(iter(find_embedders(environ)), None)


def find_embedders(environ: Mapping[str, str]) -> list[Path]:
    """The embedding models in the folders of programs that keep models, and beside the user's own pairs.

    The smallest comes first.
    """
    sizes = {}
    for path in (found.path for found in find_files(_own_folders(), environ) if _may_be(found.path)):
        with suppress(LocalSpecError, OSError, ValueError):  # also for one in several files
            (header,) = read_parts(path)
            if is_embedder(header):
                sizes[path] = header.size_bytes
    return sorted(sizes, key=lambda path: (sizes[path], path))


def passages_found_by(embedder: Path | None) -> str:
    """The ways in which passages of attached files are found, for people."""
    return f"words and meaning: {embedder.name}" if embedder else "words; no embedding model is on this machine"


def _own_folders() -> list[Path]:
    """The folders of the targets of the user's own pairs."""
    folders = dict[Path, None]()
    with suppress(LocalSpecError):
        for pair in own_pairs():
            with suppress(NotFoundError):
                folders[pair.locate(pair.target).parent] = None
    return list(folders)


def _may_be(path: Path) -> bool:
    try:
        return _TRACE.search(read_beginning(path, _PROBE_BYTES)) is not None
    except OSError:
        return False
