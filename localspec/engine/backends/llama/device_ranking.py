"""The likeliest tokens, found where the scores were computed.

A step of a small draft on a GPU takes less time than fetching the scores of 150,000 tokens and looking through them.
llama.cpp can run a sampler behind the network, in the same graph; then it hands over what the sampler kept and nothing
else. Whether a sampler is there belongs to the context, and changing that makes llama.cpp plan its memory anew, which
takes milliseconds: so not in the middle of a reply.
"""

from __future__ import annotations

import numpy as np

from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.backends.llama.native_views import NativeViews
from localspec.engine.model import Likeliest

KEPT_N = 128
"""More than filters usually leave to choose from, penalties included, and little to fetch and to sort."""
_SEQUENCE = 0


class DeviceRanking:
    """Top-k behind one context's network, attached or not."""

    def __init__(self, loaded: LoadedModel, n_vocab: int) -> None:
        self._c = loaded.native.c
        self._context = loaded.context
        self._kept_n = min(KEPT_N, n_vocab)
        self._n_vocab = n_vocab
        self._chain: Chain | None = None
        self._views = NativeViews()

    @staticmethod
    def of(loaded: LoadedModel, n_vocab: int) -> DeviceRanking | None:
        """None where scores are better ranked here. Tokens from ``n_vocab`` on are left out."""
        return DeviceRanking(loaded, n_vocab) if loaded.ranked_on_device else None

    @property
    def attached(self) -> bool:
        return self._chain is not None

    def attach(self) -> None:
        """Have evaluations rank from now on; the context then has no other scores."""
        if self._chain is None:
            # A new one each time: llama.cpp ends the process over a sampler that is attached twice.
            self._chain = Chain.of(self._c, [self._c.llama_sampler_init_top_k(self._kept_n)])
            self._chain.attach(self._context, _SEQUENCE)

    def detach(self) -> None:
        """Have evaluations give all scores again."""
        if self._chain is not None:
            self._c.llama_set_sampler(self._context, _SEQUENCE, None)
            self._chain = None

    def read(self, index: int) -> Likeliest | None:
        """The likeliest tokens after the token at this place of the last batch; None if its device cannot rank."""
        c, context = self._c, self._context
        n = c.llama_get_sampled_candidates_count_ith(context, index)
        if not n or c.llama_get_sampled_logits_count_ith(context, index) != n:
            return None
        # Copies: llama.cpp writes there again next time.
        (ids,) = self._views.of(c.llama_get_sampled_candidates_ith(context, index), 1, n).astype(np.int64)
        (scores,) = self._views.of(c.llama_get_sampled_logits_ith(context, index), 1, n).copy()
        order = ids.argsort()
        ids, scores = ids[order], scores[order]
        if ids[-1] >= self._n_vocab or scores.min() == -np.inf:
            # A head for a part of the vocabulary has minus infinity for the rest of it.
            known = (ids < self._n_vocab) & (scores != -np.inf)
            ids, scores = ids[known], scores[known]
        return Likeliest(ids, scores) if len(ids) else None
