"""Prices of rounds and of queries, learned from what they cost."""

from __future__ import annotations

from math import inf, nan

import pytest

from localspec.engine.costs import Costs, QueryCost
from tests.engine.test_adaptive import STAIRS


class TestCosts:
    def test_between_two_sizes_the_price_is_on_the_line(self) -> None:
        costs = Costs({1: 1.0, 4: 4.0, 8: 6.0})
        assert [costs.round_s(batch) for batch in (1, 2, 3, 4, 6, 8)] == [1, 2, 3, 4, 5, 6]

    @pytest.mark.parametrize("most", range(1, 16))
    def test_the_next_batches_have_the_prices_they_have_one_by_one(self, most: int) -> None:
        """Also past the largest, whose price all of them have."""
        costs = Costs({1: 1.0, 4: 4.0, 8: 6.0})
        assert list(costs.next_s(most)) == [costs.round_s(batch) for batch in range(1, most + 1)]

    def test_they_follow_what_rounds_really_cost(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0})
        for _ in range(60):
            costs.observe_round(4, 3.0)
        assert costs.round_s(4) == pytest.approx(3.0, rel=0.02)
        assert 1.0 < costs.plain_s < 1.5, (
            "a machine that is slower at one batch is assumed to be slower at all, by less"
        )

    def test_a_busier_machine_does_not_make_one_batch_dearer_than_the_others(self) -> None:
        """Even if no plain round shows that all of them are."""
        costs = Costs({1: 1.0, 4: 2.0})
        for _ in range(200):
            costs.observe_round(4, 6.0)
        assert costs.price(4) == pytest.approx(2.0, rel=0.1)
        assert costs.plain_s == pytest.approx(3.0, rel=0.1)

    def test_plain_rounds_nearby_tell_a_dear_batch_from_a_slow_machine(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0})
        for _ in range(200):
            costs.observe_round(1, 2.0)
            costs.observe_round(4, 6.0)
        assert costs.price(4) == pytest.approx(3.0, rel=0.05)

    def test_what_is_taken_back_is_in_the_price_of_the_next_round(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0}, rollback_s=3.0)
        costs.observe_round(4, 2.0, refused=True)
        assert costs.price(4) == pytest.approx(5.0)
        costs.observe_round(4, 5.0)
        assert costs.price(4) == pytest.approx(2.0)

    def test_a_round_without_some_scores_costs_less_and_says_so_of_no_other(self) -> None:
        """They take a quarter of a token each; a machine twice as slow is seen all the same."""
        costs = Costs({1: 1.0, 8: 5.0}, scores=0.25)
        assert [costs.price(8, unscored_n) for unscored_n in (0, 4)] == pytest.approx([5.0, 4.0])
        for _ in range(100):
            costs.observe_round(8, 4.0, unscored_n=4)
        assert [costs.round_s(batch) for batch in (1, 8)] == pytest.approx([1.0, 5.0])
        for _ in range(200):
            costs.observe_round(1, 2.0)
            costs.observe_round(8, 8.0, unscored_n=4)
        assert [costs.price(8, unscored_n) for unscored_n in (0, 4)] == pytest.approx([5.0, 4.0], rel=0.01)

    def test_one_interruption_changes_little(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0})
        costs.observe_round(4, 500.0)
        assert costs.round_s(4) < 2.3

    def test_a_clock_that_stood_still_says_nothing(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0})
        for batch, spent_s in ((4, 0.0), (4, -1.0), (0, 1.0), (5, 1.0)):
            costs.observe_round(batch, spent_s)
        assert costs == Costs({1: 1.0, 4: 2.0})

    def test_a_round_that_takes_back_says_nothing_about_the_price_of_its_batch(self) -> None:
        """Only those after a refusal pay for it."""
        costs = Costs({1: 1.0, 4: 2.0}, rollback_s=3.0)
        for _ in range(100):
            costs.observe_round(4, 2.0, refused=True)
            costs.observe_round(4, 5.0, refused=False)
        assert (costs.round_s(4), costs.plain_s, costs.rollback_s) == pytest.approx((2.0, 1.0, 3.0))

    @pytest.mark.parametrize("unit", [1.0, 0.001])
    def test_what_taking_back_costs_follows_what_happens(self, unit: float) -> None:
        """On a slow machine and on a fast one."""
        costs = Costs({1: unit, 4: 2 * unit}, rollback_s=3 * unit)
        for _ in range(200):
            costs.observe_round(4, 2 * unit, refused=True)
            costs.observe_round(4, 8 * unit, refused=False)
        assert costs.rollback_s == pytest.approx(6 * unit, rel=0.2)
        assert costs.round_s(4) == pytest.approx(2 * unit, rel=0.2)

    def test_a_slower_day_makes_taking_back_dearer_as_well(self) -> None:
        assert Costs({1: 1.0}, {}, 3.0, 0.5).scaled(2.0) == Costs({1: 2.0}, {}, 6.0, 1.0)

    def test_over_a_network_a_change_of_size_is_paid_going_and_coming_back(self) -> None:
        """By plain rounds, too, and by none that has the size of the one before; text read in between has another."""
        costs = Costs({1: 1.0, 2: 1.5, 4: 2.0}, resize_s=0.25)
        costs.observe_round(1, 1.25)
        assert costs.next_s(4) == pytest.approx([1.0, 1.75, 2.0, 2.25])
        costs.observe_round(4, 2.25)
        assert costs.next_s(4) == pytest.approx([1.25, 1.75, 2.0, 2.0])
        assert [costs.price(batch) for batch in (1, 4)] == pytest.approx([1.25, 2.0])
        costs.read_text()
        assert costs.next_s(4)[-1] == pytest.approx(2.25)

    def test_where_batches_are_recorded_a_change_of_size_is_paid_for_by_several_rounds(self) -> None:
        """Each pays the same part, whatever the size."""
        costs = Costs({1: 1.0, 2: 1.5, 4: 2.0}, resize_s=0.25, settle_s=0.5)
        costs.observe_round(1, 1.25)
        plain, *larger = costs.next_s(4)
        part_s = larger[-1] - 2.0
        assert plain == pytest.approx(1.0)
        assert larger == pytest.approx([1.5 + part_s, 1.75 + part_s, 2.0 + part_s])
        assert 0 < part_s < 0.75
        costs.observe_round(4, 2.25)
        assert costs.next_s(4) == pytest.approx([1.0 + part_s, 1.5 + part_s, 1.75 + part_s, 2.0])

    def test_a_round_behind_which_a_text_may_still_be_read_teaches_nothing(self) -> None:
        """A server goes on reading while the first token is waited for."""
        costs = Costs({1: 1.0, 4: 2.0}, resize_s=0.25)
        costs.observe_round(1, 9.0)
        assert (costs.plain_s, costs.resize_s) == (1.0, 0.25)

    def test_a_price_for_changes_that_is_too_high_falls_until_one_is_tried(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0}, resize_s=4.0)
        for _ in range(1000):
            costs.observe_round(1, 1.0)
        assert costs.resize_s < 1.0

    def test_what_a_change_of_size_costs_follows_what_happens(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0}, resize_s=0.25)
        for _ in range(200):
            for batch, spent_s in ((1, 1.75), (1, 1.0), (4, 2.75), (4, 2.0)):
                costs.observe_round(batch, spent_s)
        assert costs.resize_s == pytest.approx(0.75, rel=0.2)
        assert (costs.plain_s, costs.round_s(4)) == pytest.approx((1.0, 2.0), rel=0.2)

    def test_the_second_batch_of_a_size_has_a_price_of_its_own(self) -> None:
        costs = Costs({1: 1.0, 4: 2.0}, resize_s=0.25, settle_s=0.5)
        costs.observe_round(1, 1.25)
        assert costs.price(1) == pytest.approx(1.5)
        costs.observe_round(1, 1.5)
        assert [costs.price(1), costs.price(4)] == pytest.approx([1.0, 2.25])
        for _ in range(200):
            for batch, spent_s in ((1, 1.75), (1, 2.0), (1, 1.0), (4, 2.75), (4, 3.0), (4, 2.0)):
                costs.observe_round(batch, spent_s)
        assert (costs.resize_s, costs.settle_s) == pytest.approx((0.75, 1.0), rel=0.2)
        assert (costs.plain_s, costs.round_s(4)) == pytest.approx((1.0, 2.0), rel=0.2)

    def test_where_a_change_of_size_is_dear_a_size_is_kept_for_a_while(self) -> None:
        """Until what that costs too much comes to half of a change; a larger batch changes it at once."""
        costs = Costs({1: 10.0, 2: 12.0, 4: 16.0, 8: 20.0}, resize_s=2.0, settle_s=20.0)
        costs.pad()
        sizes = []
        for batch in (1, 4, 2, 3, 4, 2, 2, 2, 8, 1):
            sizes.append(costs.size(batch))
            costs.observe_round(batch, costs.price(batch) * costs.plain_s)
        assert sizes == [1, 4, 4, 4, 4, 4, 2, 2, 8, 8]
        assert costs.size(1) == 1

    def test_each_batch_has_its_own_size_after_another_text(self) -> None:
        costs = Costs({1: 10.0, 4: 16.0}, resize_s=2.0, settle_s=18.0)
        costs.pad()
        costs.observe_round(4, 18.0)
        assert costs.size(1) == 4
        costs.read_text()
        assert [costs.size(batch) for batch in (1, 2, 3, 4)] == [1, 2, 3, 4]

    def test_a_size_is_kept_neither_over_a_network_nor_where_batches_cannot_be_padded(self) -> None:
        network, recurrent = Costs({1: 10.0, 4: 16.0}, resize_s=20.0), Costs({1: 10.0, 4: 16.0}, settle_s=20.0)
        network.pad()
        for costs in (network, recurrent):
            costs.observe_round(4, 18.0)
            assert [costs.size(batch) for batch in (1, 2, 3, 4)] == [1, 2, 3, 4]

    def test_batches_are_evaluated_as_larger_ones_that_take_clearly_less(self) -> None:
        costs = Costs({1: 20.0, 2: 33.0, 3: 47.0, 4: 32.0, 5: 46.0, 6: 61.0, 7: 75.0, 8: 58.0})
        costs.pad()
        assert [costs.size(batch) for batch in range(1, 9)] == [1, 2, 4, 4, 5, 6, 8, 8]
        assert [costs.round_s(batch) for batch in range(1, 9)] == [20, 33, 32, 32, 46, 61, 58, 58]

    def test_what_is_added_to_a_batch_has_no_scores(self) -> None:
        """A row's scores take 5 seconds here."""
        costs = Costs({1: 20.0, 2: 33.0, 3: 47.0, 4: 44.0}, scores=0.25)
        costs.pad()
        assert [costs.size(batch) for batch in range(1, 5)] == [1, 2, 4, 4]
        assert [costs.round_s(batch) for batch in range(1, 5)] == [20, 33, 39, 44]
        assert costs.price(3, unscored_n=1) == pytest.approx(34 / 20)

    @pytest.mark.parametrize("row_s", [None, 0.002])
    def test_they_survive_the_disk(self, row_s: float | None) -> None:
        costs = Costs(STAIRS, {"draft": QueryCost(0.1, 0.01, row_s=row_s)}, 0.25, 0.125)
        assert Costs.from_dict(costs.to_dict()) == costs

    def test_a_query_of_two_numbers_is_read_as_before(self) -> None:
        data = {"rounds_s": {"1": 1.0}, "looks": {"draft": [0.1, 0.01]}, "rollback_s": 0.0}
        assert Costs.from_dict(data).queries == {"draft": QueryCost(0.1, 0.01)}

    @pytest.mark.parametrize(
        "data",
        [
            {},
            {"rounds_s": {}, "looks": {}, "rollback_s": 0},
            {"rounds_s": {"1": 0}, "looks": {}, "rollback_s": 0},
            {"rounds_s": 3},
            {"rounds_s": {"1": 1}, "looks": {}},
            {"rounds_s": {"1": 1}, "looks": {}, "rollback_s": -1},
            {"rounds_s": {"1": 1}, "looks": {}, "rollback_s": 0, "resize_s": -1},
            {"rounds_s": {"1": 1}, "looks": {}, "rollback_s": 0, "scores": -1},
            {"rounds_s": {"1": 1, "0": 1}, "looks": {}, "rollback_s": 0},
            {"rounds_s": {"1": 1, "1000000000": 1}, "looks": {}, "rollback_s": 0},
            {"rounds_s": {"1": 1, "2": nan}, "looks": {}, "rollback_s": 0},
            {"rounds_s": {"1": 1, "2": inf}, "looks": {}, "rollback_s": 0},
            {"rounds_s": {"1": 1}, "looks": {"draft": [1, 0]}, "rollback_s": 0},
            {"rounds_s": {"1": 1}, "looks": {"draft": [nan, 1]}, "rollback_s": 0},
            {"rounds_s": {"1": 1}, "looks": {"draft": [1, 1, -1]}, "rollback_s": 0},
        ],
    )
    def test_nonsense_is_refused(self, data: dict[str, object]) -> None:
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
            Costs.from_dict(data)

    def test_a_look_after_catching_up_tells_what_catching_up_costs(self) -> None:
        """And one that had nothing to catch up with what a step does."""
        cost = QueryCost(1.0, 0.1)
        for _ in range(200):
            cost.observe(21, 5.0)
        assert (cost.step_s, cost.catch_up_s) == pytest.approx((1.0, 0.2), rel=0.01)
        for _ in range(200):
            cost.observe(1, 3.0)
        assert (cost.step_s, cost.catch_up_s) == pytest.approx((3.0, 0.2), rel=0.01)

    def test_a_look_that_reads_few_tokens_on_the_way_tells_what_a_step_costs(self) -> None:
        """A head reads all that was accepted before it guesses on, so it never reads one alone."""
        cost = QueryCost(1.0, 0.1)
        for _ in range(200):
            cost.observe(3, 2.4)
        assert (cost.of(3), cost.catch_up_s) == pytest.approx((2.4, 0.1), rel=0.01)

    def test_a_block_costs_its_rows(self) -> None:
        """They follow what looks cost, and the speed of the day."""
        cost = QueryCost(1.0, 0.1, row_s=0.2)
        assert [cost.of(lag, n) for lag, n in ((1, 1), (1, 6), (11, 6))] == [1, 2, 3]
        for _ in range(200):
            cost.observe(1, 4.0, 6)
        assert (cost.step_s, cost.further_s, cost.catch_up_s) == pytest.approx((2.0, 0.4, 0.1), rel=0.01)
        for _ in range(200):
            cost.observe(21, 8.0, 6)
        assert (cost.step_s, cost.further_s, cost.catch_up_s) == pytest.approx((2.0, 0.4, 0.2), rel=0.01)
        half = cost.scaled(0.5)
        assert (half.step_s, half.further_s, half.catch_up_s) == pytest.approx((1.0, 0.2, 0.1), rel=0.01)

    def test_a_lag_is_paid_for_by_the_token(self) -> None:
        cost = QueryCost(1.0, 0.1)
        assert [cost.of(lag) for lag in (0, 1, 11)] == [0, 1, 2]

    def test_tokens_read_one_by_one_cost_a_step_each(self) -> None:
        """And tell what a step costs; more than so many are read at once, which is not cheaper than as many as that."""
        cost = QueryCost(1.0, 0.1, singly_n=4)
        assert [cost.of(lag) for lag in (0, 1, 2, 4, 5, 51)] == [0, 1, 2, 4, 4, 6]
        for _ in range(200):
            cost.observe(3, 6.0)
        assert (cost.step_s, cost.catch_up_s) == pytest.approx((2.0, 0.1), rel=0.01)
        thrice = cost.scaled(3)
        assert (thrice.step_s, thrice.catch_up_s, thrice.singly_n) == pytest.approx((6.0, 0.3, 4), rel=0.01)
