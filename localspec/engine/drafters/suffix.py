"""The suffix drafter proposes what followed the same words earlier in the conversation, and costs nothing.

Saxena 2023 (prompt lookup), Oliaro et al. 2024 (SuffixDecoding, arXiv 2411.04975), Hu et al. 2024 (SAM
decoding, arXiv 2411.10666). Good wherever a reply repeats: copying, editing, code, lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from localspec.engine.dist import Dist
from localspec.engine.drafter import DraftCursor, DrafterInputs, NextProposal
from localspec.engine.sampling import Sampler
from localspec.engine.suffix_automaton import Guess, SuffixAutomaton, SuffixCursor

MARK = "green"
POINT_MASS = True

_PRIORS = (0.0, 0.08, 0.25, 0.4, 0.5, 0.58, 0.64, 0.7, 0.75, 0.79, 0.83, 0.86, 0.9)
"""The chance of acceptance to assume by the length of the match; the last is for all longer ones."""
_MIXED = 0.75
"""The factor for a match that other tokens followed too."""


def make(inputs: DrafterInputs) -> SuffixDrafter:
    """Needs nothing but the text itself; proposes from past replies too, if there are any."""
    return SuffixDrafter(inputs.past)


class SuffixDrafter:
    """Follows the text as it grows; after an edit it cuts back to what is still true."""

    name = "suffix"
    model = None

    def __init__(self, past: SuffixAutomaton | None = None) -> None:
        self._automaton = SuffixAutomaton()
        self._past = past

    def prefill(self, context: Sequence[int]) -> None:
        """Do nothing: reading is quick enough for the first round."""

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor:
        self._automaton.follow(context)
        cursors = [self._automaton.cursor()]
        if self._past is not None:
            cursors.append(self._past.cursor_after(context))
        return _SuffixDraftCursor(cursors)

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        """Do nothing: the depth policy learns how often matches of a length are right."""


class _SuffixDraftCursor:
    """Follows the longest match, in the text or in past replies; the text wins a tie."""

    lag = 0

    def __init__(self, cursors: Sequence[SuffixCursor]) -> None:
        self._cursors = cursors

    def peek(self) -> NextProposal | None:
        guess = max(self._cursors, key=lambda cursor: cursor.match_length).guess()
        # The text up to an image may stand there twice, but a reply has no images.
        return proposal_from(guess) if guess and guess.token >= 0 else None

    def step(self, token: int) -> None:
        for cursor in self._cursors:
            cursor.step(token)


def proposal_from(guess: Guess) -> NextProposal:
    """A point mass on the guess, with the length of the match and its ambiguity as evidence."""
    length = min(guess.match_length, len(_PRIORS) - 1)
    alone = guess.count == guess.occurrences
    prior = _PRIORS[length] * (1.0 if alone else _MIXED * guess.share)
    kind = f"match of {length}" if alone else f"match of {length}, {int(guess.share * 4) / 4:.2f} of them"
    return NextProposal(SuffixDrafter.name, Dist.point(guess.token), kind, prior)
