"""Depths of replies that are made together, for the most tokens a second of all of them (goodput).

One verification has the rows of all replies, and one pass of the draft a row of each that still drafts. So what a
proposal is worth depends on what the others propose. Before each pass the rows of the coming verification are handed
out anew: the proposals that may follow are taken in the order of their worth, as many of them as make expected worth
over time largest (Liu et al. 2024, SmartSpec, arXiv 2406.14066, with chances proposal by proposal). A token is worth
the more the slower its reply has been: alpha-fairness (Mo and Walrand 2000), which costs tokens a second now and gains
some where replies end sooner together. Time is measured by batch size, so that where the batch alone is costly nobody
proposes anything. A reply that is alone at the moment has the policy of ``adaptive.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TypeAlias

from localspec.base.amounts import number_of
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.drafter import CERTAIN, NextProposal
from localspec.engine.drafting import DrafterQuery, Plan
from localspec.engine.events import Round
from localspec.engine.likelihood import Likelihoods
from localspec.engine.reading import ReadingDecision, ReadingPolicy, Unread

_HOPED = 0.9
"""The chance of a proposal to assume before a drafter was queried in a reply, and to hope for again while it is not."""
_HOPE_RATE = 0.03
"""The weight of that hope in each round without a query."""
_IDLE_N = 8
"""Rounds without a proposal after which a drafter that was wrong is given another chance."""
_RATE = 0.3
"""The weight of the latest block's first proposal in what is expected of the next one."""
_RISE, _FALL = 0.1, 0.03
"""The same of proposals with a query each: of one that was likelier than expected, and of one that was not.

Chances are near 1 or low. Where a query may be the round's last, their mean says too little: there is a proposal to
gain, and only the query to lose.
"""
_FAIRNESS = 0.8
"""Alpha of alpha-fairness, the power of its pace by which a slow reply's token is worth more: 0 for the most tokens a
second, 1 for proportional fairness (Kelly 1997)."""
_PACE_RATE = 0.1
"""The weight of the latest round in a reply's pace."""
_FEW_N = 16
"""Tokens that a query reads on its way."""
_AHEAD_N = 8
"""Proposals that are thought of ahead for each reply."""


Wish: TypeAlias = "tuple[float, float, int, SharedDepth]"
"""A further proposal of a reply: its worth, the chance that it is accepted, and how far ahead it is."""
_WORTH = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one reply in a round."""

    rows_n: int
    """Rows for its further proposals."""
    worth_per_s: float
    """The worth of all replies' tokens over the time of the round."""
    tokens_per_s: float
    """Tokens of all replies."""


class PassPrices:
    """Prices of a drafter's passes by the number of replies that they serve, each to be learned.

    A second row may cost far more than a third, and the last replies to go on pay for few.
    """

    def __init__(self, cost: QueryCost) -> None:
        """``cost`` of a query for one reply, which a pass for one teaches, too."""
        self._cost = cost
        self._by_replies_n = {1: cost}

    @property
    def in_blocks(self) -> bool:
        """True if one pass gives all proposals."""
        return self._cost.row_s is not None

    def observe(self, replies_n: int, spent_s: float) -> None:
        """Learn that a pass for so many replies took ``spent_s``."""
        if replies_n not in self._by_replies_n:
            self._by_replies_n[replies_n] = replace(self._cost, step_s=self.of(replies_n))
        self._by_replies_n[replies_n].observe(1, spent_s)

    def of(self, replies_n: int) -> float:
        """Seconds for a pass: as learned, or in the proportion of the nearest number that is."""
        if not replies_n:
            return 0.0
        if known := self._by_replies_n.get(replies_n):
            return known.step_s
        nearest_n = min(self._by_replies_n, key=lambda known_n: abs(known_n - replies_n))
        return self._by_replies_n[nearest_n].step_s * self._assumed_s(replies_n) / self._assumed_s(nearest_n)

    def drafted_s(self, members: Sequence[SharedDepth]) -> float:
        """The time that drafting has taken in this round, which is part of what its tokens take."""
        plans = [member.current for member in members]
        passes_n = max(plan.queries_n for plan in plans)
        if self.in_blocks:
            return passes_n * self._pass_s + sum(plan.computed_n for plan in plans) * self._cost.beside_s
        return sum(self.of(sum(plan.queries_n > passed_n for plan in plans)) for passed_n in range(passes_n))

    def further_s(self) -> Callable[[int], float]:
        """A function for proposals that follow: seconds more for each, by the number of its pass, the next being 1."""
        replies_n: dict[int, int] = {}  # by pass

        def of_block(_: int) -> float:
            replies_n[0] = replies_n.get(0, 0) + 1
            return self._cost.beside_s + (self._pass_s if replies_n[0] == 1 else 0.0)

        def of_step(pass_n: int) -> float:
            n = replies_n[pass_n] = replies_n.get(pass_n, 0) + 1
            return self.of(n) - self.of(n - 1)

        return of_block if self.in_blocks else of_step

    @property
    def _pass_s(self) -> float:
        """Seconds for a block of no places."""
        return self._cost.step_s - self._cost.beside_s

    def _assumed_s(self, replies_n: int) -> float:
        return self._cost.step_s + (replies_n - 1) * self._cost.beside_s


class GoodputPlanner:
    """The replies that are made together, with what their evaluations cost."""

    def __init__(self, costs: Costs, deepest: int, deepest_alone: int) -> None:
        """``costs`` of evaluations of all replies together; they learn from ``verified`` and ``drafted``.

        A reply has at most ``deepest`` proposals in a round with others, ``deepest_alone`` without.
        """
        self.costs = costs
        self.deepest = deepest
        self._deepest_alone = deepest_alone
        self.likelihoods = Likelihoods()
        """Chances as all replies together taught them."""
        self.reading = ReadingPolicy(costs)
        """Lengths of replies and gains of drafters, likewise."""
        self._passes: dict[str, PassPrices] = {}
        """Those of each drafter."""
        self._members: list[SharedDepth] = []

    def policy(self) -> SharedDepth:
        """The policy of a sequence, for one reply after another."""
        alone = AdaptiveDepth(self.costs, self._deepest_alone, self.likelihoods.for_another())
        alone.reading = self.reading.for_another()
        return SharedDepth(self, alone)

    def join(self, policy: SharedDepth) -> None:
        """One more reply is made."""
        self.leave(policy)
        self._members.append(policy)

    def leave(self, policy: SharedDepth) -> None:
        """A reply is over, or did not come to its end."""
        self._members = [member for member in self._members if member is not policy]

    @property
    def replies_n(self) -> int:
        return len(self._members)

    def verified(self, rows_n: int, spent_s: float, unscored_n: int = 0) -> None:
        """Learn that the target evaluated so many rows, of all replies, in this time, ``unscored_n`` without scores."""
        if self.replies_n > 1:  # one that is alone learns by itself
            self.costs.observe_round(rows_n, spent_s, unscored_n=unscored_n)

    def drafted(self, drafter: str, replies_n: int, spent_s: float) -> None:
        """Learn that one pass of a drafter served so many replies."""
        if self.replies_n > 1 and (prices := self._prices(drafter)) and not prices.in_blocks:
            prices.observe(replies_n, spent_s)  # of blocks, rows that are read would pass for proposals

    def round_s(self, rows_n: int) -> float:
        """Seconds for a verification of so many rows; beyond the largest known on the line from the smallest."""
        return self._rounds_s(rows_n, rows_n)[0]

    def _rounds_s(self, fewest: int, most: int) -> Sequence[float]:
        """Seconds for verifications of ``fewest`` rows, one more, up to ``most``."""
        largest = min(self.costs.largest, most)
        known_s = self.costs.rounds_up_to_s(largest)
        if most == largest:
            return known_s[fewest - 1 :]
        slope_s = (known_s[-1] - known_s[0]) / max(1, largest - 1)
        beyond = range(max(1, fewest - largest), most - largest + 1)
        return [*known_s[fewest - 1 :], *[known_s[-1] + slope_s * more_n for more_n in beyond]]

    def share(self, policy: SharedDepth, drafter: str, chance: float, *, computed: bool = False) -> Share:
        """The part of ``policy``, whose next proposal has this chance, in the best way to go on with the round.

        The passes of ``drafter`` count as if all that may propose further had it; none does once they are ``computed``.
        """
        wishes: list[Wish] = []
        rows_n = 0
        tokens = worth = 0.0
        for member in self._members:
            wishes += member.wishes(chance if member is policy else None)
            plan = member.current
            rows_n += 1 + plan.proposed_n
            tokens += plan.expected_n
            worth += plan.expected_n * member.weight
        wishes.sort(key=_WORTH, reverse=True)
        prices = self._prices(drafter)
        drafted_s = prices.drafted_s(self._members) if prices else 0.0
        further_s = prices.further_s() if prices and not computed else None
        now_s, *larger_s = self._rounds_s(rows_n, rows_n + len(wishes))
        spent_s = drafted_s + now_s
        best = 0, worth / spent_s, tokens / spent_s
        mine_n = 0
        for (more_worth, gain, ahead_n, member), round_s in zip(wishes, larger_s, strict=True):
            tokens += gain
            worth += more_worth
            pass_n = ahead_n - member.current.drawn
            if further_s and pass_n:
                drafted_s += further_s(pass_n)
            if member is policy:
                mine_n += 1
            spent_s = drafted_s + round_s
            if worth / spent_s > best[1]:
                best = mine_n, worth / spent_s, tokens / spent_s
        return Share(*best)

    def _prices(self, drafter: str) -> PassPrices | None:
        """The prices of passes, to be learned; None of a drafter that costs nothing."""
        if drafter not in self._passes and (cost := self.costs.queries.get(drafter)):
            self._passes[drafter] = PassPrices(cost)
        return self._passes.get(drafter)


@dataclass(slots=True)
class SharedDepth:
    """The depth policy of one reply among several."""

    planner: GoodputPlanner
    alone: AdaptiveDepth
    """The policy while there is no other reply."""
    expected: float = _HOPED
    """The chance of a drafter's next proposal."""
    idle_n: int = 0
    """Rounds since the last proposal."""
    pace: float = 1.0
    """Tokens that its latest rounds brought."""
    current: SharedPlan = field(init=False)
    """The plan of the round under way; of one that was planned without others it tells nothing."""
    _first: bool = True
    _is_alone: bool = True
    """True if the round under way was planned without others."""

    def __post_init__(self) -> None:
        self.current = SharedPlan(self, 0)

    @property
    def likelihoods(self) -> Likelihoods:
        """The chances of proposals, learned alone and with others."""
        return self.alone.likelihoods

    def wishes(self, chance: float | None) -> list[Wish]:
        """Its further proposals, of which the next has this chance; None for the chance that is expected."""
        plan = self.current
        if plan.over:
            return []
        weight, found = self.weight, []
        survival = plan.survival * (self.expected if chance is None else chance)
        for ahead_n in range(1, min(_AHEAD_N, plan.limit - plan.proposed_n) + 1):
            found.append((survival * weight, survival, ahead_n, self))
            survival *= self.expected
        return found

    @property
    def weight(self) -> float:
        """The worth of a token of this reply."""
        return float(self.pace**-_FAIRNESS)

    @property
    def leaves_out_scores(self) -> bool:
        return self.alone.leaves_out_scores

    def price(self, proposed_n: int, unscored_n: int = 0) -> float:
        return self.alone.price(proposed_n, unscored_n)

    def begin(self) -> None:
        self.planner.join(self)
        self.alone.begin()
        self.expected, self._first, self.current = _HOPED, True, SharedPlan(self, 0)

    def may_read(self, drafter: str, written_n: int) -> bool:
        return self.planner.replies_n > 1 or self.alone.may_read(drafter, written_n)

    def read(self, unread: Unread) -> ReadingDecision:
        """With others, all of the prompt after the first token: the others' rounds go on meanwhile.

        A few tokens are left to the next query, which reads them in the same pass.
        """
        if self.planner.replies_n == 1:
            return self.alone.read(unread)
        return ReadingDecision(unread.tokens_n if unread.written_n and unread.tokens_n > _FEW_N else 0)

    def have_read(self, drafter: str, tokens_n: int, spent_s: float) -> None:
        if self.planner.replies_n == 1:
            self.alone.have_read(drafter, tokens_n, spent_s)

    def plan(self, room: int) -> Plan:
        self._is_alone = self.planner.replies_n == 1
        self.current = SharedPlan(self, 0 if self._is_alone or self._first else min(room, self.planner.deepest))
        return self.alone.plan(room) if self._is_alone else self.current

    def explain(self) -> str:
        return self.alone.explain() if self._is_alone else self.current.why

    def observe(self, round_: Round, proposals: Sequence[NextProposal], accepted: int) -> None:
        self._first = False
        self.pace += _PACE_RATE * (len(round_.tokens) - self.pace)
        if self._is_alone:
            self.alone.observe(round_, proposals, accepted)
            return
        self.likelihoods.observe(proposals, accepted)
        self.idle_n = 0 if proposals else self.idle_n + 1
        if not self.current.queries_n:
            self.expected += _HOPE_RATE * (_HOPED - self.expected)
        self.current = SharedPlan(self, self.planner.deepest)  # what the next round may be, until it is planned

    def end(self, tokens_n: int, *, ended: bool) -> None:
        self.alone.end(tokens_n, ended=ended)
        self.planner.leave(self)


class SharedPlan:
    """The plan of one round of one reply."""

    def __init__(self, policy: SharedDepth, limit: int) -> None:
        self._policy = policy
        self._paid = False
        self._drafter = next(iter(policy.planner.costs.queries), "")
        """The drafter that was queried last at a price."""
        self.drawn = False
        """True while its next proposal is drawn, and may be proposed without another query."""
        self._computed = False
        """True if it has given a block, whose further proposals cost no further pass."""
        self.queries_n = 0
        """Queries at a price."""
        self.computed_n = 0
        """Proposals that these gave."""
        self.limit = limit
        self.proposed_n = 0
        self.survival = 1.0
        """The chance that all proposals so far are accepted."""
        self.expected_n = 1.0
        self.certain_only = False
        self.over = not limit
        """True if nothing more is proposed."""
        self.why = "no proposals: no drafter has any"

    def should_query(self, drafter: str, lag: int, best: float) -> bool:
        if not lag:
            return True
        if best == CERTAIN:
            return False
        expected = self._policy.expected
        share = self._policy.planner.share(self._policy, drafter, max(expected, best))
        if best:
            # Something is proposed for nothing: the query has to better it by what it costs.
            cost = self._policy.planner.costs.queries.get(drafter)
            gain = (expected - best) * self.survival * self._policy.weight
            return share.rows_n > 0 and gain > (cost.step_s if cost else 0.0) * share.worth_per_s
        if not share.rows_n:
            self.over = True
            self._say("the others' rows are worth more than the next of this reply", share)
        return share.rows_n > 0

    def chance(self, proposal: NextProposal) -> float:
        chance = self._policy.likelihoods.of(proposal)
        if self._paid:
            surprise = chance - self._policy.expected
            self._policy.expected += (_RATE if self._computed else _RISE if surprise > 0 else _FALL) * surprise
            self._paid = False
        return chance

    def should_propose(self, chance: float) -> bool:
        planner, self.drawn = self._policy.planner, True
        share = planner.share(self._policy, self._drafter, chance, computed=self._computed)
        self.drawn = False
        if not share.rows_n:
            self.over = True
            self._say(f"the next has {chance:.0%}, too little for a row", share)
            return False
        self.proposed_n += 1
        self.survival *= chance
        self.expected_n += self.survival
        self.over = self.proposed_n == self.limit
        self._say("as many as there may be" if self.over else "", share)
        return True

    def block(self, drafter: str) -> int:
        share = self._policy.planner.share(self._policy, drafter, self._policy.expected)
        self._computed = True
        return min(self.limit, self.proposed_n + max(1, share.rows_n))

    def queried(self, query: DrafterQuery) -> None:
        if self._policy.idle_n >= _IDLE_N:
            self._policy.likelihoods.start_over(query.drafter)
        self._paid = self.drawn = True
        self._drafter = query.drafter
        self.queries_n += 1
        self.computed_n += query.proposals_n

    def _say(self, reason: str, share: Share) -> None:
        told = f": {reason}" if reason else ""
        self.why = f"{number_of(self.proposed_n, 'proposal')}{told}, at {share.tokens_per_s:.0f} tokens a second of all"
