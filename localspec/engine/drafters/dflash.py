"""The DFlash head, a small network over the target's hidden states, proposes a block of tokens in one pass.

DFlash (arXiv 2602.06036), and its form DSpark (arXiv 2607.05147). Each place has a distribution of its own, computed
when the block was: where another drafter's token was taken in between, the places after it are proposed from the same
distributions, which do not depend on it. That changes how many are accepted, and never the reply.
"""

from __future__ import annotations

from collections.abc import Sequence

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.block_head import Block, BlockModel
from localspec.engine.drafter import DraftCursor, DrafterInputs, NextProposal
from localspec.engine.model_drafter import (
    LATER,
    ModelDrafter,
    SamplerPath,
    chance_of,
    favourite_among,
    favourite_of,
    tenth,
)
from localspec.engine.sampling import Sampler, guesses

MARK = "red"

_NAME = "dflash"


def make(inputs: DrafterInputs) -> DFlashDrafter:
    """Raises DrafterUnavailableError without a DFlash head."""
    head = inputs.heads.get(_NAME)
    if head is None:
        hint = "Name one that was made for the target with --draft FILE."
        raise DrafterUnavailableError("No DFlash head is loaded.", hint)
    return DFlashDrafter(BlockModel(head))


class DFlashDrafter(ModelDrafter):
    """Proposes from a head's blocks, with the user's own filters.

    Nothing of a block stays in the head's cache; the rows of tokens that were accepted are written into it before the
    next block.
    """

    model: BlockModel

    def __init__(self, model: BlockModel) -> None:
        super().__init__(_NAME, model)

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor:
        return _DFlashCursor(self, context, sampler)


class _DFlashCursor:
    """A place in the block that begins where the text ends; the block is computed when it is first needed."""

    def __init__(self, drafter: DFlashDrafter, context: Sequence[int], sampler: Sampler) -> None:
        self._model = model = drafter.model
        self._sharpening = drafter.sharpening
        self._context = list(context)
        self._path = SamplerPath(sampler)
        self._place = 0
        most_n = min(model.block_n, model.n_ctx - len(context))
        self._size = most_n if model.can_guess(context) else 0
        """The number of the block's places, computed or to be."""
        self._block: Block | None = None

    @property
    def lag(self) -> int:
        if self._block or self._place >= self._size:
            return 0
        return max(1, len(self._context) - self._model.held(self._context))

    def size_block(self, n: int) -> int:
        self._size = min(self._size, max(n, self._place + 1))
        return self._size

    def peek(self) -> NextProposal | None:
        if self._place >= self._size:
            return None
        sampler = self._path.sampler()
        if self._block is None:
            self._block = self._model.block(self._context, self._size, ranked=guesses(sampler))
        if self._block.likeliest and guesses(sampler):
            few = self._block.likeliest[self._place]
            base, favourite = sampler.guess(few), favourite_among(few)
        else:
            row = self._block.scores[self._place]
            base, favourite = sampler.dist(row), favourite_of(row)
        name, dist = self._sharpening.of(base)
        evidence, prior = f"{name} {tenth(favourite.prob)}", chance_of(favourite)
        if self._block.confidence is not None:
            prior = float(self._block.confidence[self._place])
            evidence = f"{name} confidence {tenth(prior)}"
        where = LATER if self._place else ""
        return NextProposal(_NAME, dist, evidence + where, prior, base, favourite)

    def step(self, token: int) -> None:
        self._place += 1
        self._path.step(token)
