"""The likeliest tokens, found where the scores were computed.

A step of a small draft on a GPU takes less time than fetching the scores of 150,000 tokens and looking through them.
llama.cpp can run a sampler behind the network, in the same graph; then it hands over what the sampler kept and nothing
else. Whether a sampler is there belongs to the context, and changing that makes llama.cpp plan its memory anew, which
takes milliseconds: so not in the middle of a reply.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.model import Likeliest

KEPT_N = 256
"""More than filters usually leave to choose from, and little to fetch."""
_SEQUENCE = 0
_IDS, _SCORES = np.dtype(np.int32), np.dtype(np.float32)


class DeviceRanking:
    """Top-k behind one context's network, attached or not."""

    def __init__(self, loaded: LoadedModel, n_vocab: int) -> None:
        self._c = loaded.native.c
        self._context = loaded.context
        self._kept_n = min(KEPT_N, n_vocab)
        self._n_vocab = n_vocab
        self._chain: Chain | None = None

    @staticmethod
    def of(loaded: LoadedModel, n_vocab: int) -> DeviceRanking | None:
        """None where scores are better ranked here. Tokens from ``n_vocab`` on are left out."""
        return DeviceRanking(loaded, n_vocab) if loaded.ranked_on_device else None

    @property
    def attached(self) -> bool:
        return self._chain is not None

    def attach(self) -> None:
        """From now on evaluations rank, and the context has no other scores."""
        if self._chain is None:
            # A new one each time: llama.cpp ends the process over a sampler that is attached twice.
            self._chain = Chain.of(self._c, [self._c.llama_sampler_init_top_k(self._kept_n)])
            self._chain.attach(self._context, _SEQUENCE)

    def detach(self) -> None:
        """From now on evaluations give all scores again."""
        if self._chain is not None:
            self._c.llama_set_sampler(self._context, _SEQUENCE, None)
            self._chain = None

    free = detach

    def read(self, index: int) -> Likeliest | None:
        """The likeliest tokens after the token at this place of the last batch; None if its device cannot rank."""
        c, context = self._c, self._context
        n = c.llama_get_sampled_candidates_count_ith(context, index)
        if not n or c.llama_get_sampled_logits_count_ith(context, index) != n:
            return None
        ids = _copied(c.llama_get_sampled_candidates_ith(context, index), n, _IDS).astype(np.int64)
        scores = _copied(c.llama_get_sampled_logits_ith(context, index), n, _SCORES)
        known = (ids < self._n_vocab) & (scores != -np.inf)
        if not known.all():
            # A head for a part of the vocabulary has minus infinity for the rest of it.
            ids, scores = ids[known], scores[known]
        order = ids.argsort()
        return Likeliest(ids[order], scores[order]) if len(order) else None


def _copied(first: Any, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The ``n`` numbers that begin at ``first``: llama.cpp writes there again next time."""
    place = (ctypes.c_uint8 * (n * dtype.itemsize)).from_address(ctypes.addressof(first.contents))
    return np.frombuffer(memoryview(place), dtype).copy()
