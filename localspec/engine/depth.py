"""Depth policies, which plan every round and learn from its outcome; and the one of fixed depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.engine.costs import Costs
from localspec.engine.drafter import CERTAIN, NextProposal
from localspec.engine.drafting import DrafterQuery, Plan
from localspec.engine.events import Round
from localspec.engine.reading import ReadingDecision, Unread


class DepthPolicy(Protocol):
    """Plans rounds, and learns from them."""

    @property
    def leaves_out_scores(self) -> bool:
        """True if a target takes clearly less time where scores that nobody reads are left out."""
        ...

    def price(self, proposed_n: int, unscored_n: int = 0) -> float | None:
        """The measured price of a round that verifies ``proposed_n`` proposals, in plain rounds; None if not known.

        Scores at ``unscored_n`` of their places are left out.
        """
        ...

    def begin(self) -> None:
        """Start a reply."""
        ...

    def may_read(self, drafter: str, written_n: int) -> bool:
        """False if ``read`` need not be asked about ``drafter`` after so many tokens of the reply."""
        ...

    def read(self, unread: Unread) -> ReadingDecision:
        """Decide what a drafter's model reads now, after a piece of the prompt or before a round."""
        ...

    def have_read(self, drafter: str, tokens_n: int, spent_s: float) -> None:
        """Learn what reading cost."""
        ...

    def plan(self, room: int) -> Plan:
        """The plan of the next round, in which at most ``room`` proposals are of use."""
        ...

    def explain(self) -> str:
        """The reason why the last plan ended as it did, in a line; empty where there is nothing to explain."""
        ...

    def observe(self, round_: Round, proposals: Sequence[NextProposal], accepted: int) -> None:
        """Learn from a round. Of the judged ``proposals`` the first ``accepted`` stayed; the next, if any, did not."""
        ...

    def end(self, tokens_n: int, *, ended: bool) -> None:
        """The reply is over, with so many tokens; ``ended`` if it was not cut short."""
        ...


@dataclass(frozen=True, slots=True)
class FixedDepth:
    """Always the same depth."""

    value: int
    costs: Costs | None = None
    """The costs of rounds, if they are known; updated by every round."""

    @property
    def leaves_out_scores(self) -> bool:
        return self.costs is not None and self.costs.scores > 0

    def price(self, proposed_n: int, unscored_n: int = 0) -> float | None:
        return self.costs.price(proposed_n + 1, unscored_n) if self.costs else None

    def begin(self) -> None:
        """Nothing to forget."""

    def may_read(self, drafter: str, written_n: int) -> bool:
        return self.value > 0 and not written_n

    def read(self, unread: Unread) -> ReadingDecision:
        """All of the prompt, together with the target, if it is ever asked."""
        return ReadingDecision(unread.tokens_n if self.may_read(unread.drafter, unread.written_n) else 0)

    def have_read(self, drafter: str, tokens_n: int, spent_s: float) -> None:
        """Nothing to learn."""

    def plan(self, room: int) -> Plan:
        return _FixedPlan(min(self.value, room), self.value)

    def explain(self) -> str:
        return ""

    def observe(self, round_: Round, proposals: Sequence[NextProposal], accepted: int) -> None:
        if self.costs:
            self.costs.observe_round(
                round_.proposed_n + 1,
                round_.total_s - round_.draft_s,
                refused=bool(round_.rejected),
                unscored_n=round_.unscored_n,
            )

    def end(self, tokens_n: int, *, ended: bool) -> None:
        """Nothing to learn."""


@dataclass(frozen=True, slots=True)
class _FixedPlan:
    """Queries every drafter, until the depth is reached, but where a proposal is certain."""

    limit: int
    depth: int
    """The size of blocks too, also where a reply has less room: how many places a block has changes what it guesses."""
    certain_only: bool = False

    def should_query(self, drafter: str, lag: int, best: float) -> bool:
        return best < CERTAIN

    def chance(self, proposal: NextProposal) -> float:
        return proposal.prior

    def should_propose(self, chance: float) -> bool:
        return True

    def block(self, drafter: str) -> int:
        return self.depth

    def queried(self, query: DrafterQuery) -> None:
        """Nothing to learn."""
