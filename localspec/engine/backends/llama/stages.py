"""llama.cpp's samplers for given settings, in its order, grouped by what they need to know."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.candidates import Candidates, Ids
from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.settings import BANNED, Sampling

Biases = Mapping[int, float]
"""The amounts added to the scores of tokens."""

_MIN_KEEP = 0
_ANY_SEED = 1
"""The seed of an XTC that never draws: with llama.cpp's default seed it would ask the system for one."""

_DrySettings = tuple[float, float, int, int, tuple[str, ...]]
_latest_dry: WeakKeyDictionary[LlamaVocab, tuple[_DrySettings, Chain]] = WeakKeyDictionary()
"""The last DRY sampler made for a vocabulary, never advanced: the next reply gets a clone, which costs nothing."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The parts that all forks of a sampler share, in the order in which they are applied."""

    candidates: Candidates
    choices: int | None
    """The number of highest-scored tokens, penalties and biases aside, among which all choices are; None for any."""
    share: float | None
    """Min-p where no other filter is on: less of the best one's probability cannot be chosen."""
    lone_share: float | None
    """Min-p where the best token is always kept: it is alone if no other has this share of its probability."""
    biased: Ids
    banned: Ids
    bias: Chain
    filters: tuple[Chain, ...]
    """Between two of them the tokens already ruled out are taken away."""
    ends: tuple[tuple[float, Chain], ...]
    """Chains with the probability of each, where llama.cpp lets chance decide between them."""

    @staticmethod
    def of(c: Any, settings: Sampling, candidates: Candidates, biases: Biases) -> Stages:
        return Stages(
            candidates,
            _choices(settings),
            _share(settings),
            settings.min_p if settings.min_p and settings.typical_p >= 1 else None,
            _ids(biases),
            _ids({token: bias for token, bias in biases.items() if bias == BANNED}),
            bias_chain(c, candidates.n_vocab, biases),
            _filters(c, settings),
            _ends(c, settings),
        )


def takes_the_best(settings: Sampling) -> bool:
    """True if the best score is all that matters: filters other than these two keep the token that has it."""
    return settings.greedy and settings.typical_p >= 1 and not settings.xtc


def _choices(settings: Sampling) -> int | None:
    if takes_the_best(settings):
        return 1
    # Top-n-sigma measures the spread of all scores.
    return settings.top_k if settings.top_k and settings.top_n_sigma <= 0 else None


def _share(settings: Sampling) -> float | None:
    others = settings.top_k or settings.top_p < 1 or settings.typical_p < 1 or settings.top_n_sigma > 0
    return None if others or takes_the_best(settings) else settings.min_p or None


def _filters(c: Any, settings: Sampling) -> tuple[Chain, ...]:
    if takes_the_best(settings):
        return ()
    first = [c.llama_sampler_init_top_n_sigma(settings.top_n_sigma), c.llama_sampler_init_top_k(settings.top_k)]
    typical = [c.llama_sampler_init_typical(settings.typical_p, _MIN_KEEP)]
    then = [
        c.llama_sampler_init_top_p(settings.top_p, _MIN_KEEP),
        c.llama_sampler_init_min_p(settings.min_p, _MIN_KEEP),
    ]
    if settings.typical_p < 1:
        # Its sums over tokens of probability 0 are not numbers.
        return Chain.of(c, first), Chain.of(c, typical + then)
    return (Chain.of(c, first + typical + then),)


def _ends(c: Any, settings: Sampling) -> tuple[tuple[float, Chain], ...]:
    """XTC tosses a coin; its distribution is a mixture of the chain's with it and without, by their probabilities."""

    def end(xtc: bool) -> Chain:
        samplers = [c.llama_sampler_init_xtc(1.0, settings.xtc_threshold, _MIN_KEEP, _ANY_SEED)] if xtc else []
        dynamic = (settings.temperature, settings.dynatemp_range, settings.dynatemp_exponent)
        return Chain.of(c, [*samplers, c.llama_sampler_init_temp_ext(*dynamic)])

    chances = ((1 - settings.xtc_probability, False), (settings.xtc_probability, True))
    return tuple((chance, end(xtc)) for chance, xtc in chances if chance > 0)


def memory(c: Any, settings: Sampling, n_vocab: int, vocab: LlamaVocab | None) -> tuple[int, Chain | None]:
    """The number of latest tokens that matter, and the samplers that remember them; None if none do."""
    samplers, lengths = [], [0]
    if settings.penalises:
        penalties = (settings.repeat_penalty, settings.frequency_penalty, settings.presence_penalty)
        samplers.append(c.llama_sampler_init_penalties(n_vocab, settings.repeat_last_n, *penalties))
        lengths.append(settings.repeat_last_n)
    if settings.dry:
        samplers.append(_dry_sampler(c, settings, required(vocab)))
        lengths.append(settings.dry_penalty_last_n)
    return max(lengths), Chain.of(c, samplers) if samplers else None


def _dry_sampler(c: Any, settings: Sampling, vocab: LlamaVocab) -> Any:
    """DRY as a native sampler that the caller owns. Making it searches the vocabulary for each sequence breaker."""
    key = (
        settings.dry_multiplier,
        settings.dry_base,
        settings.dry_allowed_length,
        settings.dry_penalty_last_n,
        settings.dry_sequence_breakers,
    )
    known = _latest_dry.get(vocab)
    if known is None or known[0] != key:
        *numbers, breakers = key
        texts = (ctypes.c_char_p * len(breakers))(*(breaker.encode() for breaker in breakers))
        made = c.llama_sampler_init_dry(vocab.handle, *numbers, texts, len(breakers))
        known = _latest_dry[vocab] = (key, Chain(c, made))
    return known[1].released_clone()


def biases(settings: Sampling, n_vocab: int, vocab: LlamaVocab | None) -> Biases:
    """The user's, and those of tokens that the model must never say."""
    for token, _ in settings.logit_bias:
        if token >= n_vocab:
            raise UsageError(
                f"--logit-bias names token {token}, but the model has {n_vocab}.",
                f"Choose one from 0 to {n_vocab - 1}.",
            )
    return dict(settings.logit_bias) | dict.fromkeys(vocab.suppressed if vocab else (), BANNED)


def bias_chain(c: Any, n_vocab: int, biases: Biases) -> Chain:
    entries = (c.llama_logit_bias * len(biases))(*(c.llama_logit_bias(*item) for item in biases.items()))
    return Chain.of(c, [c.llama_sampler_init_logit_bias(n_vocab, len(biases), entries)])


def _ids(biases: Biases) -> Ids:
    return np.array(sorted(biases), dtype=np.int64)


def required(vocab: LlamaVocab | None) -> LlamaVocab:
    """The vocabulary. Raises ValueError if there is none."""
    if vocab is None:
        raise ValueError("DRY and grammars need the vocabulary")
    return vocab
