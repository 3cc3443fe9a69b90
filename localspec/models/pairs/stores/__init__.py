"""The models of other programs, used in place and never moved, changed or deleted.

Each module knows the folders and the naming of one program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from localspec.models.pairs.stores import hub, jan, llama_cpp, lm_studio, ollama
from localspec.models.pairs.stores.found import Found

Store = Callable[[Mapping[str, str]], Iterator[Found]]
"""Lists the models of one program, given the environment variables."""

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
