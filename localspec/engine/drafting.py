"""One round's draft, from as many drafters as there are.

At each place every drafter may be asked for its outlook, the most promising one proposes, and all move on.
Whether to look and whether to propose is the plan's to decide, and always before a token is drawn: nothing
that is drawn is ever dropped, so the reply keeps its law whatever the plan decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.base.errors import LocalSpecError
from localspec.engine.dist import Rng
from localspec.engine.drafter import Draft, DraftCursor, Drafter, NextProposal
from localspec.engine.sampling import Sampler


@dataclass(frozen=True, slots=True)
class DrafterQuery:
    """What one look cost."""

    drafter: str
    lag: int
    """Tokens that were read for it."""
    spent_s: float


class Plan(Protocol):
    """What a depth policy decides in the course of a round."""

    @property
    def limit(self) -> int:
        """The most proposals this round may have."""
        ...

    def should_query(self, drafter: str, lag: int, best: float) -> bool:
        """Whether to ask ``drafter``, which would read ``lag`` tokens; the best outlook so far has chance ``best``."""
        ...

    def chance(self, proposal: NextProposal) -> float:
        """How likely a proposal of this kind is accepted."""
        ...

    def should_propose(self, chance: float) -> bool:
        """Whether a proposal with this chance may follow those there are; if so it counts as added."""
        ...

    def queried(self, query: DrafterQuery) -> None:
        """A look has been taken."""
        ...


def draft_round(
    drafters: Sequence[Drafter],
    context: Sequence[int],
    plan: Plan,
    sampler: Sampler,
    rng: Rng,
    is_end: Callable[[int], bool],
) -> Draft:
    """The proposals for what follows ``context``; a drafter that fails proposes no more. Raises ``Cancelled``."""
    draft = Draft()
    if plan.limit < 1:
        return draft
    cursors = [(drafter.name, drafter.begin(context, sampler)) for drafter in drafters]
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
    """The most promising outlook, if it is worth proposing from."""
    best: NextProposal | None = None
    best_chance = 0.0
    for name, cursor in cursors:
        if name in failures or not plan.should_query(name, cursor.lag, best_chance):
            continue
        try:
            proposal = _peek(name, cursor, plan)
        except LocalSpecError as error:
            failures[name] = error
            continue
        if proposal is not None and (chance := plan.chance(proposal)) > best_chance:
            best, best_chance = proposal, chance
    return best if best is not None and plan.should_propose(best_chance) else None


def _peek(name: str, cursor: DraftCursor, plan: Plan) -> NextProposal | None:
    lag, started = cursor.lag, time.perf_counter()
    proposal = cursor.peek()
    if lag:
        plan.queried(DrafterQuery(name, lag, time.perf_counter() - started))
    return proposal
