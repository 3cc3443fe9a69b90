"""llama.cpp's chain in the plainest way: every sampler in its order, on every token there is."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.candidates import CANDIDATE
from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.dist import Dist
from localspec.engine.model import Logits
from localspec.engine.settings import Sampling

Law = dict[int, float]


def briefly(settings: object) -> str:
    """What of the settings is not llama.cpp's default, as the name of a test."""
    if not isinstance(settings, Sampling):
        return repr(settings)
    said = {field.name: getattr(settings, field.name) for field in fields(Sampling)}
    default = Sampling()
    return " ".join(f"{name}={value!r}" for name, value in said.items() if value != getattr(default, name))


def list_of(row: Logits) -> tuple[NDArray[np.void], Any]:
    """All tokens as candidates, and llama.cpp's view of them."""
    c = native().c
    tokens = np.zeros(len(row), dtype=CANDIDATE)
    tokens["id"], tokens["logit"] = np.arange(len(row)), row
    view = c.llama_token_data_array(tokens.ctypes.data_as(c.llama_token_data_p), len(row), -1, False)
    return tokens, view


def left_in(tokens: NDArray[np.void], view: Any) -> NDArray[np.void]:
    """The candidates a sampler kept."""
    start = (ctypes.addressof(view.data.contents) - tokens.ctypes.data) // CANDIDATE.itemsize
    return tokens[start : start + view.size]


def law_of(kept: NDArray[np.void]) -> Law:
    weights = np.exp(kept["logit"].astype(np.float64) - kept["logit"].max())
    weights /= weights.sum()
    return {int(i): float(p) for i, p in zip(kept["id"], weights, strict=True) if p > 0}


def reference(
    settings: Sampling,
    row: Logits,
    path: Sequence[int] = (),
    vocab: LlamaVocab | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> Law:
    """The law after ``path``; with ``allowed``, when all other tokens were ruled out first."""
    masked = row if allowed is None else np.where(allowed, row, -np.inf).astype(np.float32)
    law: Law = {}
    for chance, xtc in ((1 - settings.xtc_probability, 0.0), (settings.xtc_probability, 1.0)):
        if chance > 0:
            for token, probability in _outcome(settings, xtc, masked, path, vocab).items():
                law[token] = law.get(token, 0.0) + chance * probability
    return law


def _outcome(settings: Sampling, xtc: float, row: Logits, path: Sequence[int], vocab: LlamaVocab | None) -> Law:
    chain = full_chain(settings, xtc, len(row), vocab)
    for token in path:
        chain.accept(token)
    tokens, view = list_of(row)
    chain.apply(view)
    return law_of(left_in(tokens, view))


def full_chain(s: Sampling, xtc: float, n_vocab: int, vocab: LlamaVocab | None) -> Chain:
    """As common_sampler_init builds it, less the draw; XTC with a probability of its own."""
    c = native().c
    samplers = []
    if s.logit_bias:
        entries = (c.llama_logit_bias * len(s.logit_bias))(*(c.llama_logit_bias(*item) for item in s.logit_bias))
        samplers.append(c.llama_sampler_init_logit_bias(n_vocab, len(entries), entries))
    penalties = (s.repeat_last_n, s.repeat_penalty, s.frequency_penalty, s.presence_penalty)
    samplers.append(c.llama_sampler_init_penalties(n_vocab, *penalties))
    if vocab is not None:
        texts = (ctypes.c_char_p * len(s.dry_sequence_breakers))(*(t.encode() for t in s.dry_sequence_breakers))
        numbers = (s.dry_multiplier, s.dry_base, s.dry_allowed_length, s.dry_penalty_last_n)
        samplers.append(c.llama_sampler_init_dry(vocab.handle, *numbers, texts, len(texts)))
    samplers += [
        c.llama_sampler_init_top_n_sigma(s.top_n_sigma),
        c.llama_sampler_init_top_k(s.top_k),
        c.llama_sampler_init_typical(s.typical_p, 0),
        c.llama_sampler_init_top_p(s.top_p, 0),
        c.llama_sampler_init_min_p(s.min_p, 0),
        c.llama_sampler_init_xtc(xtc, s.xtc_threshold, 0, 7),
        c.llama_sampler_init_temp_ext(s.temperature, s.dynatemp_range, s.dynatemp_exponent),
    ]
    return Chain.of(c, samplers)


def assert_same(dist: Dist, law: Law, tolerance: float = 1e-5) -> None:
    """Both give the same tokens the same chance; what is next to nothing may be missing from either."""
    got = dict(zip(dist.ids.tolist(), dist.probs.tolist(), strict=True))
    for token in got.keys() | law.keys():
        assert abs(got.get(token, 0.0) - law.get(token, 0.0)) < tolerance, (token, got.get(token), law.get(token))
