"""llama.cpp's own samplers as a distribution: its chain, in its order, without the final draw."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from localspec.engine.backends.native import Native, native
from localspec.engine.dist import Dist
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.settings import Sampling
from localspec.errors import EngineError

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""llama_token_data."""


def make_sampler(settings: Sampling, n_vocab: int) -> Sampler:
    """The sampler for these settings; greedy needs no library."""
    return Greedy() if settings.greedy else ChainSampler(native(), settings, n_vocab)


class ChainSampler:
    """top-k, top-p, min-p, temperature: llama.cpp's default order.

    All four look at one row alone, so there is no state to advance and a fork is the sampler itself.
    Equal rows give equal distributions, bit for bit.
    """

    def __init__(self, native: Native, settings: Sampling, n_vocab: int) -> None:
        c = native.c
        self._c = c
        self._ids = np.arange(n_vocab, dtype=np.int32)
        self._candidates = np.zeros(n_vocab, dtype=_CANDIDATE)
        self._pointer = self._candidates.ctypes.data_as(c.llama_token_data_p)
        self._chain = _chain(c, settings)
        weakref.finalize(self, c.llama_sampler_free, self._chain)

    def dist(self, row: Logits) -> Dist:
        # A draft's rows may be shorter than the target's.
        candidates = self._candidates[: len(row)]
        # The samplers reorder the candidates, so the ids are written anew each time.
        candidates["id"] = self._ids[: len(row)]
        candidates["logit"] = row
        view = self._c.llama_token_data_array(self._pointer, len(candidates), -1, False)
        self._c.llama_sampler_apply(self._chain, ctypes.byref(view))
        kept = candidates[: view.size]
        # The samplers leave logits that are scaled but not normalised.
        logits = kept["logit"].astype(np.float64)
        weights = np.exp(logits - logits.max())
        if not np.isfinite(weights.sum()):
            raise EngineError("The model's scores are not numbers.", "Its file may be damaged; check or replace it.")
        return Dist.of(kept["id"].astype(np.int64), weights)

    def accept(self, token: int) -> None:
        """Nothing to remember."""

    def fork(self) -> ChainSampler:
        return self


def _chain(c: Any, settings: Sampling) -> Any:
    chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
    for sampler in (
        c.llama_sampler_init_top_k(settings.top_k),
        c.llama_sampler_init_top_p(settings.top_p, 1),
        c.llama_sampler_init_min_p(settings.min_p, 1),
        c.llama_sampler_init_temp(settings.temperature),
    ):
        c.llama_sampler_chain_add(chain, sampler)
    return chain
