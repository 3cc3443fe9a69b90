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
from localspec.engine.drafters import Draft, DraftCursor, Drafter, Outlook
from localspec.engine.sampling import Sampler


@dataclass(frozen=True, slots=True)
class Look:
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

    def looks(self, drafter: str, lag: int, best: float) -> bool:
        """Whether to ask ``drafter``, which would read ``lag`` tokens; the best outlook so far has chance ``best``."""
        ...

    def chance(self, outlook: Outlook) -> float:
        """How likely a proposal of this kind is accepted."""
        ...

    def adds(self, chance: float) -> bool:
        """Whether a proposal with this chance may follow those there are; if so it counts as added."""
        ...

    def looked(self, look: Look) -> None:
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
    walks = [(drafter.name, drafter.begin(context, sampler)) for drafter in drafters]
    while len(draft) < plan.limit:
        outlook = _best(walks, plan, draft.failures)
        if outlook is None:
            break
        token = draft.draw(outlook, rng)
        if is_end(token):
            break  # the reply ends here if the target agrees; nothing after it can be kept
        for _, cursor in walks:
            cursor.step(token)
    return draft


def _best(walks: Sequence[tuple[str, DraftCursor]], plan: Plan, failures: dict[str, LocalSpecError]) -> Outlook | None:
    """The most promising outlook, if it is worth proposing from."""
    best: Outlook | None = None
    best_chance = 0.0
    for name, cursor in walks:
        if name in failures or not plan.looks(name, cursor.lag, best_chance):
            continue
        try:
            outlook = _look(name, cursor, plan)
        except LocalSpecError as error:
            failures[name] = error
            continue
        if outlook is not None and (chance := plan.chance(outlook)) > best_chance:
            best, best_chance = outlook, chance
    return best if best is not None and plan.adds(best_chance) else None


def _look(name: str, cursor: DraftCursor, plan: Plan) -> Outlook | None:
    lag, started = cursor.lag, time.perf_counter()
    outlook = cursor.look()
    if lag:
        plan.looked(Look(name, lag, time.perf_counter() - started))
    return outlook
