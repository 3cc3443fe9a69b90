"""The models of other programs, used in place and never moved, changed or deleted.

Each module knows the folders and the naming of a program, or of several with plain folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from localspec.models.pairs.stores import app_folders, hub, ollama
from localspec.models.pairs.stores.found import Found

Store = Callable[[Mapping[str, str]], Iterator[Found]]
"""Lists the models of one program, given the environment variables."""

STORES: Mapping[str, Store] = MappingProxyType(
    {
        hub.NAME: hub.find,
        app_folders.LM_STUDIO: app_folders.find_lm_studio,
        ollama.NAME: ollama.find,
        app_folders.LLAMA_CPP: app_folders.find_llama_cpp,
        app_folders.JAN: app_folders.find_jan,
        app_folders.GPT4ALL: app_folders.find_gpt4all,
    }
)

__all__ = ["STORES", "Found"]
