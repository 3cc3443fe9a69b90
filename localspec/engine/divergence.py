"""The divergence of the draft's distribution of the next token from the target's, measured for next to nothing.

The figure is the Kullback-Leibler divergence KL(p || q), in nats per verified token, of the two models' own softmax
distributions, p the target's and q the draft's, as seen through one question: is the next token the one that the
draft thinks likeliest? With x that token, p = p(x) and q = q(x),

    p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)).

By the data processing inequality that is at most the divergence over the whole vocabulary, and it is 0 where the draft
is as sure of its favourite as the target is. It needs no assumption about how proposals are chosen: neither
temperature, nor filters, nor naming the favourite instead of drawing enter into it (at temperature 0 proposals are
point masses, whose own divergence would be infinite). Neither does the depth, for only the first place of a round
counts, whose context is always the text itself.

q(x) is known from drafting; p(x) takes one pass over a row of scores, so only every fourth round pays it. In a large
vocabulary both are a little too high (``softmax_sum``), and so is q(x) where the draft ranks its scores on a GPU: it is
the favourite's share of the likeliest tokens alone.
"""

from __future__ import annotations

from math import log

import numpy as np

from localspec.engine.drafter import Draft, Favourite
from localspec.engine.model import Logits, ScoreRows, softmax_sum

EVERY = 4
"""Rounds from one that is measured to the next; the first of a reply is."""
_LEAST = 1e-6
"""Probabilities are kept so far from 0 and 1, so the figure stays below 14."""


def divergence_of(draft: Draft, rows: ScoreRows, index: int) -> float | None:
    """The divergence in the round with this index, ``rows`` being the target's scores, shape (len(draft) + 1, n_vocab).

    None unless it is a round's turn and the draft model made its first proposal.
    """
    if index % EVERY or not len(draft):
        return None
    favourite = draft.proposals[0].favourite
    return None if favourite is None else divergence(favourite, rows[0])


def divergence(favourite: Favourite, row: Logits) -> float:
    """The divergence in nats, from the draft's favourite and the target's scores at the same place; see the module."""
    p, q = (min(max(prob, _LEAST), 1 - _LEAST) for prob in (_prob(row, favourite.token), favourite.prob))
    return max(p * log(p / q) + (1 - p) * log((1 - p) / (1 - q)), 0.0)


def _prob(row: Logits, token: int) -> float:
    """Softmax probability. Scores that are exact numbers are probabilities already."""
    if token >= len(row):
        return 0.0
    if row.dtype == object:
        return float(row[token])
    top = row.max()
    return float(np.exp(row[token] - top)) / softmax_sum(row, top)
