"""Laws of the replay: what it says of a policy has to be what the policy would cost."""

from __future__ import annotations

import random
from functools import partial

import pytest

from localspec.engine.costs import Costs, QueryCost
from localspec.gguf.draft_heads import DRAFT, EAGLE3
from tests.benchmarks.engine.adaptive_replay import adaptive
from tests.benchmarks.engine.replay import Chain, clairvoyant_s, fixed, fixed_policies, replay
from tests.benchmarks.engine.replayed import BEST_DEPTH, CLAIRVOYANT, HINDSIGHT, speed_ups
from tests.benchmarks.engine.traces import DEEPEST, Place, Trace

ROUNDS_S = {1: 0.020, 2: 0.033, 4: 0.032, 8: 0.058, 16: 0.083}
COSTS = Costs(ROUNDS_S, {DRAFT: QueryCost(0.0016, 0.0004)})
HEAD = Costs(ROUNDS_S, {EAGLE3: QueryCost(0.0016, 0.0004)})
BLOCKS = Costs(ROUNDS_S, {"dflash": QueryCost(0.004, 0.0004, row_s=0.0002)})
EACH = pytest.mark.parametrize("costs", [COSTS, HEAD, BLOCKS], ids=["draft", "head", "blocks"])


def trace_of(source: random.Random, length: int = 60) -> Trace:
    """A reply whose proposals are right for runs of random lengths."""
    text = [source.randrange(50) for _ in range(length)]
    places = []
    for at in range(length):
        matched = min(source.choice((0, 0, 1, 2, 5, DEEPEST)), length - at)
        chain = text[at : at + matched] + [99] * (DEEPEST - matched)
        places.append(Place(chain, [source.random() for _ in chain], matched, 0.5))
    return Trace("p", "hard", 0.0, 0, [1], text, places)


def foreseen() -> Trace:
    """A reply of 40 tokens that is proposed as it is."""
    text = list(range(40))
    places = [Place(text[at : at + DEEPEST], [1.0] * DEEPEST, min(DEEPEST, 40 - at), 1.0) for at in range(40)]
    return Trace("p", "copy", 0.0, 0, [1], text, places)


@EACH
@pytest.mark.parametrize("seed", range(20))
def test_all_tokens_are_committed_once(seed: int, costs: Costs) -> None:
    trace = trace_of(random.Random(seed))
    for make in [*fixed_policies().values(), adaptive]:
        outcome = replay(trace, make(costs), costs)
        assert outcome.accepted_n + outcome.rounds_n == len(trace.text)
        assert outcome.accepted_n <= outcome.proposed_n <= outcome.looked_n


def test_plain_costs_a_pass_a_token() -> None:
    trace = trace_of(random.Random(0))
    assert replay(trace, partial(fixed, 0, 0.0), COSTS).spent_s == pytest.approx(60 * 0.020)


def test_a_change_of_size_is_paid_for_by_the_rounds_that_make_it() -> None:
    """As on CUDA: the first batch of a size pays, and so does the second; sizes that a policy keeps change nothing."""
    costs = Costs(ROUNDS_S, {DRAFT: QueryCost(0.0, 0.0)}, resize_s=0.1, settle_s=0.4)
    assert replay(foreseen(), partial(fixed, 0, 0.0), costs).spent_s == pytest.approx(40 * 0.020 + 0.5)
    depths = iter([3, 3, 0, 3, 3, 3, 3, 3, 3, 3, 3])  # 4 + 4 + 1 + 7 x 4 + 3 tokens, the last of which end the reply

    def alternating(chain: Chain) -> int:
        depth = min(next(depths), chain.limit)
        for _ in range(depth):
            chain.peek()
        chain.size = 4
        return depth

    assert replay(foreseen(), alternating, costs).spent_s == pytest.approx(11 * 0.032 + 0.5)


@EACH
@pytest.mark.parametrize("seed", range(20))
def test_nothing_beats_knowing_the_future(seed: int, costs: Costs) -> None:
    trace = trace_of(random.Random(seed))
    least_s = clairvoyant_s(trace, costs)
    assert all(replay(trace, make(costs), costs).spent_s >= least_s - 1e-12 for make in fixed_policies().values())


def test_the_draft_reads_what_it_has_not_read() -> None:
    """All of the text is read by the draft just once, when all is accepted: looks and lags have to add up to it."""
    lags: list[int] = []

    def three(chain: Chain) -> int:
        for n in range(3):
            lags.append(chain.next_lag)
            if chain.peek() is None:
                lags.pop()
                return n
        return 3

    replay(foreseen(), three, COSTS)
    # The last token of the prompt and all of the text but the last proposal and the bonus after it.
    assert lags[:6] == [1, 1, 1, 2, 1, 1]
    assert sum(lags) == 39


def test_a_head_reads_the_target_rows_of_what_was_accepted() -> None:
    """Its own rows of those places are guesses."""
    outcome = replay(foreseen(), partial(fixed, 3, 0.0), HEAD)
    # Ten rounds of four tokens, each with three looks; all but the first read three tokens besides.
    assert (outcome.rounds_n, outcome.looked_n) == (10, 30)
    assert outcome.spent_s == pytest.approx(10 * 0.032 + 30 * 0.0016 + 9 * 3 * 0.0004)


def test_of_a_block_the_first_look_is_paid_for() -> None:
    """With all of its places."""
    outcome = replay(foreseen(), partial(fixed, 3, 0.0), BLOCKS)
    assert outcome.spent_s == pytest.approx(10 * (0.032 + 0.004 + 2 * 0.0002) + 9 * 3 * 0.0004)


def test_each_kind_of_hindsight_sees_more_than_the_one_before() -> None:
    traces = [trace_of(random.Random(seed)) for seed in range(10)]
    for place in traces[0].places:  # a draft that knows when it is right, so that a threshold is of use
        place.top[:] = [0.9] * place.matched + [0.1] * (DEEPEST - place.matched)
    found = speed_ups(traces, COSTS, {})
    for single, depth, both, all_of_it in zip(
        found["depth 3"], found[BEST_DEPTH], found[HINDSIGHT], found[CLAIRVOYANT], strict=True
    ):
        assert single <= depth <= both <= all_of_it + 1e-9
    assert found[BEST_DEPTH][0] < found[HINDSIGHT][0]
