"""The embedding models of this machine: passages of attached files are found by the vectors of the smallest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.base.shared_file import resolved
from localspec.models.embedders import is_embedder
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.split_files import read_parts
from localspec.models.pairs.stores import STORES, Found
from localspec.models.pairs.stores.found import gguf_files
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
    found = {resolved(path): path for path in _files(environ) if _may_be(path)}
    sizes = {}
    for path in found.values():
        with suppress(LocalSpecError, OSError, ValueError):  # also for one in several files
            (header,) = read_parts(path)
            if is_embedder(header):
                sizes[path] = header.size_bytes
    return sorted(sizes, key=lambda path: (sizes[path], path))


def passages_found_by(embedder: Path | None) -> str:
    """The ways in which passages of attached files are found, for people."""
    return f"words and meaning: {embedder.name}" if embedder else "words; no embedding model is on this machine"


def _files(environ: Mapping[str, str]) -> Iterator[Path]:
    stores: Iterable[Found] = (found for store in STORES.values() for found in store(environ))
    yield from (found.path for found in stores)
    own: tuple[Pair, ...] = ()
    with suppress(LocalSpecError):
        own = own_pairs()
    for pair in own:
        with suppress(NotFoundError):
            yield from gguf_files(pair.locate(pair.target).parent)


def _may_be(path: Path) -> bool:
    try:
        return _TRACE.search(read_beginning(path, _PROBE_BYTES)) is not None
    except OSError:
        return False
