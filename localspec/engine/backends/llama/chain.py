"""A native sampler or chain of samplers, freed with the object that holds it."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable
from typing import Any


class Chain:
    """Owns a native llama_sampler."""

    __slots__ = ("__weakref__", "_c", "_native")

    def __init__(self, c: Any, native: Any) -> None:
        self._c = c
        self._native = native
        weakref.finalize(self, c.llama_sampler_free, native)

    @staticmethod
    def of(c: Any, samplers: Iterable[Any]) -> Chain:
        """A chain of native samplers, which it takes over."""
        chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        for sampler in samplers:
            c.llama_sampler_chain_add(chain, sampler)
        return Chain(c, chain)

    def attach(self, context: Any, sequence: int) -> None:
        """Work behind the network of ``context``, on its device, until another or none does; live until then."""
        self._c.llama_set_sampler(context, sequence, self._native)

    def apply(self, view: Any) -> None:
        """Let the samplers change and drop candidates of a llama_token_data_array."""
        self._c.llama_sampler_apply(self._native, ctypes.byref(view))

    def accept(self, token: int) -> None:
        """Advance whatever has a memory. A grammar must allow the token: llama.cpp would end the process."""
        self._c.llama_sampler_accept(self._native, token)

    def clone(self) -> Chain:
        return Chain(self._c, self.released_clone())

    def released_clone(self) -> Any:
        """A native copy, for the caller to free or to hand over."""
        return self._c.llama_sampler_clone(self._native)
