"""The depth policy against clocks that are tables: what it does follows from costs and chances alone."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pytest

from localspec.engine.adaptive import AdaptiveDepth, StructureChange
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.dist import Dist
from localspec.engine.drafter import Favourite, NextProposal
from localspec.engine.drafting import DrafterQuery
from localspec.engine.events import Origin, Proposal, Round, Token

DEEPEST = 15
FLAT = {1: 1.0, 16: 1.2}
STEEP = {1: 1.0, 2: 2.0, 16: 16.0}
STAIRS = {1: 1.0, 2: 1.65, 3: 2.35, 4: 1.6, 5: 2.3, 6: 3.0, 7: 3.7, 8: 2.9, 12: 4.0, 16: 4.1}
AMX = {1: 1.0, 2: 2.2, 3: 2.6, 4: 2.95, 8: 3.8, 16: 5.7}
"""Even a certain proposal does not pay alone."""
EVEN = {1: 1.0, 2: 1.93, 3: 2.71, 4: 2.91, 5: 3.88, 8: 5.35, 9: 6.17, 12: 7.83, 16: 7.94, 17: 8.4}
"""Measured on an EPYC: a certain proposal alone pays for its evaluation, but not for the draft's step too."""
AVX2 = {1: 1.0, 2: 1.65, 4: 2.42, 8: 5.93, 12: 7.4, 16: 7.49}
"""Measured on an EPYC without AVX-512, at Q4_K_M: three proposals pay, fifteen if nearly all are right, seven not."""
STEP_S = 0.08
WRONG, RIGHT = 0, 1
"""Tokens: the draft guesses the second."""
GUESS = Dist.point(0)


@dataclass
class World:
    """A made-up machine and text: the draft says how sure it is, and is right just as often."""

    rounds_s: dict[int, float]
    surenesses: Sequence[float]
    step_s: float = STEP_S
    seed: int = 1
    rollback_s: float = 0.0
    """What every round pays that follows a refusal."""
    resize_s: float = 0.0
    """What every round pays whose batch has another size than the one before."""
    settle_s: float = 0.0
    """What the round after that pays if its batch has the same size."""
    row_s: float | None = None
    """The price of each further proposal of a block; None for a draft that guesses token by token."""
    longest: int = DEEPEST
    """The largest block."""
    catch_up_s: float = 0.0
    """The price of each token that a query reads besides the latest."""

    def at_depth(self, depth: int, tokens_n: int = 1500) -> float:
        """Tokens a second at a fixed depth."""
        costs, chance = Costs(self.rounds_s), random.Random(self.seed)
        depth = depth if self.row_s is None else min(depth, self.longest)
        further_s = self.step_s if self.row_s is None else self.row_s
        drafting_s = self.step_s + (depth - 1) * further_s if depth else 0.0
        verify_s = costs.round_s(depth + 1)
        surenesses_n = len(self.surenesses)
        done_n, clock_s, size, settling, read_n = 0, 0.0, 1, False, 0
        while done_n < tokens_n:
            accepted = 0
            while accepted < depth and chance.random() < self.surenesses[(done_n + accepted) % surenesses_n]:
                accepted += 1
            clock_s += drafting_s + verify_s + self.rollback_s * (accepted < depth)
            if depth:
                clock_s += max(0, done_n - read_n - 1) * self.catch_up_s
                read_n = done_n
            clock_s += self.resize_s if depth + 1 != size else self.settle_s * settling
            size, settling = depth + 1, depth + 1 != size
            done_n += accepted + 1
        return done_n / clock_s

    def best(self, depths: Iterable[int], tokens_n: int = 1500) -> float:
        """Tokens a second at the best of these depths, chosen afterwards."""
        return max(self.at_depth(depth, tokens_n) for depth in depths)

    def play(self, policy: AdaptiveDepth, tokens_n: int = 1500) -> float:
        """Tokens a second under a policy."""
        costs, chance = Costs(self.rounds_s), random.Random(self.seed)
        policy.begin()
        # The first token waits for no proposals.
        policy.observe(made(0, 0, 0, 0.0, costs.round_s(1)), [], 0)
        policy.costs.pad()
        done_n, clock_s, index, size, settling, read_n = 0, 0.0, 0, 1, False, 0
        while done_n < tokens_n:
            drafted_s = 0.0
            proposals: list[NextProposal] = []
            right: list[bool] = []
            own = WRONG
            plan = policy.plan(DEEPEST)
            block_n = 0
            while len(proposals) < plan.limit:
                if len(proposals) >= block_n:
                    lag = max(1, done_n - read_n) if self.catch_up_s else 1
                    if block_n or not plan.should_query("draft", lag, 0.0):
                        break
                    spent_s = self.step_s + (lag - 1) * self.catch_up_s
                    read_n = done_n
                    if self.row_s is not None:
                        block_n = min(self.longest, plan.block("draft"))
                        spent_s += (block_n - 1) * self.row_s
                    plan.queried(DrafterQuery("draft", lag, spent_s, max(1, block_n)))
                    drafted_s += spent_s
                sure = self.surenesses[(done_n + len(proposals)) % len(self.surenesses)]
                proposal = NextProposal("draft", GUESS, f"{sure:.1f}", sure, favourite=Favourite(RIGHT, sure))
                guessed = chance.random() < sure
                if not plan.should_propose(plan.chance(proposal)):
                    own = RIGHT if guessed else WRONG
                    break
                proposals.append(proposal)
                right.append(guessed)
            accepted = next((n for n, ok in enumerate(right) if not ok), len(right))
            evaluated = policy.costs.size(len(proposals) + 1)
            verify_s = costs.round_s(evaluated)
            verify_s += self.resize_s if evaluated != size else self.settle_s * settling
            size, settling = evaluated, evaluated != size
            policy.observe(
                made(index, accepted, len(proposals), drafted_s, verify_s, own), proposals[: accepted + 1], accepted
            )
            clock_s += drafted_s + verify_s + self.rollback_s * (accepted < len(proposals))
            done_n += accepted + 1
            index += 1
        return done_n / clock_s

    def policy(self) -> AdaptiveDepth:
        queries = {"draft": QueryCost(self.step_s, self.catch_up_s or self.step_s / 10, row_s=self.row_s)}
        return AdaptiveDepth(Costs(self.rounds_s, queries, self.rollback_s, self.resize_s, self.settle_s), DEEPEST)


def made(index: int, accepted: int, proposed: int, draft_s: float, verify_s: float, own: int = WRONG) -> Round:
    """A round whose last token is ``own``."""
    tokens = (*[Token(RIGHT, "x", Origin.ACCEPTED, "draft")] * accepted, Token(own, "x", Origin.PLAIN))
    rejected = (Proposal(0, "x", "draft"),) * (proposed - accepted)
    return Round(index, "draft", proposed, tokens, rejected, (), draft_s, verify_s, draft_s + verify_s)


@pytest.mark.parametrize("rounds_s", [FLAT, STEEP, STAIRS, AMX, EVEN], ids=["flat", "steep", "stairs", "amx", "even"])
@pytest.mark.parametrize("surenesses", [[0.02], [0.5], [0.9], [0.97], [0.97] * 40 + [0.1] * 40, [0.95, 0.9, 0.3]])
def test_it_keeps_up_with_the_best_fixed_depth(rounds_s: dict[int, float], surenesses: list[float]) -> None:
    """In every world within an eighth of the depth one would pick in hindsight, plain decoding among them."""
    world = World(rounds_s, surenesses)
    best = world.best((0, 1, 2, 3, 4, 5, 7, 11, 15))
    assert world.play(world.policy()) > 0.875 * best


@pytest.mark.parametrize("sureness", [0.9, 0.97, 1.0])
def test_a_short_reply_is_drafted_for_where_one_proposal_alone_hardly_pays(sureness: float) -> None:
    """It takes hope for the later ones, which are never seen if the first is not made."""
    world = World(EVEN, [sureness], step_s=0.097)
    best = world.best(range(DEEPEST + 1), tokens_n=60)
    assert world.play(world.policy(), tokens_n=60) > 0.95 * best


@pytest.mark.parametrize(("chance", "room"), [(0.85, DEEPEST), (0.98, 5)])
def test_a_good_stretch_does_not_keep_a_drafter_from_the_next(chance: float, room: int) -> None:
    """Nor at the end of a reply. Plain decoding would not bring back the better times that it waited for."""
    policy = World(AMX, [0.9]).policy()
    policy.begin()
    for index in range(20):
        policy.observe(made(index, 15, 15, 15 * STEP_S, AMX[16]), [], 15)
    value = policy.value("draft")
    value.first, value.chance = 1.0, chance
    assert policy.costs.speedup("draft", chance, room) > 1
    assert policy.plan(room).should_query("draft", 1, 0.0)


def test_it_beats_every_fixed_depth_where_texts_differ() -> None:
    """Stretches where the draft is sure, and stretches where it is lost."""
    world = World(STAIRS, [0.97] * 120 + [0.05] * 120)
    assert world.play(world.policy()) > 1.1 * world.best(range(DEEPEST + 1))


@pytest.mark.parametrize("rounds_s", [FLAT, STEEP, STAIRS], ids=["flat", "steep", "stairs"])
@pytest.mark.parametrize("surenesses", [[0.02], [0.5], [0.9], [0.97] * 40 + [0.1] * 40, [0.95, 0.9, 0.3]])
@pytest.mark.parametrize(("step_s", "row_s"), [(0.1, 0.0), (0.3, 0.02), (0.1, 0.1)])
def test_with_blocks_it_keeps_up_with_the_best_fixed_block(
    rounds_s: dict[int, float], surenesses: list[float], step_s: float, row_s: float
) -> None:
    """Whether further proposals of a block cost nothing, something, or as much as the first.

    Of a text by turns easy and hard more is lost where the easy parts fall into pauses by chance: at most a fifth (0.84
    of the best was the least of 52 seeds).
    """
    ratios = []
    for seed in range(4):
        world = World(rounds_s, surenesses, step_s=step_s, row_s=row_s, seed=seed)
        best = world.best((0, 2, 3, 5, 7, 15), tokens_n=1000)
        ratios.append(world.play(world.policy(), tokens_n=1000) / best)
    assert sum(ratios) / len(ratios) > 0.875
    assert min(ratios) > 0.8


def test_a_block_is_worth_a_price_that_one_proposal_is_not() -> None:
    """More than half a token's time is too much for a guess, and little for a block of them."""
    singly, block = World(FLAT, [0.8], step_s=0.7), World(FLAT, [0.8], step_s=0.7, row_s=0.0)
    assert singly.play(singly.policy()) < 1.05
    assert block.play(block.policy()) > 2.0


@pytest.mark.parametrize(
    ("rounds_s", "step_s", "catch_up_s"), [(FLAT, 0.2, 0.05), (STAIRS, 0.3, 0.2), (STAIRS, 0.4, 0.2)]
)
def test_tokens_that_were_put_off_keep_no_drafter_away(
    rounds_s: dict[int, float], step_s: float, catch_up_s: float
) -> None:
    """Their price grows with every round without a query, and has to be paid once in any case."""
    surenesses = [0.97] * 40 + [0.1] * 10 if rounds_s is FLAT else [0.9]
    world = World(rounds_s, surenesses, step_s=step_s, catch_up_s=catch_up_s)
    assert world.play(world.policy()) > 0.93 * world.best((0, 1, 2, 3, 5, 7, 11))


def test_only_the_first_query_of_a_block_is_paid_for() -> None:
    """However many proposals are taken from it."""
    policy = World(FLAT, [0.9], step_s=0.5, row_s=0.01).policy()
    before = policy.costs.queries["draft"]
    step_s, plan = before.step_s, policy.plan(8)
    assert plan.should_query("draft", 3, 0.0)
    block_n = plan.block("draft")
    assert block_n > 1
    plan.queried(DrafterQuery("draft", 3, before.of(3, block_n), block_n))
    for _ in range(block_n):
        assert plan.should_query("draft", 0, 0.0)
        assert plan.should_propose(plan.chance(NextProposal("draft", Dist.point(0), "kind", 0.9)))
    assert policy.costs.queries["draft"].step_s == pytest.approx(step_s)


@pytest.mark.parametrize(("rounds_s", "row_s"), [(FLAT, 0.0), (FLAT, 0.05), (STAIRS, 0.05)])
def test_a_block_is_as_large_as_pays(rounds_s: dict[int, float], row_s: float) -> None:
    """Larger where proposals are likelier, and again so after a hard stretch; never larger than the round."""
    policy = World(rounds_s, [0.9], row_s=row_s).policy()

    def sized(sure: float) -> int:
        for _ in range(60):
            plan = policy.plan(12)
            plan.queried(DrafterQuery("draft", 1, STEP_S, plan.block("draft")))
            for _ in range(plan.block("draft")):
                plan.chance(NextProposal("draft", Dist.point(0), f"{sure}", sure))
        return policy.plan(12).block("draft")

    sizes = [sized(sure) for sure in (0.97, 0.3, 0.97)]
    assert sizes[0] == sizes[2] > sizes[1] >= 1
    assert policy.plan(3).block("draft") <= 3


def test_a_block_begins_with_what_others_proposed() -> None:
    """It covers the places from the round's first on, so one that is computed late is the larger."""
    policy = World(FLAT, [0.9], row_s=0.3).policy()
    policy.value("draft").chance = 0.3
    plan = policy.plan(8)
    assert [plan.should_propose(0.99) for _ in range(3)] == [True] * 3
    assert plan.block("draft") == 3 + policy.plan(8).block("draft")


def test_nothing_is_hoped_for_behind_the_end_of_a_block() -> None:
    """Fifteen proposals pay here, three do, and the seven that the drafter can give do not."""
    world = World(AVX2, [1.0], step_s=0.33, row_s=0.026, longest=7)
    assert world.at_depth(3) > 1.1 * world.at_depth(7)
    assert world.play(world.policy(), tokens_n=60) > 0.97 * world.at_depth(3, tokens_n=60)


def test_replies_begin_with_deep_rounds_where_those_of_earlier_ones_gained() -> None:
    world = World(AVX2, [1.0], step_s=0.08)
    policy = world.policy()
    first, *_, later = [world.play(policy, tokens_n=60) for _ in range(6)]
    assert later > 1.05 * first
    for index in range(20):
        plan = policy.plan(DEEPEST)
        plan.queried(DrafterQuery("draft", 1, STEP_S))
        policy.observe(made(index, 8, DEEPEST, STEP_S, AVX2[16]), [], 8)
    assert world.play(policy, tokens_n=60) == pytest.approx(first, rel=0.01)


@pytest.mark.parametrize("surenesses", [[0.02], [0.9], [0.97] * 40 + [0.1] * 40])
@pytest.mark.parametrize("step_s", [STEP_S, 2.0])
def test_a_machine_that_is_faster_throughout_changes_no_decision(step_s: float, surenesses: list[float]) -> None:
    """Prices matter by their ratios alone; a power of two scales them exactly."""
    slow = World(STAIRS, surenesses, step_s=step_s, rollback_s=0.5)
    rounds_s = {batch: spent_s / 1024 for batch, spent_s in STAIRS.items()}
    fast = World(rounds_s, surenesses, step_s=step_s / 1024, rollback_s=0.5 / 1024)
    assert fast.play(fast.policy()) == pytest.approx(1024 * slow.play(slow.policy()))


def test_it_stops_speculating_where_it_never_pays() -> None:
    """Hardly a look in a hundred rounds, so next to nothing is lost."""
    world = World(STEEP, [0.05])
    assert world.play(world.policy()) > 0.985 / STEEP[1]


@pytest.mark.parametrize("sureness", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("step_s", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("rounds_s", [FLAT, STEEP, STAIRS], ids=["flat", "steep", "stairs"])
def test_a_draft_dearer_than_plain_decoding_costs_next_to_nothing(
    rounds_s: dict[int, float], step_s: float, sureness: float
) -> None:
    """However right it is: the dearer a look, the more seldom it is tried."""
    world = World(rounds_s, [sureness], step_s=step_s)
    assert world.play(world.policy(), tokens_n=1000) > 0.98


@pytest.mark.parametrize("sureness", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("step_s", [0.3, 0.6, 0.7, 0.9])
def test_a_dear_draft_is_not_asked_where_even_a_certain_proposal_would_not_pay(step_s: float, sureness: float) -> None:
    """Looks pay up to the end of a step of the staircase, and not beyond: plain speed is kept all the same."""
    world = World(STAIRS, [sureness], step_s=step_s)
    assert world.play(world.policy()) > 0.97


@pytest.mark.parametrize("catch_up_s", [0.01, 0.1, 1.0])
def test_a_draft_far_behind_is_tried_again_all_the_same(catch_up_s: float) -> None:
    """Putting it off makes catching up longer, so that must not be a reason to put it off."""
    policy = AdaptiveDepth(Costs(FLAT, {"draft": QueryCost(STEP_S, catch_up_s)}), DEEPEST)
    value = policy.value("draft")
    value.first, value.pause_n, value.idle_n = 0.0, 64, 63
    assert not policy.plan(8).should_query("draft", 64, 0.0)
    value.idle_n = 64
    assert policy.plan(8).should_query("draft", 65, 0.0)


@pytest.mark.parametrize("row_s", [None, 0.0, 0.05], ids=["one by one", "free block", "block"])
def test_it_comes_back_when_the_text_gets_easy(row_s: float | None) -> None:
    """After two thousand lost tokens, most of the gain of the next two thousand is had."""
    world = World(FLAT, [0.03] * 2000 + [0.98] * 2000, row_s=row_s)
    hard = World(FLAT, [0.03], row_s=row_s).at_depth(0)
    easy = World(FLAT, [0.98], row_s=row_s).at_depth(15)
    harmonic = 2 / (1 / hard + 1 / easy)
    assert world.play(world.policy(), tokens_n=4000) > 0.8 * harmonic


def test_free_proposals_go_on_where_paid_ones_do_not_pay() -> None:
    """A look that costs nothing is always taken."""
    policy = World(STEEP, [0.05], step_s=5.0).policy()
    plan = policy.plan(8)
    assert plan.should_query("suffix", 0, 0.0)
    assert not plan.should_query("draft", 1, 0.0)


def test_a_certain_free_proposal_is_made_whatever_a_look_beside_it_found() -> None:
    """The free drafter goes on for nothing, so that the other one's chances are no reason to decode plainly."""
    policy = World(STEEP | {16: 4.0}, [0.5], step_s=0.3).policy()
    policy.value("draft").chance = 0.3
    plan = policy.plan(15)
    free, paid = (
        NextProposal(name, Dist.point(5), "kind", chance) for name, chance in (("suffix", 0.99), ("draft", 0.3))
    )
    best = plan.chance(free)
    plan.queried(DrafterQuery("draft", 1, 0.3))
    plan.chance(paid)
    assert plan.should_propose(best)


def test_no_look_is_tried_beside_a_free_proposal_that_it_could_not_better() -> None:
    """However long ago the last one was."""
    policy = World(FLAT, [0.5], step_s=0.3).policy()
    policy.value("draft").idle_n = 1000
    assert policy.plan(8).should_query("draft", 1, 0.3)
    policy.value("draft").idle_n = 1000
    assert not policy.plan(8).should_query("draft", 1, 0.99)


@pytest.mark.parametrize("surenesses", [[0.5], [0.9], [0.97] * 40 + [0.1] * 40])
def test_where_taking_back_is_dear_it_keeps_up_too(surenesses: list[float]) -> None:
    """A recurrent state has to read again what was refused: as good as the best depth for that price."""
    world = World(FLAT, surenesses, rollback_s=1.5)
    best = world.best((0, 1, 2, 3, 4, 5, 7, 11, 15))
    assert world.play(world.policy()) > 0.875 * best


def looks(policy: AdaptiveDepth, chance: float, outcomes: Sequence[bool]) -> list[bool]:
    """For each round of a reply, up to the first that proposes: True if its guess, with this chance, is proposed.

    ``outcomes`` say which guesses are right.
    """
    proposed = []
    policy.begin()
    policy.observe(made(0, 0, 0, 0.0, policy.costs.plain_s), [], 0)
    for index, right in enumerate(outcomes, 1):
        guess = NextProposal("draft", Dist.point(RIGHT), "kind", chance, favourite=Favourite(RIGHT, chance))
        plan = policy.plan(DEEPEST)
        assert plan.should_query("draft", 1, 0.0)
        plan.queried(DrafterQuery("draft", 1, STEP_S))
        proposed.append(plan.should_propose(plan.chance(guess)))
        if proposed[-1]:
            break
        policy.observe(made(index, 0, 0, STEP_S, policy.costs.plain_s, RIGHT if right else WRONG), [], 0)
    return proposed


@pytest.mark.parametrize(
    ("settle_s", "chance", "outcomes", "proposed"),
    [
        (1.2, 0.8, [True, True, True], [False, False, True]),
        (1.2, 0.8, [True, False, True, True, True], [False, False, False, False, True]),
        (1.2, 0.99, [True], [True]),
        (0.0, 0.8, [True], [True]),
    ],
    ids=["two in a row", "a wrong one between", "sure", "not on CUDA"],
)
def test_plain_decoding_is_left_on_cuda_for_guesses_that_are_sure_or_proven(
    settle_s: float, chance: float, outcomes: list[bool], proposed: list[bool]
) -> None:
    """Proven in this reply: the next one begins anew."""
    policy = World({1: 1.0, 16: 1.6}, [], resize_s=0.3 if settle_s else 0.0, settle_s=settle_s).policy()
    for _ in range(2):
        assert looks(policy, chance, outcomes) == proposed


@pytest.mark.parametrize("rounds_s", [FLAT, STEEP, STAIRS], ids=["flat", "steep", "stairs"])
@pytest.mark.parametrize("surenesses", [[0.02], [0.5], [0.9], [0.97], [0.97] * 40 + [0.1] * 40])
@pytest.mark.parametrize(("resize_s", "settle_s"), [(0.3, 0.0), (1.0, 0.0), (0.35, 0.5)])
def test_where_a_change_of_size_is_dear_it_keeps_up_too(
    rounds_s: dict[int, float], surenesses: list[float], resize_s: float, settle_s: float
) -> None:
    """An RPC server is sent the whole graph of a batch unless it is like the last, and CUDA records it: never much
    under plain decoding.
    """
    world = World(rounds_s, surenesses, resize_s=resize_s, settle_s=settle_s)
    best = world.best((0, 1, 2, 3, 4, 5, 7, 11, 15))
    got = world.play(world.policy())
    assert got > 0.85 * best
    assert got > 0.97 * world.at_depth(0)


@pytest.mark.parametrize(("chance", "cheap", "dear"), [(0.2, True, False), (0.6, True, False), (0.97, True, True)])
def test_what_a_refusal_costs_is_known_before_the_first(chance: float, cheap: bool, dear: bool) -> None:
    """The same machine and the same guess: proposed where refusals cost nothing, only if it is sure where they do."""
    for rollback_s, proposed in ((0.0, cheap), (4.0, dear)):
        policy = World(FLAT, [chance], rollback_s=rollback_s).policy()
        plan = policy.plan(1)
        assert plan.should_query("draft", 1, 0.0)
        assert plan.should_propose(chance) is proposed
        assert ("taking back" in policy.explain()) is not proposed


def test_a_drafter_that_did_not_pay_is_tried_again_where_the_text_changes_its_character() -> None:
    """Long before its pause is over."""
    policy = World(FLAT, [0.05]).policy()
    value = policy.value("draft")
    value.first, value.pause_n, value.idle_n = 0.0, 64, 1
    for text, queried in (("so it goes", False), (" on", False), ("\n```", True)):
        policy.observe(Round(0, None, 0, (Token(0, text, Origin.PLAIN),), (), (), 0.0, 1.0, 1.0), [], 0)
        assert policy.plan(8).should_query("draft", 1, 0.0) is queried


def test_a_cheap_batch_size_is_filled() -> None:
    """Where four tokens cost less than two, a proposal of little promise goes along."""
    policy = World({1: 1.0, 2: 1.8, 3: 1.9, 4: 1.2, 5: 3.0}, [0.5]).policy()
    plan = policy.plan(4)
    assert [plan.should_propose(0.3) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(("limit", "filled"), [(2, False), (3, True)])
def test_a_proposal_is_worth_what_the_room_behind_it_allows(limit: int, filled: bool) -> None:
    """The third token alone does not pay; it does where a fourth fits that makes the batch cheap."""
    plan = World({1: 1.0, 2: 1.1, 3: 4.0, 4: 1.2}, [0.9]).policy().plan(limit)
    assert plan.should_propose(0.9)
    assert plan.should_propose(0.9) is filled


@pytest.mark.parametrize(("best", "queried"), [(0.0, True), (0.3, True), (0.9, False)])
def test_what_can_be_proposed_for_nothing_makes_a_look_worth_less(best: float, queried: bool) -> None:
    assert World(FLAT, [0.9], step_s=0.3).policy().plan(8).should_query("draft", 1, best) is queried


@pytest.mark.parametrize(("chance", "queried"), [(0.95, True), (0.5, False)])
def test_a_look_is_worth_less_after_doubtful_proposals(chance: float, queried: bool) -> None:
    """It is for nothing where one of them is refused."""
    policy = World(FLAT, [0.9], step_s=0.2).policy()
    policy.value("draft").later = 0.3
    plan = policy.plan(8)
    assert plan.should_propose(chance)
    assert plan.should_query("draft", 1, 0.0) is queried


def test_a_look_is_worth_no_more_than_a_certain_proposal() -> None:
    """The benefit of the doubt does not go so far as to ask where even that would not pay."""
    policy = World(STEEP, [0.9]).policy()
    assert policy.value("draft").first == math.inf
    assert not policy.plan(8).should_query("draft", 1, 0.0)


def test_a_drafter_whose_query_is_as_dear_as_a_token_is_asked_at_once_where_its_blocks_may_pay() -> None:
    """A head that gives a block on a GPU: short replies cannot wait for its turn to be tried."""
    world = World({1: 1.0, 8: 2.0, 16: 2.3}, [0.97], step_s=1.0, row_s=0.02, longest=7)
    assert world.play(world.policy(), tokens_n=60) > 0.9 * world.at_depth(7, tokens_n=60)


def test_every_plan_says_why() -> None:
    world = World(STAIRS, [0.9])
    policy = world.policy()
    for _ in range(20):
        plan = policy.plan(4)
        while plan.should_query("draft", 1, 0.0) and plan.should_propose(0.9):
            pass
        assert policy.explain()


@pytest.mark.parametrize(
    ("n", "said"), [(1, "1 proposal, accepted with 90%"), (2, "2 proposals, all accepted with 81%")]
)
def test_a_plan_says_how_many_proposals_it_has(n: int, said: str) -> None:
    policy = World(FLAT, [0.9]).policy()
    plan = policy.plan(n)
    for _ in range(n):
        assert plan.should_query("draft", 1, 0.0)
        assert plan.should_propose(0.9)
    assert policy.explain().partition(":")[0] == said


def test_a_plan_is_as_deep_as_there_is_room_and_a_price() -> None:
    policy = World(FLAT, [0.9]).policy()
    assert [policy.plan(room).limit for room in (0, 3, DEEPEST, 100)] == [0, 3, DEEPEST, DEEPEST]


def test_a_reply_begins_without_what_the_last_one_was_like() -> None:
    """Neither its speed, nor what its drafter was worth, nor a landmark that its end began."""
    world = World(FLAT, [0.97])
    policy = world.policy()
    world.play(policy, tokens_n=200)
    policy.value("draft").first = 0.0
    policy.observe(Round(0, None, 0, (Token(0, "end\n", Origin.PLAIN),), (), (), 0.0, 1.0, 1.0), [], 0)
    assert policy.rate(DEEPEST) > 2 * policy.plain_per_second
    policy.begin()
    assert policy.rate(DEEPEST) == pytest.approx(policy.plain_per_second)
    value = policy.value("draft")
    assert (value.first, value.idle_n) == (math.inf, 0)
    policy.observe(Round(0, None, 0, (Token(0, "- item", Origin.PLAIN),), (), (), 0.0, 1.0, 1.0), [], 0)
    assert value.idle_n == 1, "a dash where a reply begins changes nothing"


def test_what_a_reply_showed_of_chances_is_the_next_ones_prior_only() -> None:
    policy, proposal = World(FLAT, [0.5]).policy(), NextProposal("draft", Dist.point(0), "kind", 0.5)
    for _ in range(200):
        policy.observe(made(0, 1, 1, 0.0, 1.0), [proposal], 1)
    policy.begin()
    for _ in range(40):
        policy.observe(made(0, 0, 1, 0.0, 1.0), [proposal], 0)
    assert policy.likelihoods.of(proposal) < 0.3


def test_a_draft_that_never_pays_is_tried_more_and_more_seldom() -> None:
    """After 16 tokens, 32, and from then on 64."""
    policy = World(FLAT, [0.05]).policy()
    policy.value("draft").first = 0.0
    pauses: list[int] = []
    idle_n = 0
    while len(pauses) < 5:
        plan = policy.plan(8)
        if plan.should_query("draft", 1, 0.0):
            pauses.append(idle_n)
            idle_n = 0
            plan.queried(DrafterQuery("draft", 1, STEP_S))
            plan.should_propose(plan.chance(NextProposal("draft", Dist.point(0), "bad", 0.01)))
        policy.observe(Round(0, None, 0, (Token(0, "x", Origin.PLAIN),), (), (), 0.0, 1.0, 1.0), [], 0)
        idle_n += 1
    assert pauses == [16, 32, 64, 64, 64]


def test_looks_are_priced_by_what_they_cost() -> None:
    policy = World(FLAT, [0.9]).policy()
    for _ in range(100):
        policy.plan(8).queried(DrafterQuery("draft", 1, 3 * STEP_S))
    assert policy.costs.query_s("draft", 1) == pytest.approx(3 * STEP_S, rel=0.01)


@pytest.mark.parametrize("kind", [lambda costs: AdaptiveDepth(costs, DEEPEST), lambda costs: FixedDepth(3, costs)])
def test_rounds_are_priced_by_what_they_cost(kind: Callable[[Costs], DepthPolicy]) -> None:
    """By their batch, drafting apart, and with the price of taking back where something was refused before."""
    costs = Costs({1: 1.0, 4: 2.0}, rollback_s=3.0)
    policy = kind(costs)
    policy.begin()
    for _ in range(50):
        policy.observe(made(0, 1, 3, 0.5, 2.0), [], 1)
        policy.observe(made(1, 3, 3, 0.5, 5.0), [], 3)
        policy.observe(made(2, 0, 0, 0.5, 1.0), [], 0)
    assert (costs.round_s(4), costs.plain_s, costs.rollback_s) == pytest.approx((2.0, 1.0, 3.0))
    assert [policy.price(n) for n in (0, 3)] == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["Here", " is", " code:", "\n``", "`py"], [False, False, False, False, True]),
        (["one\n", "- ", "two"], [False, True, False]),
        (["a - b", " - c"], [False, False]),
        (["end.\n", "\n", "New"], [False, True, False]),
        (["text\n", "> quoted"], [False, True]),
        (["1. no", "\n2. yes"], [False, True]),
    ],
)
def test_a_change_of_character_is_noticed_once(pieces: list[str], expected: list[bool]) -> None:
    """Also where a landmark comes in pieces."""
    structure_change = StructureChange()
    assert [structure_change.feed(piece) for piece in pieces] == expected
