"""The costs that loading measures: the prices of batches, queries and changes of size."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pytest

from localspec.engine.block_head import Block, BlockModel
from localspec.engine.costs import Costs
from localspec.engine.head import HeadInputs
from localspec.engine.hidden import Rows
from localspec.engine.model import Likeliest, ScoreRows, TunableModel
from localspec.runtime.calibration import PlainRound, measure_costs
from localspec.runtime.measuring_progress import MeasuringProgress
from tests.fake_heads import FakeBlockHead, HiddenTarget
from tests.fakes import ExactModel, letters
from tests.runtime.calibration.timed_models import PROMPT, Clock, Onward, Replaying, Timed, model, set_clock, stairs


def measured(
    target: TunableModel, drafters: Mapping[str, TunableModel] | None = None, plain_s: float = stairs(1, 4), **how: bool
) -> Costs:
    return measure_costs(target, drafters or {}, PROMPT, PlainRound(plain_s, 0.0), 17, MeasuringProgress(), **how)


def test_every_batch_has_the_price_the_model_takes(clock: Clock) -> None:
    target, draft = model(clock, stairs), model(clock, lambda batch, threads: 1e-4 * (1 + batch / 10))
    costs = measured(target, {"draft": draft})
    assert [costs.round_s(b) for b in (1, 2, 4, 5, 8, 16, 17)] == pytest.approx(
        [stairs(b, 4) for b in (1, 2, 4, 5, 8, 16, 17)]
    )
    assert costs.query_s("draft", 1) == pytest.approx(1.1e-4)
    assert costs.query_s("draft", 11) == pytest.approx(2.1e-4, rel=0.05)


@pytest.mark.parametrize("forgets_freely", [True, False])
def test_a_draft_has_the_price_of_what_replies_ask_it(clock: Clock, forgets_freely: bool) -> None:
    """Where its device ranks the scores, all of them are not fetched."""

    @dataclass(slots=True)
    class Ranks(Timed):
        def likeliest(self, context: Sequence[int]) -> Likeliest:
            before = self.clock.now_s
            row = self.logits(context, 1)[0]
            self.clock.now_s = before + (self.clock.now_s - before) / 2
            return Likeliest(np.arange(len(row)), row)

    draft = Ranks(letters(40), clock=clock, price_s=lambda batch, threads: 1e-4 * (1 + batch / 10))
    draft.forgets_freely = forgets_freely
    costs = measured(model(clock, stairs), {"draft": draft})
    assert costs.query_s("draft", 1) == pytest.approx(0.55e-4)
    assert costs.query_s("draft", 11) == pytest.approx(1.05e-4, rel=0.05)


def test_a_block_has_the_price_of_its_first_proposal_and_of_every_row(clock: Clock) -> None:
    """And catching up that of the target's rows it reads."""

    class Head(FakeBlockHead):
        def inject(self, features: Rows, position: int, tokens: Sequence[int]) -> None:
            FakeBlockHead.inject(self, features, position, tokens)
            clock.now_s += 1e-5 * len(features)

        def guess(self, token: int, position: int, n: int) -> Block:
            clock.now_s += 1e-4 * (1 + n / 10)
            return FakeBlockHead.guess(self, token, position, n)

    target = HiddenTarget(ExactModel(letters(40)))
    target.logits(PROMPT, 0)
    head = BlockModel(HeadInputs(Head(letters(40)), target.keep_hidden([0])))
    slow = model(clock, stairs)
    costs = measured(slow, {"dflash": head})
    assert costs.query_s("dflash", 1) == pytest.approx(1.1e-4)
    assert costs.query_s("dflash", 1, 4) == pytest.approx(1.4e-4)
    assert costs.query_s("dflash", 11) == pytest.approx(2.1e-4, rel=0.05)


@dataclass(slots=True)
class Scores(Timed):
    """A model with a large vocabulary: scores of a row take a part of a token's time."""

    scores: float = 0.0

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        rows = Timed.selected_logits(self, context, last, unread)
        self.clock.now_s -= len(unread) * self.scores * stairs(1, 4)
        return rows


@pytest.mark.parametrize(("scores", "found"), [(0.1, 0.1), (0.0, 0.0), (0.005, 0.0)])
def test_scores_have_a_price_where_leaving_them_out_is_clearly_faster(
    clock: Clock, scores: float, found: float
) -> None:
    target = Scores(letters(40), clock=clock, price_s=stairs, scores=scores)
    assert measured(target).scores == pytest.approx(found)


@pytest.mark.parametrize("remote", [True, False])
def test_scores_are_never_left_out_where_a_change_of_shape_costs(clock: Clock, remote: bool) -> None:
    """Over a network, and on CUDA."""
    target = Scores(letters(40), clock=clock, price_s=stairs, scores=0.1)
    assert measured(target, remote=remote, recorded=not remote).scores == 0


def test_interruptions_change_no_price(clock: Clock) -> None:
    """Two of three evaluations take three times as long and longer, as beside other programs."""
    turns = cycle((3.0, 1.0, 5.0))
    target = model(clock, lambda batch, threads: stairs(batch, threads) * next(turns))
    costs = measured(target, plain_s=2 * stairs(1, 4))
    assert [costs.price(b) for b in (2, 4, 8, 17)] == pytest.approx(
        [stairs(b, 4) / stairs(1, 4) for b in (2, 4, 8, 17)]
    )
    assert costs.plain_s == pytest.approx(2 * stairs(1, 4))


@pytest.mark.parametrize(("row_s", "largest"), [(0.018, 32), (0.024, 17)])
@pytest.mark.parametrize("times", [1, 10])
def test_more_than_sixteen_proposals_have_a_price_where_sixteen_tokens_are_cheap(
    clock: Clock, row_s: float, largest: int, times: int
) -> None:
    """Where the target is too slow to measure all sizes, too."""

    def price_s(batch: int, threads: int) -> float:
        return times * (0.08 + row_s * batch)

    target, prompt = model(clock, price_s), list(range(36))
    target.logits(prompt, 0)
    costs = measure_costs(target, {}, prompt, PlainRound(price_s(1, 4), 0.0), 32, MeasuringProgress())
    assert costs.largest == largest
    assert (16 in costs.rounds_s) == (times == 1)
    assert [costs.round_s(b) for b in (16, 17, largest)] == pytest.approx([price_s(b, 4) for b in (16, 17, largest)])


def test_a_slow_model_is_priced_by_fewer_batches(clock: Clock) -> None:
    """Three batches are measured whatever they take; the largest is put on their line."""
    target = model(clock, lambda batch, threads: 1.0 + batch)
    costs = measured(target, plain_s=2.0)
    assert set(costs.rounds_s) == {1, 2, 4, 8, 17}
    assert costs.round_s(17) == pytest.approx(18.0)


def test_sizes_just_below_a_group_of_rows_are_evaluated_as_the_whole_group_if_that_is_quicker(clock: Clock) -> None:
    """As Q4_K is computed with AVX2: rows that no group of 4 or 16 takes are read one by one."""

    def groups(batch: int, threads: int) -> float:
        return (0.34 * (batch // 16) + 0.11 * (batch % 16 // 4) + 0.045 * (batch % 4)) / 8

    costs = measured(model(clock, groups), plain_s=groups(1, 4))
    assert [costs.round_s(b) for b in (12, 15)] == pytest.approx([groups(b, 4) for b in (12, 15)])
    costs.pad()
    assert [costs.size(b) for b in (4, 8, 12, 14, 15, 16)] == [4, 8, 12, 16, 16, 16]


def test_a_slow_moment_of_the_machine_makes_no_size_dear(clock: Clock) -> None:
    """It lasts for longer than the evaluations of several sizes."""
    began_s = 0.0

    def price_s(batch: int, threads: int) -> float:
        return (2 if 0.6 <= clock.now_s - began_s <= 1.2 else 1) * (0.08 + 0.01 * batch)

    target = model(clock, price_s)
    target.logits(PROMPT, 0)
    began_s = clock.now_s
    costs = measured(target, plain_s=0.09)
    assert [costs.round_s(b) for b in range(1, 18)] == pytest.approx([0.08 + 0.01 * b for b in range(1, 18)])


def test_what_other_programs_take_is_no_price(clock: Clock) -> None:
    """Two tokens never fit between two interruptions here; one does."""

    def cut(batch: int, threads: int) -> float:
        waited_s = 0.04 if batch > 1 else 0.0
        clock.waited_s += waited_s
        return stairs(batch, threads) + waited_s

    costs = measured(model(clock, cut))
    assert [costs.round_s(b) for b in (1, 2, 4, 8, 16)] == pytest.approx([stairs(b, 4) for b in (1, 2, 4, 8, 16)])


def test_a_model_that_cannot_go_back_is_priced_for_going_on() -> None:
    """What it takes to be asked the same again, as measuring has to, is none of its prices."""
    clock = Clock()
    target = Onward(letters(40), clock=clock, price_s=stairs)
    draft = Onward(letters(40), clock=clock, price_s=lambda batch, threads: 1e-4 * (1 + batch / 10))
    with pytest.MonkeyPatch.context() as patch:
        set_clock(patch, clock)
        costs = measured(target, {"draft": draft})
    assert [costs.round_s(b) for b in (1, 2, 4, 5, 8, 16, 17)] == pytest.approx(
        [stairs(b, 4) for b in (1, 2, 4, 5, 8, 16, 17)]
    )
    assert (costs.query_s("draft", 1), costs.query_s("draft", 11)) == pytest.approx((1.1e-4, 2.1e-4), rel=0.05)


@pytest.mark.parametrize(("kind", "expected_s"), [(Timed, 0.0), (Replaying, 0.08)])
def test_taking_back_has_the_price_of_what_is_read_again(clock: Clock, kind: type[Timed], expected_s: float) -> None:
    target = kind(letters(40), clock=clock, price_s=lambda batch, threads: 0.01 * batch)
    costs = measured(target, plain_s=0.01)
    assert costs.rollback_s == pytest.approx(expected_s)
    assert costs.round_s(4) == pytest.approx(0.04)


def test_over_a_network_a_change_of_size_has_a_price_and_luck_has_none(clock: Clock) -> None:
    """A packet of larger batches is lost in two of three evaluations here, and the graph of another size is sent."""
    latest, turn = 0, cycle(range(3))

    def wire(batch: int, threads: int) -> float:
        nonlocal latest
        changed, latest = batch != latest, batch
        return stairs(batch, threads) + 1e-3 * changed + 0.2 * (batch > 4 and next(turn) > 0)

    target = model(clock, wire)
    costs = measured(target, remote=True)
    assert [costs.round_s(b) for b in (1, 2, 4, 8)] == pytest.approx(
        [stairs(1, 4), stairs(2, 4), stairs(4, 4), stairs(8, 4) + 0.2]
    )
    assert costs.resize_s == pytest.approx(1e-3)
    assert costs.settle_s == 0.0


def test_where_evaluations_are_recorded_the_first_two_of_a_size_have_prices(clock: Clock) -> None:
    """As on CUDA, which launches kernels one by one, then records them, and replays them from the third on."""
    latest, same_n = 0, 0

    def recorded(batch: int, threads: int) -> float:
        nonlocal latest, same_n
        same_n, latest = same_n + 1 if batch == latest else 0, batch
        return stairs(batch, threads) + (1e-3, 2e-3)[same_n] if same_n < 2 else stairs(batch, threads)

    target = model(clock, recorded)
    costs = measured(target, recorded=True)
    assert [costs.round_s(b) for b in (1, 4, 8)] == pytest.approx([stairs(b, 4) for b in (1, 4, 8)])
    assert (costs.resize_s, costs.settle_s) == pytest.approx((1e-3, 2e-3))


@pytest.mark.parametrize("late", [False, True], ids=["before the batches", "after them"])
def test_an_interruption_makes_no_drafter_dear(clock: Clock, late: bool) -> None:
    """One that is priced too high is never asked, and so never priced again."""
    target = model(clock, stairs)
    draft = model(
        clock, lambda batch, threads: 1e-4 * (1 + batch / 10) * (90 if late == (len(target.calls) > 20) else 1)
    )
    costs = measured(target, {"draft": draft})
    assert costs.query_s("draft", 1) == pytest.approx(1.1e-4)
