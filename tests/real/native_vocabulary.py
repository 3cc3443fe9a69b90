"""What llama.cpp itself makes of a vocabulary, by its C API; and its rule of which two fit, line by line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab

NONE = -1
"""llama.cpp's token that there is not."""


@dataclass(frozen=True)
class NativeVocabulary:
    """A vocabulary as llama.cpp has it in memory."""

    kind: int
    bos: int
    eos: int
    eot: int
    add_bos: bool
    add_eos: bool
    texts: tuple[bytes, ...] = field(repr=False)


def load_vocabulary(path: Path) -> NativeVocabulary:
    """Load the vocabulary of a file, and nothing else of it."""
    c = native().c
    params = c.llama_model_default_params()
    params.vocab_only = True
    model = c.llama_model_load_from_file(os.fsencode(path), params)
    assert model, f"llama.cpp does not load {path}"
    try:
        vocab = c.llama_model_get_vocab(model)
        return NativeVocabulary(
            kind=c.llama_vocab_type(vocab),
            bos=c.llama_vocab_bos(vocab),
            eos=c.llama_vocab_eos(vocab),
            eot=c.llama_vocab_eot(vocab),
            add_bos=c.llama_vocab_get_add_bos(vocab),
            add_eos=c.llama_vocab_get_add_eos(vocab),
            texts=tuple(c.llama_vocab_get_text(vocab, token) for token in range(c.llama_vocab_n_tokens(vocab))),
        )
    finally:
        c.llama_model_free(model)


@contextmanager
def open_vocabulary(path: Path) -> Iterator[LlamaVocab]:
    """The vocabulary of a file as the engine has it, and nothing else of the file."""
    c = native().c
    params = c.llama_model_default_params()
    params.vocab_only = True
    model = c.llama_model_load_from_file(os.fsencode(path), params)
    assert model, f"llama.cpp does not load {path}"
    try:
        yield LlamaVocab(native(), model)
    finally:
        c.llama_model_free(model)


def are_compatible(target: NativeVocabulary, draft: NativeVocabulary) -> bool:
    """``common_speculative_are_compatible`` of llama.cpp's common/speculative.cpp."""
    if target.kind != draft.kind:
        return False
    if target.add_bos != draft.add_bos or (target.add_bos and target.bos != draft.bos):
        return False
    if target.add_eos != draft.add_eos or (target.add_eos and target.eos != draft.eos):
        return False
    if abs(len(target.texts) - len(draft.texts)) > 128:
        return False
    return first_difference(target, draft) is None


def first_difference(target: NativeVocabulary, draft: NativeVocabulary) -> int | None:
    """The first token from the fifth on that has another text."""
    common = range(5, min(len(target.texts), len(draft.texts)))
    return next((token for token in common if target.texts[token] != draft.texts[token]), None)
