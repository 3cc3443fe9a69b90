"""Replies that a JSON Schema allows, by a model that wants nothing in particular; for tests of what schemas promise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from localspec.engine.backends.llama.grammar import Grammar
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.settings import Sampling

_TEMPERATURE = 1.5
_LONGEST_N = 150
_CLOSING = 4.0
"""The head start of tokens that end something: noise alone would write strings and lists without end."""


def replies(grammar: str, vocab: LlamaVocab, number: int) -> Iterator[Any]:
    """The JSON values of ``number`` seeded replies at temperature 1.5; those that come to no end are left out."""
    lead = np.zeros(vocab.n_vocab, dtype=np.float32)
    for token in range(vocab.n_vocab):
        piece = vocab.piece(token)
        if vocab.is_end(token) or (piece and not piece.strip(b'"]}, ')):
            lead[token] = _CLOSING
    settings = Sampling(_TEMPERATURE, 0, 1.0, 0.0, grammar=grammar)
    for seed in range(number):
        source = np.random.default_rng(seed)
        sampler = make_sampler(settings, vocab.n_vocab, vocab)
        said = b""
        for _ in range(_LONGEST_N):
            dist = sampler.dist(source.normal(0, 2, vocab.n_vocab).astype(np.float32) + lead)
            token = int(source.choice(dist.ids, p=dist.probs))
            if vocab.is_end(token):
                yield json.loads(said)
                break
            sampler.accept(token)
            said += vocab.piece(token)


def takes(grammar: str, value: Any, vocab: LlamaVocab) -> bool:
    """True if a value, written as Python writes JSON, is a whole sentence of a grammar."""
    place = Grammar.of(Sampling(grammar=grammar), vocab)
    for token in vocab.tokenize(json.dumps(value), special=False):
        place.accept(token)
    return place.left_by is None and vocab.eos is not None and bool(place.allows(np.array([vocab.eos]))[0])
