"""LocalSpec's own adaptive depth as a policy of ``replay``: one drafter alone, favourites only.

python -m tests.benchmarks.engine replay traces.json --policy tests.benchmarks.engine.adaptive_replay:adaptive
"""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.costs import Costs
from localspec.engine.dist import Dist
from localspec.engine.drafter import Favourite, NextProposal
from localspec.engine.drafting import DrafterQuery
from localspec.engine.events import Origin, Proposal, Round, Token
from localspec.engine.model_drafter import LATER, chance_of, tenth
from localspec.gguf.draft_heads import DRAFT
from tests.benchmarks.engine.replay import Before, Chain, Policy
from tests.benchmarks.engine.traces import DEEPEST


def adaptive(costs: Costs) -> Policy:
    """A policy that has seen nothing yet."""
    own = Costs.from_dict(costs.to_dict())
    own.pad()
    return _Adapted(AdaptiveDepth(own, DEEPEST))


@dataclass(slots=True)
class _Adapted:
    """Asks the adaptive policy what the engine would ask it, and tells it what the engine would tell."""

    policy: AdaptiveDepth
    _proposed: list[NextProposal] = field(default_factory=list)

    def __call__(self, chain: Chain) -> int:
        if chain.before:
            self._observe(chain.before, chain.drafter)
        else:
            self.policy.begin()
        plan = self.policy.plan(chain.limit)
        self._proposed = []
        given_n = 0
        while len(self._proposed) < plan.limit:
            lag = 0 if given_n else chain.next_lag  # all places of a block are computed by its first look
            if not plan.should_query(chain.drafter, lag, 0.0):
                break
            spent_s = chain.spent_s
            if not given_n and chain.gives_blocks:
                given_n = chain.size_block(plan.block(chain.drafter))
            top = chain.peek()
            if top is None:
                break
            if lag:
                plan.queried(DrafterQuery(chain.drafter, lag, chain.spent_s - spent_s, max(1, given_n)))
            place = len(self._proposed)
            proposal = _proposal(chain.drafter, Favourite(chain.place.chain[place], top), place)
            if not plan.should_propose(plan.chance(proposal)):
                break
            self._proposed.append(proposal)
        chain.size = self.policy.costs.size(len(self._proposed) + 1)
        return len(self._proposed)

    def _observe(self, before: Before, drafter: str) -> None:
        judged = self._proposed[: before.accepted + (before.accepted < before.depth)]
        self.policy.observe(_round(before, drafter), judged, before.accepted)


def _proposal(drafter: str, guess: Favourite, place: int) -> NextProposal:
    """As the drafter gives it at temperature 0."""
    later = LATER if place and drafter != DRAFT else ""
    evidence = f"favourite {tenth(guess.prob)}{later}"
    return NextProposal(drafter, Dist.point(guess.token), evidence, chance_of(guess), favourite=guess)


def _round(before: Before, drafter: str) -> Round:
    own = Origin.BONUS if before.accepted == before.depth else Origin.CORRECTED
    origins = [Origin.ACCEPTED] * before.accepted + [own]
    return Round(
        index=0,
        drafter=drafter if before.depth else None,
        depth=before.depth,
        tokens=tuple(Token(token, "", origin) for token, origin in zip(before.tokens, origins, strict=True)),
        rejected=(Proposal(0, ""),) * (before.depth - before.accepted),
        ignored=(),
        draft_s=before.draft_s,
        verify_s=before.round_s,
        total_s=before.draft_s + before.round_s,
    )
