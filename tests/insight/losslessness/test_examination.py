"""The examination finds every planted error and passes what is right: 5 of 5 times each, decided by seeds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import localspec.engine.loop as loop
from localspec.base.errors import CapacityError, EngineError
from localspec.engine.cancel import Cancelled
from localspec.engine.settings import Sampling
from localspec.engine.verify import Verdict
from localspec.insight.losslessness.check import Check, CheckOutcome, verdict_of
from localspec.insight.losslessness.examination import FALSE_ALARM, ExaminationPlan, examine
from localspec.insight.losslessness.subject import Speculation
from tests.insight.losslessness.support import (
    N_VOCAB,
    PLANTED,
    PROMPTS,
    QuickTable,
    TablePair,
    residual_not_renormalised,
)

PLAN = ExaminationPlan(
    Speculation(None, 3),
    Sampling(temperature=2.0, top_p=0.8),
    PROMPTS[:1],
    tokens=48,
    samples_n=400,
    replies_n=8,
    structured_n=0,
)
SEEDS = range(5)


def checks_of(pair: TablePair, plan: ExaminationPlan = PLAN) -> dict[str, Check]:
    return {found.name: found for found in examine(pair, plan) if isinstance(found, Check)}


def verdict(pair: TablePair, plan: ExaminationPlan = PLAN) -> CheckOutcome:
    """Of as many checks as it takes."""
    checks = []
    for found in examine(pair, plan):
        if isinstance(found, Check):
            checks.append(found)
            if found.outcome is CheckOutcome.FAIL:
                break
    return verdict_of(checks)


@pytest.fixture(scope="module")
def pair() -> TablePair:
    """One for all, since its rows are remembered."""
    return TablePair()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_right_passes(pair: TablePair, seed: int) -> None:
    """The real verifier; over all seeds there would be a false alarm once in two hundred times."""
    assert verdict(pair, dataclasses.replace(PLAN, seed=seed)) is CheckOutcome.PASS


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED.keys())
@pytest.mark.parametrize("seed", SEEDS)
def test_a_planted_error_is_found(
    pair: TablePair, planted: Callable[..., Verdict], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake in a copy of the verifier."""
    monkeypatch.setattr(loop, "verify", planted)
    # The residual is off by 0.27, which takes as many as are promised to show it; all else is plainer.
    samples_n = PLAN.samples_n if planted is residual_not_renormalised else 120
    assert verdict(pair, dataclasses.replace(PLAN, seed=seed, samples_n=samples_n)) is CheckOutcome.FAIL


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stale_cache_row_is_found(pair: TablePair, seed: int) -> None:
    """After a rejection the cache still holds the token that was rejected."""
    stale = TablePair(dataclasses.replace(pair.target, stale=True), pair.draft)
    assert verdict(stale, dataclasses.replace(PLAN, seed=seed)) is CheckOutcome.FAIL


def test_the_bounds_are_what_is_said(pair: TablePair) -> None:
    """All tests together alarm once in a thousand, and the smallest bias that is promised to show is small."""
    plan = dataclasses.replace(PLAN, prompts=PROMPTS)
    tests_n = plan.places + 1
    assert plan.false_alarm * tests_n == pytest.approx(FALSE_ALARM)
    (place,) = checks_of(pair)["sampled"].figures["places"]
    assert 0.1 < place["smallest_bias"] < 0.3
    assert place["distance"] < place["smallest_bias"]


def test_nothing_proposed_is_nothing_shown(pair: TablePair) -> None:
    """A draft that is never asked passes no examination."""
    off = dataclasses.replace(PLAN, speculation=Speculation((), 0), samples_n=100)
    assert verdict(pair, off) is CheckOutcome.OPEN


def test_at_temperature_0_only_greedy_replies_are_compared(pair: TablePair) -> None:
    """The rest is said to be open, and the whole passes on what was tested."""
    checks = checks_of(pair, dataclasses.replace(PLAN, sampling=Sampling(temperature=0)))
    assert {name: check.outcome for name, check in checks.items()} == {
        "greedy": CheckOutcome.PASS,
        "sampled": CheckOutcome.OPEN,
        "rounds": CheckOutcome.PASS,
    }
    assert "temperature 0" in checks["sampled"].text


def test_the_most_open_prompts_are_found(pair: TablePair) -> None:
    """Of two, the one whose replies begin in more ways."""
    plan = dataclasses.replace(PLAN, prompts=PROMPTS, places_n=1, samples_n=40, replies_n=1)
    (place,) = checks_of(pair, plan)["sampled"].figures["places"]
    assert place["prompt"] == "own-0"


def test_a_near_tie_is_told_apart_from_an_error(pair: TablePair) -> None:
    """Rows that move a little with the shape of the batch: greedy replies may part, by a gap as small as that."""

    class Wobbly(QuickTable):
        def logits(self, context: Any, last: int) -> Any:
            rows = super().logits(context, last)
            return rows + np.float32(0.004) * (last > 1) * np.arange(N_VOCAB, dtype=np.float32)

        def row(self, context: Any) -> list[float]:
            scores = super().row(context)
            second, best = sorted(range(len(scores)), key=scores.__getitem__)[-2:]
            scores[second] = scores[best] - 0.001  # a tie at every turn
            return scores

    wobbly = TablePair(Wobbly(pair.target.vocab, seed=11, sharpness=1.5), pair.draft)
    greedy = checks_of(wobbly, dataclasses.replace(PLAN, samples_n=10, replies_n=1))["greedy"]
    assert greedy.outcome is CheckOutcome.PASS
    assert greedy.figures["near_ties_n"] == 1
    assert 0.004 <= greedy.figures["batch_noise"] < 0.02
    (difference,) = greedy.figures["differences"]
    assert 0 <= difference["gap"] < 0.002
    assert "near-tie" in greedy.details[0]


def test_a_reply_that_breaks_off_fails_its_check_and_no_other(pair: TablePair) -> None:
    """But for one that has no room, which shows nothing."""

    class Breaking(TablePair):
        def reply(self, prompt: Any, options: Any, prefix: str = "") -> Any:
            if options.max_tokens == PLAN.tokens and not options.sampling.greedy:
                raise EngineError("llama.cpp failed.")
            if options.max_tokens == PLAN.opening_n:
                raise CapacityError("The context is full.")
            return super().reply(prompt, options)

    found = checks_of(Breaking(pair.target, pair.draft))
    assert {name: check.outcome.value for name, check in found.items()} == {
        "greedy": "pass",
        "sampled": "open",
        "likelihood": "fail",
        "rounds": "pass",
    }
    assert "llama.cpp failed." in found["likelihood"].text


def test_figures_are_json(pair: TablePair) -> None:
    """Whoever reads the report with a program gets plain values."""
    figures = {name: check.figures for name, check in checks_of(pair).items()}
    assert json.loads(json.dumps(figures)) == figures


def test_a_stop_signal_ends_it(pair: TablePair) -> None:
    """Half a reply proves nothing: what was done stays done, the rest is Cancelled."""
    stopped = TablePair(pair.target, pair.draft)
    going_on = examine(stopped, PLAN)
    first = next(each for each in going_on if isinstance(each, Check))
    assert first.name == "greedy"
    stopped.cancel.set()
    with pytest.raises(Cancelled):
        next(going_on)
