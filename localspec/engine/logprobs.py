"""Log probabilities of committed tokens, by the target's own distribution: its softmax, before any sampler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localspec.engine.events import Alternative, TokenLogprobs
from localspec.engine.model import Logits


@dataclass(frozen=True, slots=True)
class LogprobReader:
    """Reads log probabilities off a row of the target's scores."""

    top_n: int
    """The number of alternatives that are told of each token."""
    source: Callable[[int], bytes]
    """The bytes that a token stands for, control tokens written out."""

    def of(self, row: Logits, token: int) -> TokenLogprobs:
        """Those of ``token``, which was committed at the place of ``row``, and of the likeliest tokens there."""
        scores = row.astype(np.float64)
        best = scores.max()
        total = best + np.log(np.exp(scores - best).sum())
        likeliest = highest(scores, self.top_n)
        top = (Alternative(other, self.source(other), float(scores[other] - total)) for other in likeliest)
        return TokenLogprobs(self.source(token), float(scores[token] - total), tuple(top))


def highest(scores: NDArray[np.float64], n: int) -> list[int]:
    """The ``n`` tokens with the highest scores, the highest first, of equal ones the lowest id."""
    if not n:
        return []
    least = np.partition(scores, -n)[-n] if n < len(scores) else scores.min()
    return sorted(map(int, np.flatnonzero(scores >= least)), key=lambda token: (-scores[token], token))[:n]
