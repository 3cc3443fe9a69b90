"""From logits to a distribution.

The samplers themselves are llama.cpp's (``backends/llama/sampler.py``), their settings are in
``settings.py``; here are the protocol and the one sampler that needs no library: greedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import numpy as np

from localspec.engine.dist import Dist
from localspec.engine.model import Likeliest, Logits


class Sampler(Protocol):
    """The target's sampling, advanced along the committed path."""

    @property
    def stateless(self) -> bool:
        """True if ``dist`` depends on the row alone, whatever was accepted."""
        ...

    def dist(self, row: Logits) -> Dist:
        """The distribution of the next token, given its logits, shape (n_vocab,), and the tokens accepted so far."""
        ...

    def accept(self, token: int) -> None:
        """``token`` was committed (or, in a fork, proposed), at the place whose ``dist`` was asked for last."""
        ...

    def fork(self) -> Sampler:
        """A copy for a drafter to walk ahead with; advancing it leaves this one alone.

        It may answer roughly where an exact answer takes long, since it only guesses.
        """
        ...


class Guesser(Sampler, Protocol):
    """A sampler that can say roughly what it would choose from the likeliest tokens alone."""

    def guess(self, few: Likeliest) -> Dist:
        """About what ``dist`` says of the whole row; exactly that where no other token could be chosen."""
        ...


def guesses(sampler: Sampler) -> TypeGuard[Guesser]:
    """True if ``sampler`` is a ``Guesser``. ``isinstance`` takes as long as a tenth of a small draft's query."""
    return hasattr(sampler, "guess")


class ForcingSampler(Sampler, Protocol):
    """A sampler that may be certain of the next token before there are any scores, as one held to a grammar is."""

    @property
    def forced(self) -> int | None:
        """The one token that ``dist`` gives probability 1 whatever the row says; None if there is none."""
        ...


def can_force(sampler: Sampler) -> TypeGuard[ForcingSampler]:
    """True if ``sampler`` is a ``ForcingSampler``. ``isinstance`` would work out ``forced`` to tell."""
    return hasattr(type(sampler), "forced")


class Greedy:
    """The most likely token; ties go to the lowest id, as in llama.cpp."""

    stateless = True

    def dist(self, row: Logits) -> Dist:
        return Dist.point(int(row.argmax()))

    def guess(self, few: Likeliest) -> Dist:
        return Dist.point(int(few.ids[few.scores.argmax()]))

    def accept(self, token: int) -> None:
        """Nothing to remember."""

    def fork(self) -> Greedy:
        return self


def mixture(parts: Sequence[tuple[float, Dist]]) -> Dist:
    """The distribution of a draw from one of several, chosen with the weights given, which sum to 1."""
    ids, at = np.unique(np.concatenate([dist.ids for _, dist in parts]), return_inverse=True)
    shares = np.concatenate([weight * dist.probs for weight, dist in parts])
    probs = np.zeros(len(ids), dtype=shares.dtype)
    np.add.at(probs, at, shares)
    return Dist.of(ids, probs)
