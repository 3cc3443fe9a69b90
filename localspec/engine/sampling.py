"""From logits to a distribution.

The samplers themselves are llama.cpp's (``backends/llama_sampler.py``), their settings are in
``settings.py``; here are the protocol and the one sampler that needs no library: greedy.
"""

from __future__ import annotations

from typing import Protocol

from localspec.engine.dist import Dist
from localspec.engine.model import Logits


class Sampler(Protocol):
    """The target's own way of choosing, advanced along the committed path."""

    def dist(self, row: Logits) -> Dist:
        """The distribution of the next token, given its logits, shape (n_vocab,), and the tokens accepted so far."""
        ...

    def accept(self, token: int) -> None:
        """``token`` was committed (or, in a fork, proposed)."""
        ...

    def fork(self) -> Sampler:
        """A copy for a drafter to walk ahead with; advancing it leaves this one alone."""
        ...


class Greedy:
    """The most likely token; ties go to the lowest id, as in llama.cpp."""

    def dist(self, row: Logits) -> Dist:
        return Dist.point(int(row.argmax()))

    def accept(self, token: int) -> None:
        """Nothing to remember."""

    def fork(self) -> Greedy:
        return self
