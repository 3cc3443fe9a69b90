"""From logits to a distribution.

The samplers themselves are llama.cpp's (``backends/llama_sampler.py``); here are the settings, the
protocol, and the one sampler that needs no library: greedy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from localspec.engine.dist import Dist
from localspec.engine.model import Logits


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the target chooses; defaults are llama.cpp's."""

    temperature: float = 0.8
    """0 is greedy: always the most likely token."""
    top_k: int = 40
    """Keep the k most likely tokens; 0 keeps all."""
    top_p: float = 0.95
    """Keep the smallest set of tokens with at least this much probability; 1 keeps all."""
    min_p: float = 0.05
    """Drop tokens less likely than this share of the most likely one; 0 drops none."""

    @property
    def greedy(self) -> bool:
        return self.temperature <= 0


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
