"""LocalSpec's own adaptive depth as a policy of ``replay``: the draft model alone, favourites only.

python -m tests.benchmarks.engine replay traces.json --policy tests.benchmarks.engine.adaptive_replay:adaptive
"""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.dist import Dist
from localspec.engine.drafter import NextProposal
from localspec.engine.drafting import DrafterQuery
from localspec.engine.events import Origin, Proposal, Round, Token
from tests.benchmarks.engine.prices import Prices
from tests.benchmarks.engine.replay import Before, Chain, Policy
from tests.benchmarks.engine.traces import DEEPEST

_NAME = "draft"


def adaptive(prices: Prices) -> Policy:
    """A policy that has seen nothing yet."""
    costs = Costs(dict(prices.rounds_s), {_NAME: QueryCost(prices.step_s, prices.catch_up_s)})
    return _Adapted(AdaptiveDepth(costs, DEEPEST))


@dataclass(slots=True)
class _Adapted:
    """Asks the adaptive policy what the engine would ask it, and tells it what the engine would tell."""

    policy: AdaptiveDepth
    _proposed: list[NextProposal] = field(default_factory=list)

    def __call__(self, chain: Chain) -> int:
        if chain.before:
            self._observe(chain.before)
        else:
            self.policy.begin()
        plan = self.policy.plan(chain.limit)
        self._proposed = []
        while len(self._proposed) < plan.limit and plan.should_query(_NAME, lag := chain.next_lag, 0.0):
            top = chain.peek()
            if top is None:
                break
            plan.queried(DrafterQuery(_NAME, lag, chain.prices.query_s(lag)))
            proposal = _proposal(top)
            if not plan.should_propose(plan.chance(proposal)):
                break
            self._proposed.append(proposal)
        return len(self._proposed)

    def _observe(self, before: Before) -> None:
        judged = self._proposed[: before.accepted + (before.accepted < before.depth)]
        self.policy.observe(_round(before), judged, before.accepted)


def _proposal(top: float) -> NextProposal:
    """As the draft model gives it at temperature 0."""
    return NextProposal(_NAME, Dist.point(0), f"favourite {min(9, int(top * 10))}", 0.05 + 0.9 * top)


def _round(before: Before) -> Round:
    own = Origin.BONUS if before.accepted == before.depth else Origin.CORRECTED
    origins = [Origin.ACCEPTED] * before.accepted + [own]
    return Round(
        index=0,
        drafter=_NAME if before.depth else None,
        depth=before.depth,
        tokens=tuple(Token(0, "", origin) for origin in origins),
        rejected=(Proposal(0, ""),) * (before.depth - before.accepted),
        ignored=(),
        draft_s=before.draft_s,
        verify_s=before.round_s,
        total_s=before.draft_s + before.round_s,
    )
