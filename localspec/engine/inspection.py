"""The opinions of both models about a token that is already written."""

from __future__ import annotations

from dataclasses import dataclass

TOP_N = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that might have stood there."""

    id: int
    text: str
    prob: float
    """The probability by the model's own softmax, at temperature 1."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """One model's opinion of the token at a place."""

    prob: float
    """Probability of the token that stands there, by the model's own softmax."""
    rank: int
    """1 if no token is likelier."""
    filtered: float | None
    """Its probability after the sampler's filters and temperature; None where that depends on more than the text."""
    top: tuple[Candidate, ...]
    """The likeliest tokens, at most ``TOP_N``, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The opinions of the target, and of the draft if there is one, of the token at a place."""

    token: int
    target: Opinion
    draft: Opinion | None
    greedy: bool = False
    """True if the sampler always takes the likeliest token, so that filtered probabilities are 0 or 1."""
    exact_context: bool = True
    """True if the prompt is, token by token, the one that the reply was written to."""

    @property
    def acceptance(self) -> float | None:
        """The chance that the token is kept if the draft draws it from its own distribution: min(1, p / q).

        None where p or q is not known, or the draft would never draw it.
        """
        p = self.target.filtered
        q = self.draft.filtered if self.draft else None
        return min(1.0, p / q) if p is not None and q else None
