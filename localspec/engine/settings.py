"""How the target chooses its tokens, in the words llama.cpp and its users know."""

from __future__ import annotations

from dataclasses import dataclass


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
