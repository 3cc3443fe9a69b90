"""A drafter that runs a model token by token: a draft model, or a head over the target's hidden states."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.engine.dist import Dist
from localspec.engine.drafter import DraftCursor, Favourite, NextProposal
from localspec.engine.head import HeadModel
from localspec.engine.model import Likeliest, Logits, Model, Ranking, softmax_sum
from localspec.engine.proposal_sharpening import ProposalSharpening
from localspec.engine.sampling import Sampler, guesses

_BINS = 10
LATER = " later"
"""The end of the evidence for proposals that follow others of a head in a round."""


class ModelDrafter:
    """Proposes from a model's scores, with the user's own filters.

    The model's cache keeps the accepted prefix: after a fully accepted draft the next round evaluates two
    tokens with a draft model, otherwise one. llama.cpp's own loop evaluates the whole verify batch a second time.
    """

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.model = model
        self.ranking = model if isinstance(model, Ranking) else None
        self.sharpening = ProposalSharpening()

    def prefill(self, context: Sequence[int]) -> None:
        self.model.logits(context, 0)

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor:
        return _ModelCursor(self, context, sampler)

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        self.sharpening.learn([proposal.base for proposal in proposals], target_dists)


class _ModelCursor:
    """The model's place ahead of the text."""

    def __init__(self, drafter: ModelDrafter, context: Sequence[int], sampler: Sampler) -> None:
        self._drafter, self._model = drafter, drafter.model
        self._ahead = list(context)
        self._reach = self._model.reach(context) if isinstance(self._model, HeadModel) else self._model.n_ctx
        self._unread_n = len(context) - self._model.held(context)
        self._later = ""
        """A head goes on with rows of its own, so its later proposals are of another kind."""
        self._path = SamplerPath(sampler)

    @property
    def lag(self) -> int:
        return max(1, self._unread_n) if len(self._ahead) <= self._reach else 0

    def peek(self) -> NextProposal | None:
        if len(self._ahead) >= self._model.n_ctx or len(self._ahead) > self._reach:
            return None
        base, favourite = self._view(self._path.sampler())
        self._unread_n = 0
        sharpening, dist = self._drafter.sharpening.of(base)
        evidence, prior = f"{sharpening} {tenth(favourite.prob)}{self._later}", chance_of(favourite)
        return NextProposal(self._drafter.name, dist, evidence, prior, base, favourite)

    def _view(self, sampler: Sampler) -> tuple[Dist, Favourite]:
        """The distribution that ``sampler`` makes of the model's scores, and the favourite by the scores alone."""
        ranking = self._drafter.ranking
        if ranking and guesses(sampler) and (few := ranking.likeliest(self._ahead)):
            return sampler.guess(few), favourite_among(few)
        row = self._model.logits(self._ahead, 1)[0]
        return sampler.dist(row), favourite_of(row)

    def step(self, token: int) -> None:
        self._ahead.append(token)
        self._path.step(token)
        self._unread_n += 1
        self._later = LATER if isinstance(self._model, HeadModel) else ""


class SamplerPath:
    """The target's sampler, walked ahead along a round's proposals."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._fork: Sampler | None = None
        self._steps: list[int] = []

    def step(self, token: int) -> None:
        """Move on by ``token``."""
        self._steps.append(token)

    def sampler(self) -> Sampler:
        """The sampler after the proposals. It is forked only once it is needed, since some forks are costly."""
        if self._fork is None:
            self._fork = self._sampler.fork()
        for token in self._steps:
            self._fork.accept(token)
        self._steps.clear()
        return self._fork


def tenth(share: float) -> int:
    """The tenth that ``share``, from 0 to 1, lies in."""
    return min(_BINS - 1, int(share * _BINS))


def chance_of(favourite: Favourite) -> float:
    """The chance of acceptance to assume of a model this certain, while nothing is learned."""
    return 0.05 + 0.9 * favourite.prob


def favourite_of(row: Logits) -> Favourite:
    """The likeliest token. Scores that are exact numbers (the tests') are probabilities already."""
    token = int(row.argmax())
    return Favourite(token, float(row[token]) if row.dtype == object else 1 / softmax_sum(row, row[token]))


def favourite_among(few: Likeliest) -> Favourite:
    """The favourite among the likeliest tokens. Its probability is a little too high, by the share of all others."""
    favourite = favourite_of(few.scores)
    return Favourite(int(few.ids[favourite.token]), favourite.prob)
