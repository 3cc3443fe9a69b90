"""One round's draft, from as many drafters as there are.

At each place every drafter may be queried for its next proposal; the most promising one is drawn, and all drafters move
on. The plan decides which drafters to query and whether to propose, always before a token is drawn: no drawn token is
ever dropped, so the reply keeps the target's distribution whatever the plan decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.base.errors import LocalSpecError
from localspec.engine.dist import Rng
from localspec.engine.drafter import Draft, DraftCursor, Drafter, NextProposal, gives_blocks, is_certain
from localspec.engine.sampling import Sampler


@dataclass(frozen=True, slots=True)
class DrafterQuery:
    """The cost of one query of a drafter."""

    drafter: str
    lag: int
    """Tokens that the drafter read for it."""
    spent_s: float
    proposals_n: int = 1
    """Proposals that it gave: several from a drafter that computes a block of them."""


class Plan(Protocol):
    """The decisions of a depth policy in the course of a round."""

    @property
    def limit(self) -> int:
        """The most proposals this round may have."""
        ...

    @property
    def certain_only(self) -> bool:
        """True if only proposals that are accepted whatever the target says may be made in this round."""
        ...

    def should_query(self, drafter: str, lag: int, best: float) -> bool:
        """True if ``drafter``, which would read ``lag`` tokens, is to be queried; ``best`` is the best chance yet."""
        ...

    def chance(self, proposal: NextProposal) -> float:
        """The chance that ``proposal`` is accepted."""
        ...

    def should_propose(self, chance: float) -> bool:
        """True if a proposal with this chance may follow those before it; it then counts as proposed."""
        ...

    def block(self, drafter: str) -> int:
        """The number of this round's proposals, from the first on, that ``drafter`` had best compute at once."""
        ...

    def queried(self, query: DrafterQuery) -> None:
        """Learn what a query cost."""
        ...


def draft_round(
    drafters: Sequence[Drafter],
    context: Sequence[int],
    plan: Plan,
    sampler: Sampler,
    rng: Rng,
    is_end: Callable[[int], bool],
) -> Draft:
    """Proposals for the tokens after ``context``. A drafter that fails proposes no more. Raises ``Cancelled``."""
    draft = Draft()
    if plan.limit < 1:
        return draft
    asked = filter(is_certain, drafters) if plan.certain_only else drafters
    cursors = [(drafter.name, cursor) for drafter in asked if (cursor := drafter.begin(context, sampler)) is not None]
    while len(draft) < plan.limit:
        proposal = _best(cursors, plan, draft.failures)
        if proposal is None:
            break
        token = draft.draw(proposal, rng)
        if is_end(token):
            break  # the reply ends here if the target agrees; nothing after it can be kept
        for _, cursor in cursors:
            cursor.step(token)
    return draft


def _best(
    cursors: Sequence[tuple[str, DraftCursor]], plan: Plan, failures: dict[str, LocalSpecError]
) -> NextProposal | None:
    """The most promising next proposal, if the plan wants it."""
    best: NextProposal | None = None
    best_chance = 0.0
    for name, cursor in cursors:
        if name in failures or not plan.should_query(name, cursor.lag, best_chance):
            continue
        try:
            proposal = _queried(name, cursor, plan)
        except LocalSpecError as error:
            failures[name] = error
            continue
        if proposal is not None and (chance := plan.chance(proposal)) > best_chance:
            best, best_chance = proposal, chance
    return best if best is not None and plan.should_propose(best_chance) else None


def _queried(name: str, cursor: DraftCursor, plan: Plan) -> NextProposal | None:
    lag, started = cursor.lag, time.perf_counter()
    proposals_n = 1
    if lag and gives_blocks(cursor):
        proposals_n = cursor.size_block(plan.block(name))
    proposal = cursor.peek()
    if lag:
        plan.queried(DrafterQuery(name, lag, time.perf_counter() - started, proposals_n))
    return proposal
