"""Embedding models, which turn a text into one vector: recognised by their header, and found among known files.

The architectures and the pooling types were read from the source of the build 0c1e570 (llama-cpp-python 0.3.36):
``src/llama-arch.cpp`` and ``include/llama.h``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import LocalSpecError
from localspec.gguf import GgufHeader, read_header
from localspec.models.pairs.disk import real
from localspec.models.pairs.stores import STORES, Found
from localspec.models.pairs.stores.found import gguf_files
from localspec.models.pairs.user_pairs import own_pairs

EMBEDDER = "It is an embedding model: passages of attached files are found with it."
_ARCHITECTURES = {
    *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert"),
    "gemma-embedding",
}
_MEAN, _LAST, _RANK = 1, 3, 4
"""The pooling types that give one vector for a text go from mean to last; a reranker gives a score."""
_PROBE_BYTES = 65_536
_TRACE = re.compile(rb"pooling_type|general\.architecture[\s\S]{12}(?:[a-z-]*bert|gemma-embedding)")
"""It stands in front of the long lists of a header, so that most files are known as others by their beginning."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """The texts that a model expects in front of a question, and of a passage."""

    question: str = ""
    passage: str = ""


_INSTRUCTIONS = (
    ("nomic", Instructions("search_query: ", "search_document: ")),
    ("e5", Instructions("query: ", "passage: ")),
    ("qwen3", Instructions("Instruct: Find the passages that answer the question\nQuery: ")),
    ("gemma", Instructions("task: search result | query: ", "title: none | text: ")),
    ("arctic", Instructions("Represent this sentence for searching relevant passages: ")),
    ("bge", Instructions("Represent this sentence for searching relevant passages: ")),
)
"""By a word of the model's name or architecture, as the makers' pages say; models of no such name take the text."""


def is_embedder(header: GgufHeader) -> bool:
    """True for a model that gives a vector for a text."""
    pooling = header.integer(f"{header.architecture}.pooling_type")
    if pooling is not None:
        return _MEAN <= pooling <= _LAST
    return header.architecture in _ARCHITECTURES


def instructions(header: GgufHeader) -> Instructions:
    """The instructions that the model was trained with."""
    words = set(re.findall(r"[a-z]+\d*", f"{header.architecture} {header.name or ''} {header.source}".lower()))
    return next((found for word, found in _INSTRUCTIONS if word in words), Instructions())


def find_embedder(environ: dict[str, str]) -> Path | None:
    """The smallest embedding model in the folders of programs that keep models, and beside the user's own pairs."""
    found = {real(path): path for path in _files(environ) if _may_be(path)}
    sizes = {}
    for path in found.values():
        with suppress(LocalSpecError, OSError):
            header = read_header(path)
            if is_embedder(header) and header.split_count == 1:
                sizes[path] = header.size_bytes
    return min(sizes, key=lambda path: (sizes[path], path), default=None)


def _files(environ: dict[str, str]) -> Iterator[Path]:
    stores: Iterable[Found] = (found for store in STORES.values() for found in store(environ))
    yield from (found.path for found in stores)
    with suppress(LocalSpecError):
        for folder in {target.parent for pair in own_pairs() if (target := pair.files().target).exists()}:
            yield from gguf_files(folder)


def _may_be(path: Path) -> bool:
    try:
        return _TRACE.search(read_beginning(path, _PROBE_BYTES)) is not None
    except OSError:
        return False
