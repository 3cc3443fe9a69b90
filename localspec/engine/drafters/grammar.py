"""The grammar drafter proposes the tokens that a grammar or JSON Schema leaves no choice about, and costs nothing.

It proposes a token only where the sampler, held to the grammar, gives it probability 1, so it is always accepted:
names of properties, brackets, the rest of an enumeration's word.
"""

from __future__ import annotations

from collections.abc import Sequence

from localspec.engine.dist import Dist
from localspec.engine.drafter import CERTAIN, DraftCursor, DrafterInputs, NextProposal
from localspec.engine.model_drafter import SamplerPath
from localspec.engine.sampling import Sampler, can_force

MARK = "orange"
POINT_MASS = True


def make(inputs: DrafterInputs) -> GrammarDrafter:
    """Needs nothing; in a reply without a grammar it has no proposals."""
    return GrammarDrafter()


class GrammarDrafter:
    """Asks the target's sampler."""

    name = "grammar"
    model = None
    is_certain = True

    def prefill(self, context: Sequence[int]) -> None:
        """Do nothing: the sampler follows the reply by itself."""

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor | None:
        return _GrammarCursor(SamplerPath(sampler)) if can_force(sampler) else None

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        """Do nothing: there is nothing to learn about certain proposals."""


class _GrammarCursor:
    """The sampler's place ahead of the text."""

    lag = 0

    def __init__(self, path: SamplerPath) -> None:
        self._path = path

    def peek(self) -> NextProposal | None:
        sampler = self._path.sampler()
        token = sampler.forced if can_force(sampler) else None
        if token is None:
            return None
        return NextProposal(GrammarDrafter.name, Dist.point(token), "forced", CERTAIN, certain=True)

    def step(self, token: int) -> None:
        self._path.step(token)
