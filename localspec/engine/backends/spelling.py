"""Tokens for a text that does not begin where a token does."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.engine.backends.llama_vocab import LlamaVocab


def tail(tokens: Sequence[int], text: str, vocab: LlamaVocab) -> list[int]:
    """The tokens at the end of ``tokens`` that say ``text``, the first perhaps only its second part.

    Where they say something else (a control token may swallow white space behind it), any tokens of the same text.
    """
    data = text.encode("utf-8", errors="replace")
    for said in (tokens, vocab.tokenize(text, special=True)):
        if (found := _end(said, data, vocab)) is not None:
            return found
    return spelt(data, vocab)


def spelt(rest: bytes, vocab: LlamaVocab) -> list[int]:
    """Tokens whose pieces make up ``rest``, as far as there are any."""
    tokens = vocab.tokenize(rest.decode("utf-8", errors="replace"), special=False)
    if b"".join(map(vocab.piece, tokens)) == rest:
        return tokens
    # It is no whole text, or a space was put in front of it: then the longest pieces first.
    pieces = ((vocab.piece(token), token) for token in range(vocab.n_vocab))
    usable = sorted(((len(piece), token, piece) for piece, token in pieces if piece and piece in rest), reverse=True)
    spelt_n, tokens = 0, []
    while spelt_n < len(rest):
        at = spelt_n
        length, token = next(((n, token) for n, token, piece in usable if rest.startswith(piece, at)), (0, -1))
        if not length:
            break
        tokens.append(token)
        spelt_n += length
    return tokens


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
            found += reversed(spelt(missing, vocab))
            missing = b""
        else:
            return None
    return None if missing else found[::-1]
