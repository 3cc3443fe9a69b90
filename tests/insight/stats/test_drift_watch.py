"""A fall is noticed soon, and nothing else is."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from localspec.engine.tally import Tally
from localspec.engine.timings import Timings
from localspec.insight.stats.drift import ALARM, REACH, DriftDetector
from localspec.insight.stats.drift_watch import DriftNotice, DriftWatch
from localspec.insight.stats.subjects import subject_of
from localspec.store import ReplyRecord, ReplyState
from tests.insight.stats.support import ACCEPTANCE, START, TEXTS, Kind, about_of

SUBJECTS = ("code", "json", "list", "prose")
USUAL = Kind()
UNTRAINED = replace(USUAL, factor=0.05, draft_bytes=101)


def runs_of(kinds: Sequence[Kind], seed: int, subjects: Sequence[str] = SUBJECTS) -> list[ReplyRecord]:
    """Runs as the store would give them, of 160 proposals each."""
    rng, other = random.Random(seed), random.Random(f"{seed} divergence")
    found = []
    for number, kind in enumerate(kinds):
        subject = rng.choice(subjects)
        rate = min(max(rng.gauss(ACCEPTANCE[subject] * kind.factor, 0.1), 0.0), 1.0)
        found.append(
            ReplyRecord(
                place=number,
                message=f"{number:x}",
                at=START + timedelta(hours=number),
                state=ReplyState.DONE,
                about=about_of(kind),
                timings=replace(
                    _timings(round(160 * rate), kind.verify_s * rng.uniform(0.95, 1.05)),
                    divergence=max(other.gauss(kind.divergence, 0.1), 0.0),
                ),
                text=TEXTS[subject],
            )
        )
    return found


def _timings(accepted_n: int, verify_s: float, rounds_n: int = 40) -> Timings:
    tally = Tally(
        plain_per_second=40.0,
        predicted_n=rounds_n + accepted_n,
        predicted_s=rounds_n * (verify_s + 0.005),
        verify_s=rounds_n * verify_s,
        draft_n=4 * rounds_n,
        draft_n_accepted=accepted_n,
        rounds_n=rounds_n,
    )
    return tally.timings()


def notices(runs: Sequence[ReplyRecord]) -> list[tuple[int, DriftNotice]]:
    """Each with the number of replies after which it came."""
    watch = DriftWatch()
    return [(n, notice) for n, run in enumerate(runs, 1) for notice in watch.receive(run)]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_replies_without_a_change_raise_nothing(seed: int) -> None:
    """In any of the figures, though four subjects differ widely."""
    assert notices(runs_of([USUAL] * 1000, seed)) == []


@pytest.mark.parametrize("seed", range(20))
def test_an_untrained_draft_is_noticed_within_ten_replies(seed: int) -> None:
    """After as few as forty to compare with; and the draft is what is named first."""
    before_n = 40 + 10 * (seed % 5)
    raised = notices(runs_of([USUAL] * before_n + [UNTRAINED] * 10, seed))
    assert {notice.measure for _, notice in raised} == {"acceptance", "speedup_vs_plain"}
    for n, notice in raised:
        assert before_n < n <= before_n + 10
        assert notice.before > notice.since
        assert abs(notice.since_n - (n - before_n)) <= 2
        assert notice.causes[0] == "the draft changed, from draft.gguf, 100 bytes to draft.gguf, 101 bytes"
        assert "a-pair" in notice.text


def test_getting_better_is_no_alarm() -> None:
    """Nor is another pair beside it."""
    worse = replace(UNTRAINED, pair="other")
    assert notices(runs_of([replace(USUAL, factor=0.4)] * 100 + [USUAL] * 100 + [worse] * 50, 5)) == []


def test_turning_to_another_subject_is_no_drift() -> None:
    """From code, where much is accepted, to prose, where little is; within each nothing changed."""
    code, prose = (runs_of([USUAL] * 100, 6, (subject,)) for subject in ("code", "prose"))
    mixed = runs_of([USUAL] * 60, 7)
    assert notices([*mixed, *code, *prose]) == []


def test_after_a_notice_the_baseline_is_new() -> None:
    """The same fall is told once, a further one again."""
    middling = replace(USUAL, factor=0.45)
    raised = notices(runs_of([USUAL] * 100 + [middling] * 150 + [UNTRAINED] * 40, 8))
    assert [notice.measure for _, notice in raised].count("acceptance") == 2
    assert [n <= 250 for n, notice in raised if notice.measure == "acceptance"] == [True, False]


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        (replace(USUAL, factor=0.05, temperature=2.0), "the temperature changed, from 0.8 to 2"),
        (replace(USUAL, factor=0.05), ""),
        (replace(USUAL, verify_s=0.06), "the target needs 3.0 times as long for a round"),
    ],
)
def test_likely_causes(changed: Kind, cause: str) -> None:
    """What is on record and changed at the same time; else that nothing did."""
    raised = notices(runs_of([USUAL] * 80 + [changed] * 20, 9))
    assert raised
    for _, notice in raised:
        assert [each[: len(cause)] for each in notice.causes] == ([cause] if cause else [])
        assert ("no recorded option changed" in notice.text) is (not cause)


def test_a_slow_machine_is_no_matter_of_acceptance() -> None:
    """Only the speed-up falls."""
    raised = notices(runs_of([USUAL] * 80 + [replace(USUAL, verify_s=0.06)] * 20, 9))
    assert {notice.measure for _, notice in raised} == {"speedup_vs_plain"}


@pytest.mark.parametrize("seed", range(5))
def test_a_rise_of_the_divergence_is_noticed(seed: int) -> None:
    """Also where as much is accepted as before; a fall of it is none."""
    further, nearer = replace(USUAL, divergence=1.5), replace(USUAL, divergence=0.05)
    raised = notices(runs_of([USUAL] * 60 + [further] * 12, seed))
    assert {notice.measure for _, notice in raised} == {"divergence"}
    for n, notice in raised:
        assert n > 60
        assert notice.before < notice.since
        assert "the divergence of draft and target rose from 0." in notice.text
    assert notices(runs_of([USUAL] * 60 + [nearer] * 30, seed)) == []


def test_the_same_replies_raise_the_same() -> None:
    """Today or tomorrow."""
    runs = runs_of([USUAL] * 60 + [UNTRAINED] * 10, 3)
    assert notices(runs) == notices(runs)
    assert {subject_of(run.text) for run in runs} == set(SUBJECTS)


def test_the_false_alarm_rate_is_bounded() -> None:
    """Doob: evidence of c within t values in at most t / c of all sequences, for any law, here with many ties."""
    rng = random.Random(10)
    sequences_n, values_n, c = 300, 25, 250.0
    reached_n = 0
    for seed in range(sequences_n):
        detector = DriftDetector(seed)
        most = 0.0
        for _ in range(values_n):
            detector.add(rng.choice((0.0, 0.0, 0.3, 1.0)), rng.choice("ab"))
            most = max(most, detector.evidence)
        reached_n += most >= c
    # 30 expected at most; three standard deviations above that.
    assert reached_n <= sequences_n * values_n / c + 3 * (sequences_n * 0.1 * 0.9) ** 0.5


def test_no_bettor_wins_on_average() -> None:
    """Over all ranks that are equally likely, what a bettor owns afterwards is what it owned before."""
    ranks_n = 400
    ratios = []
    for rank in range(ranks_n):
        detector = _Ranked(0)
        for n in range(9):
            detector.add(float(n % 3), "a")
        before = detector._owned.copy()
        detector.given = (rank + 0.5) / ranks_n
        detector.add(1.0, "a")
        ratios.append(detector._owned[:-1] / before)
    assert np.allclose(np.mean(ratios, axis=0), 1.0, atol=0.02)
    assert np.ptp(ratios) > 1


class _Ranked(DriftDetector):
    """Its next value has a rank that is given."""

    given: float | None = None

    def _rank(self, value: float, category: Hashable) -> float:
        drawn = super()._rank(value, category)
        return drawn if self.given is None else self.given


def test_memory_of_bettors_is_bounded() -> None:
    """However long it goes on, and with categories that come late."""
    detector = DriftDetector(1)
    rng = random.Random(1)
    for n in range(400):
        assert not detector.add(rng.random(), "late" if n > 300 else "early")
    assert detector._owned.shape[0] == REACH
    assert {len(before) for before in detector._before.values()} == {REACH}
    assert detector.evidence < ALARM
