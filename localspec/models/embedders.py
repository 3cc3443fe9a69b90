"""Embedding models, which turn a text into one vector: recognised by their header.

The architectures and the pooling types were read from the source of the build 0c1e570 (llama-cpp-python 0.3.36):
``src/llama-arch.cpp`` and ``include/llama.h``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from localspec.gguf import GgufHeader

EMBEDDER = "It is an embedding model: passages of attached files are found with it."
EMBEDDING_ARCHITECTURES = {
    *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert"),
    "gemma-embedding",
}
_MEAN, _LAST, _RANK = 1, 3, 4
"""The pooling types that give one vector for a text go from mean to last; a reranker gives a score."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """The texts that a model expects in front of a question, and of a passage."""

    question: str = ""
    passage: str = ""


_TASK = Instructions("Instruct: Find the passages that answer the question\nQuery: ")
_SEARCHING = Instructions("Represent this sentence for searching relevant passages: ")
_INSTRUCTIONS = (
    ("nomic", Instructions("search_query: ", "search_document: ")),
    ("e5 instruct", _TASK),
    ("e5", Instructions("query: ", "passage: ")),
    ("qwen3", _TASK),
    ("gemma", Instructions("task: search result | query: ", "title: none | text: ")),
    ("m3", Instructions()),
    ("arctic v2", Instructions("query: ")),
    ("arctic", _SEARCHING),
    ("bge", _SEARCHING),
    ("mxbai", _SEARCHING),
)
"""The instructions by words of the model's name or architecture, as the makers' pages say; others get the text."""


def is_embedder(header: GgufHeader) -> bool:
    """True for a model that gives a vector for a text."""
    pooling = _pooling(header)
    if pooling is not None:
        return _MEAN <= pooling <= _LAST
    return header.architecture in EMBEDDING_ARCHITECTURES


def wordless(header: GgufHeader) -> str:
    """The kind of a model that reads text and writes none, with its article; empty for any other file."""
    if is_embedder(header):
        return "an embedding model"
    if _pooling(header) == _RANK:
        return "a reranker"
    return "an encoder" if header.architecture in EMBEDDING_ARCHITECTURES else ""


def instructions(header: GgufHeader) -> Instructions:
    """The instructions that the model was trained with."""
    words = set(re.findall(r"[a-z]+\d*", f"{header.architecture} {header.name or ''} {header.source}".lower()))
    return next((found for needed, found in _INSTRUCTIONS if words.issuperset(needed.split())), Instructions())


def _pooling(header: GgufHeader) -> int | None:
    return header.integer(f"{header.architecture}.pooling_type")
