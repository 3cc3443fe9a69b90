"""Asking the models again about tokens that are already written.

Decoding keeps nothing for this; the price is the evaluation of a few tokens. A context that was evaluated
in other batches gives scores that differ in the last digits, so a figure may differ by as much from the one
that decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from localspec.engine.events import TokenLogprobs
from localspec.engine.inspection import TOP_N, Candidate, Inspection, Opinion
from localspec.engine.logprobs import LogprobReader, highest
from localspec.engine.model import Logits, Model
from localspec.engine.sampling import Sampler


def inspect(
    target: Model,
    draft: Model | None,
    context: Sequence[int],
    token: int,
    sampler: Sampler | None,
    text_of: Callable[[int], str],
) -> Inspection:
    """The models' opinions of ``token`` after ``context``, at least one token long. Raises ``Cancelled``.

    ``sampler`` is the target's, advanced to the end of the context; None if it cannot be.
    """
    opinion = _opinion(target, context, token, sampler, text_of)
    of_draft = None
    if draft is not None and len(context) <= draft.n_ctx:
        of_draft = _opinion(draft, context, token, sampler.fork() if sampler else None, text_of)
    return Inspection(token, opinion, of_draft)


def token_probs(target: Model, context: Sequence[int], tokens: Sequence[int], width: int) -> Iterator[list[float]]:
    """The target's softmax probability of each of ``tokens``, which follow ``context``, ``width`` at a time.

    ``width`` is at most what the model is prepared to give scores for. Raises ``Cancelled`` between and
    within evaluations.
    """
    for rows, chunk in _rows(target, context, tokens, width):
        yield [float(_softmax(row)[token]) for row, token in zip(rows, chunk, strict=True)]


def token_logprobs(
    target: Model, context: Sequence[int], tokens: Sequence[int], width: int, reader: LogprobReader
) -> Iterator[TokenLogprobs]:
    """``reader``'s reading of each of ``tokens``, otherwise as ``token_probs``; ``context`` has a token at least."""
    for rows, chunk in _rows(target, context, tokens, width):
        yield from map(reader.of, rows, chunk)


def _rows(
    target: Model, context: Sequence[int], tokens: Sequence[int], width: int
) -> Iterator[tuple[Logits, Sequence[int]]]:
    """The tokens that follow ``context``, so many at a time, with the row of the target's scores before each."""
    for start in range(0, len(tokens), width):
        chunk = tokens[start : start + width]
        yield target.logits([*context, *tokens[: start + len(chunk) - 1]], len(chunk)), chunk


def _opinion(
    model: Model, context: Sequence[int], token: int, sampler: Sampler | None, text_of: Callable[[int], str]
) -> Opinion:
    row = model.logits(context, 1)[0]
    probs = _softmax(row)
    filtered = float(sampler.dist(row).prob(token)) if sampler else None
    own = float(probs[token]) if token < len(probs) else 0.0
    top = tuple(Candidate(each, text_of(each), float(probs[each])) for each in highest(probs, TOP_N))
    return Opinion(own, int((probs > own).sum()) + 1, filtered, top)


def _softmax(row: Logits) -> NDArray[np.float64]:
    weights = np.exp(row.astype(np.float64) - row.max())
    probs: NDArray[np.float64] = weights / weights.sum()
    return probs
