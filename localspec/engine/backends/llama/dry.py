"""DRY, whose making looks through the whole vocabulary for each sequence breaker."""

from __future__ import annotations

import ctypes
from typing import Any
from weakref import WeakKeyDictionary

from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.settings import Sampling

_Settings = tuple[float, float, int, int, tuple[str, ...]]
_latest: WeakKeyDictionary[LlamaVocab, tuple[_Settings, Chain]] = WeakKeyDictionary()
"""The last one made for a vocabulary, never advanced: the next reply has a clone of it, which costs nothing."""


def dry_sampler(c: Any, settings: Sampling, vocab: LlamaVocab) -> Any:
    """A native sampler that nobody owns yet."""
    key = (
        settings.dry_multiplier,
        settings.dry_base,
        settings.dry_allowed_length,
        settings.dry_penalty_last_n,
        settings.dry_sequence_breakers,
    )
    known = _latest.get(vocab)
    if known is None or known[0] != key:
        *numbers, breakers = key
        texts = (ctypes.c_char_p * len(breakers))(*(breaker.encode() for breaker in breakers))
        made = c.llama_sampler_init_dry(vocab.handle, *numbers, texts, len(breakers))
        known = _latest[vocab] = (key, Chain(c, made))
    return known[1].released_clone()
