"""What the two models think of a token that is already written."""

from __future__ import annotations

from dataclasses import dataclass

TOP_N = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that might have stood there."""

    id: int
    text: str
    prob: float
    """Of the model's own softmax, at temperature 1."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one model thinks of a place."""

    prob: float
    """Of the token that stands there, by the model's own softmax."""
    rank: int
    """1 if no token is likelier."""
    filtered: float | None
    """Its probability after the sampler's filters and temperature; None where that depends on more than the text."""
    top: tuple[Candidate, ...]
    """The likeliest tokens, at most ``TOP_N``, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the target, and the draft if there is one, think of the token at a place."""

    token: int
    target: Opinion
    draft: Opinion | None
    greedy: bool = False
    """Whether the sampler always takes the likeliest token, so that filtered probabilities are 0 or 1."""
    exact_context: bool = True
    """Whether the prompt is, token by token, the one that the reply was written to."""

    @property
    def acceptance(self) -> float | None:
        """How likely the token would be kept had the draft drawn it from its own distribution: min(1, p / q).

        None where p or q is not known, or the draft would never draw it.
        """
        p = self.target.filtered
        q = self.draft.filtered if self.draft else None
        return min(1.0, p / q) if p is not None and q else None
