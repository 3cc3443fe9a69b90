"""The draft model: a smaller network with the target's vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.engine.dist import Chance
from localspec.engine.drafters import Draft, Parts
from localspec.engine.model import Model
from localspec.engine.sampling import Sampler
from localspec.errors import UsageError


def make(parts: Parts) -> DraftModel:
    """Raises UsageError without a draft model."""
    if parts.draft is None:
        raise UsageError("No draft model is loaded.", "Name one with --draft FILE, or turn speculation off.")
    return DraftModel(parts.draft)


class DraftModel:
    """Proposes by running the draft model token by token, with the user's own filters.

    Its cache keeps the accepted prefix: after a fully accepted draft the next round evaluates two
    tokens, otherwise one. llama.cpp's own loop evaluates the whole verify batch a second time.
    """

    name = "draft"

    def __init__(self, model: Model) -> None:
        self._model = model

    def prefill(self, context: Sequence[int]) -> None:
        self._model.logits(context, 0)

    def draft(self, context: Sequence[int], depth: int, sampler: Sampler, chance: Chance) -> Draft:
        draft = Draft()
        depth = min(depth, self._model.n_ctx - len(context))
        if depth < 1:
            return draft
        path = sampler.fork()
        ahead = list(context)
        for _ in range(depth):
            token = draft.draw(path.dist(self._model.logits(ahead, 1)[0]), chance)
            if self._model.vocab.is_end(token):
                break  # the reply ends here if the target agrees; nothing after it can be kept
            path.accept(token)
            ahead.append(token)
        return draft
