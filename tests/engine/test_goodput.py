"""Depths chosen together, against clocks that are tables."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from localspec.engine.costs import Costs, QueryCost
from localspec.engine.drafter import NextProposal
from localspec.engine.drafting import DrafterQuery, Plan
from localspec.engine.goodput import GoodputPlanner, PassPrices, SharedDepth, SharedPlan
from tests.engine.test_adaptive import FLAT, GUESS, STEEP, made

DEEPEST = 15
STEP_S, ROW_S = 0.08, 0.01
BLOCK_S, PLACE_S = 0.3, 0.02
BY_FOURS = {1: 1.0, 2: 1.7, 3: 1.8, 4: 1.6, 5: 2.3, 8: 2.6, 12: 3.7, 16: 4.5, 32: 8.5, 64: 17.0}
MEMORY_BOUND = {1: 1.0, 8: 1.1, 16: 1.3, 64: 4.0}


@dataclass
class Hall:
    """A made-up machine with several replies, each of which guesses right with a chance of its own."""

    rounds_s: dict[int, float]
    chances: Sequence[float]
    blocks: bool = False
    """True for a drafter that computes a block of proposals in one pass."""
    drafted_s: float = 0.0
    """The time of the latest round's drafts."""

    def at_depth(self, depth: int, rounds_n: int = 200) -> tuple[float, list[int]]:
        """Tokens a second of all, and the tokens of each, where every draft has this depth."""
        chance, replies_n = random.Random(1), len(self.chances)
        if self.blocks:
            drafted_s = BLOCK_S + (replies_n * depth - 1) * PLACE_S if depth else 0.0
        else:
            drafted_s = depth * (STEP_S + (replies_n - 1) * ROW_S)
        round_s = drafted_s + self._planner().round_s(replies_n * (1 + depth))
        tokens = [0] * replies_n
        for _ in range(rounds_n):
            for number, likely in enumerate(self.chances):
                accepted = 0
                while accepted < depth and chance.random() < likely:
                    accepted += 1
                tokens[number] += accepted + 1
        return sum(tokens) / (rounds_n * round_s), tokens

    def play(self, rounds_n: int = 200) -> tuple[float, list[int]]:
        """Tokens a second of all, and the tokens of each, where the depths are planned."""
        planner, chance = self._planner(), random.Random(1)
        policies = [planner.policy() for _ in self.chances]
        price = planner.round_s
        for policy in policies:
            policy.begin()
        for policy in policies:
            policy.plan(DEEPEST)
            policy.observe(made(0, 0, 0, 0.0, price(len(policies))), [], 0)
        clock_s, tokens = 0.0, [0] * len(policies)
        for index in range(rounds_n):
            drafts = self._blocks(policies) if self.blocks else self._drafts(policies)
            drafted_s = self.drafted_s
            verify_s = price(sum(1 + len(draft) for draft in drafts))
            clock_s += drafted_s + verify_s
            for number, (policy, draft) in enumerate(zip(policies, drafts, strict=True)):
                right = [chance.random() < self.chances[number] for _ in draft]
                accepted = next((n for n, ok in enumerate(right) if not ok), len(right))
                tokens[number] += accepted + 1
                policy.observe(made(index, accepted, len(draft), drafted_s, verify_s), draft[: accepted + 1], accepted)
        return sum(tokens) / clock_s, tokens

    def _planner(self) -> GoodputPlanner:
        cost = QueryCost(BLOCK_S, ROW_S, row_s=PLACE_S) if self.blocks else QueryCost(STEP_S, ROW_S)
        return GoodputPlanner(Costs(self.rounds_s, {"draft": cost}), DEEPEST, DEEPEST)

    def _drafts(self, policies: Sequence[SharedDepth]) -> list[list[NextProposal]]:
        """Proposal by proposal, since the replies share the passes of the draft."""
        plans = [policy.plan(DEEPEST) for policy in policies]
        drafts: list[list[NextProposal]] = [[] for _ in policies]
        going = list(range(len(policies)))
        while going:
            for number in list(going):
                if not self._goes_on(plans[number], drafts[number], self.chances[number]):
                    going.remove(number)
        passes = [sum(len(made_by) > step for made_by in drafts) for step in range(DEEPEST)]
        self.drafted_s = sum(STEP_S + (n - 1) * ROW_S for n in passes if n)
        return drafts

    def _blocks(self, policies: Sequence[SharedDepth]) -> list[list[NextProposal]]:
        """A block for each reply, all in one pass."""
        plans = [policy.plan(DEEPEST) for policy in policies]
        asking = [plan.should_query("draft", 1, 0.0) for plan in plans]
        sizes = [0] * len(plans)
        for number, plan in enumerate(plans):
            if asking[number] and plan.limit:
                sizes[number] = plan.block("draft")
                plan.queried(DrafterQuery("draft", 1, BLOCK_S, sizes[number]))
        drafts: list[list[NextProposal]] = [[] for _ in plans]
        for number, (plan, chance) in enumerate(zip(plans, self.chances, strict=True)):
            proposal = NextProposal("draft", GUESS, f"{chance:.1f}", chance)
            while len(drafts[number]) < sizes[number]:
                if not plan.should_propose(plan.chance(proposal)):
                    break
                drafts[number].append(proposal)
        self.drafted_s = BLOCK_S + (sum(sizes) - 1) * PLACE_S if any(sizes) else 0.0
        return drafts

    @staticmethod
    def _goes_on(plan: Plan, draft: list[NextProposal], chance: float) -> bool:
        """True if a proposal was added."""
        if len(draft) >= plan.limit or not plan.should_query("draft", 1, 0.0):
            return False
        plan.queried(DrafterQuery("draft", 1, STEP_S))
        proposal = NextProposal("draft", GUESS, f"{chance:.1f}", chance)
        if not plan.should_propose(plan.chance(proposal)):
            return False
        draft.append(proposal)
        return True


@pytest.mark.parametrize("chances", [[0.8] * 2, [0.8] * 4, [0.9, 0.3], [0.95, 0.8, 0.5, 0.1], [0.6] * 8])
@pytest.mark.parametrize("rounds_s", [BY_FOURS, MEMORY_BOUND, STEEP, FLAT], ids=["fours", "memory", "steep", "flat"])
@pytest.mark.parametrize("blocks", [False, True], ids=["steps", "blocks"])
def test_it_keeps_up_with_the_best_common_depth(rounds_s: dict[int, float], chances: list[float], blocks: bool) -> None:
    """And nobody whose drafts are as good as others' gets less than half of what they get."""
    hall = Hall(rounds_s, chances, blocks)
    fixed = {depth: hall.at_depth(depth)[0] for depth in (0, 1, 2, 3, 5, 11)}
    got, tokens = hall.play(400)
    assert got > 0.9 * max(fixed.values())
    assert got > (0.97 if blocks else 0.98) * fixed[0]
    if len(set(chances)) == 1:
        assert min(tokens) > 0.5 * sum(tokens) / len(tokens)


@pytest.mark.parametrize("rounds_s", [BY_FOURS, MEMORY_BOUND, STEEP, FLAT], ids=["fours", "memory", "steep", "flat"])
@pytest.mark.parametrize("blocks", [False, True], ids=["steps", "blocks"])
def test_replies_with_worse_drafts_are_not_left_behind(rounds_s: dict[int, float], blocks: bool) -> None:
    """The slowest is hardly slower than at the common depth that is best for all together."""
    hall = Hall(rounds_s, [0.97, 0.97, 0.85, 0.85], blocks)
    best = max((hall.at_depth(depth) for depth in (0, 1, 2, 3, 5, 11)), key=lambda played: played[0])
    shares = [rate * min(tokens) / sum(tokens) for rate, tokens in (hall.play(), best)]
    assert shares[0] > 0.8 * shares[1]


def test_passes_for_several_replies_have_a_price_of_their_own() -> None:
    """Where a second row costs far more than the model of one reply's queries has it, as with AMX."""
    costs = Costs(FLAT, {"draft": QueryCost(STEP_S, ROW_S)})
    planner = GoodputPlanner(costs, DEEPEST, DEEPEST)
    policies = [planner.policy(), planner.policy()]
    for policy in policies:
        policy.begin()
    for policy in policies:
        policy.plan(DEEPEST)
        policy.observe(made(0, 0, 0, 0.0, 1.0), [], 0)
    before = planner.share(policies[0], "draft", 0.9)
    for _ in range(100):
        planner.drafted("draft", 2, 10 * STEP_S)
        planner.drafted("draft", 1, STEP_S)
    after = planner.share(policies[0], "draft", 0.9)
    assert after.tokens_per_s < before.tokens_per_s
    assert costs.queries["draft"].step_s == pytest.approx(STEP_S)


def test_passes_are_priced_by_the_number_of_replies_that_they_serve() -> None:
    """What a pass for four took says nothing of the last reply to go on, and more of three than of two."""
    prices = PassPrices(QueryCost(STEP_S, ROW_S))
    for _ in range(200):
        prices.observe(4, 10 * STEP_S)
    assert prices.of(4) == pytest.approx(10 * STEP_S)
    assert prices.of(1) == STEP_S
    assert prices.of(2) == pytest.approx(STEP_S + ROW_S)
    assert prices.of(3) == pytest.approx(10 * STEP_S * (STEP_S + 2 * ROW_S) / (STEP_S + 3 * ROW_S))
    assert prices.of(0) == 0


@pytest.mark.parametrize("depths", [[1, 1, 1, 1], [1, 2, 3, 4], [1, 1, 2, 2, 2, 3]])
@pytest.mark.parametrize("row_s", [None, PLACE_S], ids=["steps", "blocks"])
def test_further_proposals_cost_their_passes(depths: list[int], row_s: float | None) -> None:
    """One after the other they cost what the passes cost that serve so many replies: one pass for all, of blocks."""
    cost = QueryCost(BLOCK_S, ROW_S, row_s=row_s)
    prices = PassPrices(cost)
    if row_s is None:
        prices.observe(2, 3 * BLOCK_S)
        expected = sum(prices.of(depths.count(depth)) for depth in set(depths))
    else:
        expected = cost.of(1, len(depths))
    further_s = prices.further_s()
    assert sum(further_s(depth) for depth in depths) == pytest.approx(expected)


@pytest.mark.parametrize("row_s", [None, PLACE_S], ids=["steps", "blocks"])
def test_a_round_has_paid_for_its_passes(row_s: float | None) -> None:
    """Two replies had a query, and one of them two more; or each a block, of three places and of two."""
    cost = QueryCost(BLOCK_S, ROW_S, row_s=row_s)
    planner = GoodputPlanner(Costs(FLAT, {"draft": cost}), DEEPEST, DEEPEST)
    policies = [planner.policy(), planner.policy()]
    queries = ([1, 1, 1], [1]) if row_s is None else ([3], [2])
    for policy, proposals in zip(policies, queries, strict=True):
        policy.begin()
        for n in proposals:
            policy.current.queried(DrafterQuery("draft", 1, BLOCK_S, n))
    prices = PassPrices(cost)
    expected = prices.of(2) + 2 * prices.of(1) if row_s is None else cost.of(1, 5)
    assert prices.drafted_s(policies) == pytest.approx(expected)


def test_a_proposal_that_is_drawn_needs_no_further_pass() -> None:
    """A query that would not pay for itself is over: only the row of its proposal has a price yet."""
    planner = GoodputPlanner(Costs(FLAT, {"draft": QueryCost(20.0, ROW_S)}), DEEPEST, DEEPEST)
    policy, other = planner.policy(), planner.policy()
    policy.begin()
    other.begin()
    policy.observe(made(0, 0, 0, 0.0, 1.0), [], 0)
    plan = policy.plan(DEEPEST)
    assert not plan.should_query("draft", 1, 0.0)
    plan = policy.plan(DEEPEST)
    plan.queried(DrafterQuery("draft", 1, 20.0))
    assert plan.should_propose(plan.chance(NextProposal("draft", GUESS, "0.9", 0.9)))
    assert not plan.should_query("draft", 1, 0.0)


def test_a_pass_of_blocks_teaches_no_price() -> None:
    """What it took depends on its places, which differ from round to round."""
    planner = GoodputPlanner(Costs(FLAT, {"draft": QueryCost(BLOCK_S, ROW_S, row_s=PLACE_S)}), DEEPEST, DEEPEST)
    policies = [planner.policy(), planner.policy()]
    for policy in policies:
        policy.begin()
        policy.plan(DEEPEST)
        policy.observe(made(0, 0, 0, 0.0, 1.0), [], 0)
    before = planner.share(policies[0], "draft", 0.9)
    for _ in range(100):
        planner.drafted("draft", 1, 10 * BLOCK_S)
    assert planner.share(policies[0], "draft", 0.9) == before


@pytest.mark.parametrize("in_blocks", [False, True], ids=["steps", "blocks"])
def test_more_than_the_mean_is_expected_where_a_query_may_be_the_last(in_blocks: bool) -> None:
    """Every other proposal is all but certain: a query that finds the other kind costs only itself."""
    cost = QueryCost(STEP_S, ROW_S, row_s=PLACE_S if in_blocks else None)
    planner = GoodputPlanner(Costs(FLAT, {"draft": cost}), DEEPEST, DEEPEST)
    policy, other = planner.policy(), planner.policy()
    policy.begin()
    other.begin()
    policy.observe(made(0, 0, 0, 0.0, 1.0), [], 0)
    expected = []
    for number in range(400):
        plan = policy.plan(DEEPEST)
        if in_blocks:
            plan.block("draft")
        plan.queried(DrafterQuery("draft", 1, STEP_S))
        chance = (0.05, 0.95)[number % 2]
        plan.chance(NextProposal("draft", GUESS, f"{chance:.1f}", chance))
        expected.append(policy.expected)
    mean = sum(expected[200:]) / 200
    assert mean == pytest.approx(0.5, abs=0.02) if in_blocks else mean > 0.65


def test_a_reply_without_others_has_the_policy_and_the_depth_of_one() -> None:
    planner = GoodputPlanner(Costs(FLAT, {"draft": QueryCost(STEP_S, ROW_S)}), DEEPEST - 2, DEEPEST)
    first, second = planner.policy(), planner.policy()
    first.begin()
    first.observe(made(0, 0, 0, 0.0, 1.0), [], 0)
    plans = [first.plan(DEEPEST)]
    second.begin()
    plans.append(first.plan(DEEPEST))
    second.end(10, ended=True)
    plans.append(first.plan(DEEPEST))
    assert [isinstance(plan, SharedPlan) for plan in plans] == [False, True, False]
    assert [plan.limit for plan in plans] == [DEEPEST, DEEPEST - 2, DEEPEST]


def test_what_one_reply_teaches_of_lengths_and_gains_holds_for_the_others() -> None:
    planner = GoodputPlanner(Costs(FLAT, {"draft": QueryCost(0.1, 0.01)}), 7, 7)
    one, other = planner.policy(), planner.policy()
    before = other.alone.reading.to_dict()
    for _ in range(20):
        one.begin()
        one.end(300, ended=True)
    assert other.alone.reading.to_dict() == planner.reading.to_dict() != before
