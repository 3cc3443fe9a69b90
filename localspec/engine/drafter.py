"""A drafter, which proposes tokens, and what it gives and takes: next proposals, cursors, drafts.

How the proposals of several drafters become one draft is decided in ``drafting.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard

from localspec.base.errors import LocalSpecError
from localspec.engine.dist import Dist, Rng
from localspec.engine.head import HeadInputs
from localspec.engine.model import Model, Vocab
from localspec.engine.sampling import Sampler
from localspec.engine.suffix_automaton import SuffixAutomaton

CERTAIN = 1.0
"""The chance of a proposal that is accepted whatever the target says."""


@dataclass(frozen=True, slots=True)
class Favourite:
    """A model's likeliest token, by its own softmax."""

    token: int
    prob: float


@dataclass(frozen=True, slots=True)
class NextProposal:
    """The distribution that a drafter would draw its next proposal from, before anything is drawn."""

    drafter: str
    dist: Dist
    """q, which the proposal would be drawn from."""
    evidence: str
    """The kind of evidence for it, as in "match of 5"; the rate of acceptance is learned by kind."""
    prior: float
    """The chance of acceptance to assume while nothing is learned about the kind."""
    base: Dist | None = None
    """The draft model's own distribution, where ``dist`` was derived from it."""
    favourite: Favourite | None = None
    """The draft model's likeliest token, whatever is proposed."""
    certain: bool = False
    """True if it is accepted whatever the target says; nothing is learned about its kind then."""


@dataclass(slots=True)
class Draft:
    """Proposals with the distributions they were drawn from.

    It grows only by ``draw``, so the recorded q is always the one the token really came from; that
    is what makes ``verify`` exact for any drafter, and for several in turn.
    """

    tokens: list[int] = field(default_factory=list)
    dists: list[Dist] = field(default_factory=list)
    proposals: list[NextProposal] = field(default_factory=list)
    failures: dict[str, LocalSpecError] = field(default_factory=dict)
    """The errors of drafters that failed, by drafter."""

    def draw(self, proposal: NextProposal, rng: Rng) -> int:
        """Propose a token drawn from ``proposal.dist``."""
        token = rng.draw(proposal.dist)
        self.tokens.append(token)
        self.dists.append(proposal.dist)
        self.proposals.append(proposal)
        return token

    def __len__(self) -> int:
        return len(self.tokens)


class DraftCursor(Protocol):
    """One drafter's place ahead of the text, for the length of a round."""

    @property
    def lag(self) -> int:
        """The number of tokens that ``peek`` has to read first; 0 where ``peek`` costs next to nothing."""
        ...

    def peek(self) -> NextProposal | None:
        """The next proposal, or None if the drafter has none. Raises ``Cancelled``."""
        ...

    def step(self, token: int) -> None:
        """Move on by ``token``, which this drafter or another proposed."""
        ...


class BlockCursor(DraftCursor, Protocol):
    """A cursor whose drafter computes proposals of several places at once; ``lag`` is 0 as long as some are left."""

    def size_block(self, n: int) -> int:
        """Have the next query compute the round's first ``n`` proposals, if it can; returns how many it will."""
        ...


def gives_blocks(cursor: DraftCursor) -> TypeGuard[BlockCursor]:
    """True if ``cursor`` is a ``BlockCursor``. ``isinstance`` takes as long as a tenth of a small draft's query."""
    return hasattr(cursor, "size_block")


class Drafter(Protocol):
    """Proposes the next tokens of a text."""

    @property
    def name(self) -> str:
        """The name in ``--spec`` and in the event stream."""
        ...

    @property
    def model(self) -> Model | None:
        """The model that ``peek`` evaluates; None if ``peek`` costs next to nothing, and such drafters are asked first.

        If it is a ``TunableModel``, loading a pair chooses its threads and measures its price.
        """
        ...

    def prefill(self, context: Sequence[int]) -> None:
        """Catch up with ``context`` ahead of time, where the depth policy finds that it pays. Raises ``Cancelled``."""
        ...

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor | None:
        """A cursor at the end of ``context``; None if there is nothing to propose. Fork ``sampler`` to advance it."""
        ...

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        """Learn from the target's distributions at the places of this drafter's judged ``proposals``, in order."""
        ...


def is_certain(drafter: Drafter) -> bool:
    """True if a drafter says by ``is_certain`` that all its proposals are accepted whatever the target says."""
    return bool(getattr(drafter, "is_certain", False))


@dataclass(frozen=True, slots=True)
class DrafterInputs:
    """Everything a drafter can be made from."""

    vocab: Vocab
    """The target's."""
    draft: Model | None
    """The draft model, if one is loaded."""
    past: SuffixAutomaton | None = None
    """Replies of other conversations, if they are kept. Its owner may add to it between replies."""
    heads: Mapping[str, HeadInputs[Any]] = field(default_factory=dict)
    """The heads of the target that are loaded, by the names of their drafters."""
