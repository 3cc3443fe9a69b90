"""Mirostat, which aims at a constant surprise: it keeps as many tokens as its running estimate mu allows."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np

from localspec.engine.backends.llama.candidates import Candidates, best_score, not_numbers
from localspec.engine.backends.llama.chain import Chain
from localspec.engine.dist import Dist
from localspec.engine.model import Logits
from localspec.engine.settings import Sampling

_ANY_SEED = 1
_ESTIMATED_FROM = 100
"""Likeliest tokens that the first version fits Zipf's law to, as many as in llama.cpp's chain."""


class MirostatSampler:
    """llama.cpp's mirostat, Basu et al. 2021 (arXiv 2007.14966), with mu kept here.

    llama.cpp draws a token inside the sampler and corrects mu by it. Here the truncation is llama.cpp's and
    its draw is thrown away: a sampler is made for every choice, whose first mu is twice the tau it is given.
    mu is corrected by the token that is really accepted.
    """

    stateless = False

    def __init__(self, c: Any, settings: Sampling, candidates: Candidates, bias: Chain) -> None:
        self._c = c
        self._settings = settings
        self._candidates = candidates
        self._bias = bias
        self._temperature = Chain(c, c.llama_sampler_init_temp(settings.temperature))
        self._latest: Dist | None = None
        self.mu = 2 * settings.mirostat_tau

    def dist(self, row: Logits) -> Dist:
        if not np.isfinite(row.max()):
            raise not_numbers()
        view = self._candidates.take(row)
        for chain in (self._bias, self._temperature):
            chain.apply(view)
        best_score(self._candidates.kept(view)["logit"])  # of what is no number llama.cpp makes a choice all the same
        self._truncation().apply(view)
        kept = self._candidates.kept(view)
        self._latest = Dist.of(kept["id"].astype(np.int64), kept["p"].astype(np.float64))
        return self._latest

    def accept(self, token: int) -> None:
        """``token`` was committed after the row last asked about; one that had no chance there tells nothing."""
        if self._latest and (prob := float(self._latest.prob(token))) > 0:
            self.mu -= self._settings.mirostat_eta * (-log2(prob) - self._settings.mirostat_tau)
        self._latest = None

    def fork(self) -> MirostatSampler:
        fork = MirostatSampler(self._c, self._settings, self._candidates, self._bias)
        fork.mu, fork._latest = self.mu, self._latest
        return fork

    def _truncation(self) -> Chain:
        tau, eta = self.mu / 2, self._settings.mirostat_eta
        if self._settings.mirostat == 2:
            return Chain(self._c, self._c.llama_sampler_init_mirostat_v2(_ANY_SEED, tau, eta))
        numbers = (self._candidates.n_vocab, _ANY_SEED, tau, eta, _ESTIMATED_FROM)
        return Chain(self._c, self._c.llama_sampler_init_mirostat(*numbers))
