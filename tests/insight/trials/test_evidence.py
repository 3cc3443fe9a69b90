"""The test of a trial: fair bets, bounded error, and a worse candidate that is gone soon."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.insight.trials.assignment import arm_of, fraction
from localspec.insight.trials.comparison import TrialComparison, compared
from localspec.insight.trials.evidence import Bettors, Ranks, ShiftTest
from localspec.insight.trials.trial import Change, Outcome, Trial
from localspec.store import Arm, ReplyRecord, ReplyState
from tests.insight.trials.support import TEXTS, TRIAL, World, outcome_of, replies, run_of

STICKY = replace(TRIAL, changes=(Change("draft", Path("a.gguf"), Path("b.gguf")),))
SHARES = st.floats(0.01, 0.9)


@given(share=SHARES, ratio=st.floats(1e-9, 1e9))
def test_a_bet_is_fair(share: float, ratio: float) -> None:
    """Whatever an outcome is held to be worth: on average over the sides it leaves what was owned."""
    owned = []
    for candidate in (True, False):
        bettors = Bettors(share, 1)
        bettors.bet([ratio], candidate=candidate)
        owned.append(bettors.owned)
    assert share * owned[0] + (1 - share) * owned[1] == pytest.approx(1)
    assert min(owned) > 0


@given(share=SHARES, low=st.floats(-5, 5), step=st.floats(0.01, 3))
def test_a_worse_outcome_is_worse_evidence(share: float, low: float, step: float) -> None:
    """That the candidate is worse gains from a lower score of its own, and from a higher one of the incumbent's.

    This is what bounds the error also where the candidate is better, not only where it is alike.
    """

    def worse(score: float, *, candidate: bool) -> float:
        test = ShiftTest(share)
        test.bet(score, candidate=candidate)
        return test.worse

    assert worse(low, candidate=True) >= worse(low + step, candidate=True)
    assert worse(low, candidate=False) <= worse(low + step, candidate=False)


def test_ranks_are_those_within_a_stratum() -> None:
    """The first of a stratum tells nothing; ties are in the middle."""
    ranks = Ranks()
    assert ranks.score(5.0, "code") is None
    assert ranks.score(5.0, "code") == pytest.approx(0)
    assert ranks.score(1.0, "prose") is None
    assert (ranks.score(9.0, "code") or 0) > 0 > (ranks.score(1.0, "code") or 0)


# Which side


def test_sides_are_drawn_by_id_and_in_the_share_that_was_asked_for() -> None:
    """A turn is on the same side whenever it is asked, and sides of two trials have nothing to do with each other."""
    rng = random.Random(7)
    turns = [f"{rng.getrandbits(64):016x}" for _ in range(10_000)]
    sides = [arm_of("0badcafe", turn, 0.2) for turn in turns]
    others = [arm_of("0badcaff", turn, 0.2) for turn in turns]
    assert sides == [arm_of("0badcafe", turn, 0.2) for turn in turns]
    both = Counter(zip(sides, others, strict=True))
    ours = Arm.CANDIDATE
    # Four standard deviations of a count around its mean.
    assert abs(sides.count(ours) - 2000) < 4 * math.sqrt(1600)
    assert abs(both[ours, ours] - 400) < 4 * math.sqrt(384)
    assert max(fraction("0badcafe", turn) for turn in turns) < 1


# How trials end


def outcomes(trial: Trial, world: World, trials_n: int) -> tuple[Counter[Outcome], list[int]]:
    """Of so many trials with seeds of their own; and after how many units they ended."""
    ends = [outcome_of(trial, world, seed) for seed in range(trials_n)]
    return Counter(verdict.outcome for verdict, _ in ends), sorted(units_n for _, units_n in ends)


def most(trials_n: int, probability: float) -> float:
    """What a count of that probability at most comes to: its mean and three standard deviations."""
    return trials_n * probability + 3 * math.sqrt(trials_n * probability * (1 - probability))


@pytest.mark.parametrize(
    ("trial", "world"),
    [
        (TRIAL, World()),
        (replace(TRIAL, share=0.5), World(noise=0.05)),
        (TRIAL, World(wandering=True)),
        (TRIAL, World(fails=0.05, fails_else=0.05)),
        (STICKY, World(turns_n=4, of_conversation=0.3)),
    ],
    ids=["alike", "half", "wandering", "failing", "conversations"],
)
def test_a_candidate_that_is_alike_is_rarely_decided_on(trial: Trial, world: World) -> None:
    """Looked at after every turn: 5 % are rolled back at most, and 5 % promoted."""
    ends, _ = outcomes(replace(trial, most_n=100 if trial.sticky else 200), world, 40)
    assert ends[Outcome.ROLLED_BACK] <= most(40, TRIAL.error)
    assert ends[Outcome.PROMOTED] <= most(40, TRIAL.error)
    assert ends[Outcome.UNDECIDED] > 0


@pytest.mark.parametrize("world", [World(ratio=0.8), World(ratio=0.8, wandering=True)], ids=["steady", "wandering"])
def test_a_candidate_that_is_a_fifth_slower_is_rolled_back_soon(world: World) -> None:
    """On a fifth of turns: 19 of 20 within 120 turns, 24 of them its own, where like replies vary by 15 %."""
    ends, turns = outcomes(TRIAL, world, 60)
    assert ends[Outcome.PROMOTED] == 0
    assert ends[Outcome.ROLLED_BACK] == 60
    assert turns[56] <= 120


def test_what_is_faster_is_promoted_and_what_is_better_never_rolled_back() -> None:
    ends, turns = outcomes(TRIAL, World(ratio=1.25), 60)
    assert ends[Outcome.PROMOTED] >= 58
    assert ends[Outcome.ROLLED_BACK] <= most(60, TRIAL.error)
    assert turns[56] <= 120


def test_a_smaller_error_takes_longer() -> None:
    quick, slow = (outcomes(replace(TRIAL, error=error), World(ratio=0.8), 20)[1] for error in (0.05, 0.001))
    assert slow[10] > quick[10]


@pytest.mark.parametrize(
    ("world", "measure"), [(World(fails=0.5), "failures"), (World(wait=3.0), "ttft_s")], ids=["fails", "waits"]
)
def test_a_candidate_can_be_worse_in_other_ways(world: World, measure: str) -> None:
    """It fails, or begins later; its speed is alike."""
    ends = Counter(outcome_of(TRIAL, world, seed)[0] for seed in range(20))
    rolled_back = sum(
        n for verdict, n in ends.items() if (verdict.outcome, verdict.measure) == ("rolled back", measure)
    )
    assert rolled_back >= 17


def test_what_fails_more_is_not_promoted() -> None:
    """However fast it is."""
    comparison = TrialComparison(TRIAL)
    runs = list(take(replies(TRIAL, World(ratio=2.0), 3), 150))
    ours = next(run for run in runs if run.about.arm is Arm.CANDIDATE)
    for run in (replace(ours, state=ReplyState.FAILED), *runs):
        comparison.receive(run)
    assert comparison.evidence_better > 1 / TRIAL.error
    assert comparison.verdict() is None


def test_what_is_faster_and_begins_later_is_not_promoted() -> None:
    """While the one speaks for it, the other does against it."""
    ends, _ = outcomes(TRIAL, World(ratio=1.25, wait=4.0), 20)
    assert ends[Outcome.PROMOTED] <= 2


# What counts


def test_a_question_asked_again_is_no_further_evidence() -> None:
    """It fares as it did before; the replies are shown."""
    runs = list(take(replies(TRIAL, World(ratio=0.8), 5), 100))
    once = compared(TRIAL, runs)
    again = compared(TRIAL, [each for run in runs for each in (run, run)])
    assert (again.worse, again.gain) == (once.worse, once.gain)
    assert again.units_n == once.units_n == 100
    assert sum(side.replies_n for side in again.sides.values()) == 200


def test_a_conversation_counts_once_and_when_the_next_begins() -> None:
    """Going back to it later changes nothing any more."""
    runs = list(take(replies(STICKY, World(ratio=0.8, turns_n=5), 5), 200))
    before = compared(STICKY, runs)
    assert before.units_n == 40
    assert compared(STICKY, runs[::5]).worse != before.worse, "all of its replies tell"
    assert compared(STICKY, runs[:196]).worse == compared(STICKY, runs).worse, "the last one is not over"
    late = replace(runs[3], place=201)
    comparison = compared(STICKY, [*runs, late])
    assert (comparison.worse, comparison.units_n) == (before.worse, 40)


def test_replies_of_others_do_not_count() -> None:
    other = replace(TRIAL, id="ffffffff")
    comparison = compared(TRIAL, [run_of(other, Arm.CANDIDATE), run_of(TRIAL, None)])
    assert comparison.units_n == 0
    assert comparison.gain is None


def test_the_gain_is_told_on_like_replies_alone() -> None:
    """A candidate that happened to get the slow subject looks slow, and is not."""
    slow = [run_of(TRIAL, Arm.CANDIDATE, speed=33, question=f"a{n}", text=TEXTS["prose"]) for n in range(9)]
    few = [run_of(TRIAL, Arm.INCUMBENT, speed=30, question="b", text=TEXTS["prose"])]
    fast = [run_of(TRIAL, Arm.INCUMBENT, speed=90, question=f"c{n}", text=TEXTS["code"]) for n in range(9)]
    comparison = compared(TRIAL, [*slow, *few, *fast])
    assert comparison.gain == pytest.approx(1.1)
    medians = [comparison.sides[arm].median("tokens_per_second") or 0 for arm in (Arm.CANDIDATE, Arm.INCUMBENT)]
    assert medians[0] < medians[1]


def take(runs: Iterator[ReplyRecord], n: int) -> Iterator[ReplyRecord]:
    return (run for run, _ in zip(runs, range(n), strict=False))
