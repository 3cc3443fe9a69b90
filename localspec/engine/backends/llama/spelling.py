"""Tokens for a text that does not begin where a token does."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.engine.backends.llama.vocab import LlamaVocab


def tail(tokens: Sequence[int], text: str, vocab: LlamaVocab) -> list[int]:
    """The tokens at the end of ``tokens`` that say ``text``, the first perhaps only its second part.

    Where they say something else (a control token may swallow white space behind it), any tokens of the same text.
    """
    data = text.encode("utf-8", errors="replace")
    for spelled in (tokens, vocab.tokenize(text, special=False)):
        if (found := _end(spelled, data, vocab)) is not None:
            return found
    return vocab.spell(data)


def _end(tokens: Sequence[int], data: bytes, vocab: LlamaVocab) -> list[int] | None:
    """As ``tail``; None if the tokens end with something else."""
    missing = data
    found: list[int] = []
    for token in reversed(tokens):
        if not missing:
            break
        source = vocab.source(token)
        if not source:
            continue
        if missing.endswith(source):
            found.append(token)
            missing = missing[: len(missing) - len(source)]
        elif source.endswith(missing):
            found += reversed(vocab.spell(missing))
            missing = b""
        else:
            return None
    return None if missing else found[::-1]
