"""Where other programs keep their models: found, read and used in place; never moved, changed or deleted.

Each module knows one program's folders and how it names what is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from localspec.models.pairs.stores import hub, jan, llama_cpp, lm_studio, ollama
from localspec.models.pairs.stores.found import Found

Store = Callable[[Mapping[str, str]], Iterator[Found]]
"""The models of one program, by the environment's variables; a folder that is not there holds none."""

STORES: Mapping[str, Store] = MappingProxyType(
    {
        hub.NAME: hub.find,
        lm_studio.NAME: lm_studio.find,
        ollama.NAME: ollama.find,
        llama_cpp.NAME: llama_cpp.find,
        jan.NAME: jan.find,
    }
)

__all__ = ["STORES", "Found", "Store"]
