"""The draft model: a smaller network with the target's vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localspec.engine.dist import Dist
from localspec.engine.drafters import Favourite, Outlook, Parts, Walk
from localspec.engine.model import Logits, Model
from localspec.engine.proposal import ProposalLaw
from localspec.engine.sampling import Sampler
from localspec.errors import UsageError

_BINS = 10


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
    free = False

    def __init__(self, model: Model) -> None:
        self._model = model
        self._law = ProposalLaw()

    def prefill(self, context: Sequence[int]) -> None:
        self._model.logits(context, 0)

    def begin(self, context: Sequence[int], sampler: Sampler) -> Walk:
        return _DraftWalk(self._model, self._law, context, sampler)

    def learn(self, outlooks: Sequence[Outlook], laws: Sequence[Dist]) -> None:
        self._law.learn([outlook.base for outlook in outlooks], laws)


class _DraftWalk:
    """The draft model ahead of the text."""

    def __init__(self, model: Model, law: ProposalLaw, context: Sequence[int], sampler: Sampler) -> None:
        self._model = model
        self._law = law
        self._ahead = list(context)
        self._unread_n = len(context) - model.held(context)
        self._sampler = sampler
        self._path: Sampler | None = None
        self._steps: list[int] = []

    @property
    def lag(self) -> int:
        return max(1, self._unread_n)

    def look(self) -> Outlook | None:
        if len(self._ahead) >= self._model.n_ctx:
            return None
        row = self._model.logits(self._ahead, 1)[0]
        self._unread_n = 0
        base = self._advanced().dist(row)
        favourite = favourite_of(row)
        certain = favourite.prob
        law, dist = self._law.of(base)
        kind = min(_BINS - 1, int(certain * _BINS))
        return Outlook(DraftModel.name, dist, f"{law} {kind}", 0.05 + 0.9 * certain, base, favourite)

    def step(self, token: int) -> None:
        self._ahead.append(token)
        self._steps.append(token)
        self._unread_n += 1

    def _advanced(self) -> Sampler:
        """The sampler, led along what has been proposed; forked only once it is needed, since some forks are dear."""
        if self._path is None:
            self._path = self._sampler.fork()
        for token in self._steps:
            self._path.accept(token)
        self._steps.clear()
        return self._path


def favourite_of(row: Logits) -> Favourite:
    """The most likely token. Scores that are exact numbers are probabilities already."""
    token = int(row.argmax())
    if row.dtype == object:
        return Favourite(token, float(row[token]))
    # Added up in double precision: what is left to the others may be as little as a single one rounds away.
    return Favourite(token, 1.0 / float(np.exp(row - row[token]).sum(dtype=np.float64)))
