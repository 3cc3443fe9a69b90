"""Loads after the first, which use what was measured and what replies have taught since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localspec.runtime.calibration_file import CalibrationFile
from tests.runtime.calibration.timed_models import Clock, Timed, fit, new_tuning, stairs


def test_the_second_load_measures_plain_speed_alone(clock: Clock, tmp_path: Path) -> None:
    file = CalibrationFile(tmp_path / "deep", "key")
    first = fit(new_tuning(clock), file)
    again = new_tuning(clock)
    second = fit(again, file)
    assert second.rounds_s == pytest.approx(first.rounds_s)
    drafter = again.drafters["draft"]
    assert isinstance(drafter, Timed)
    assert drafter.calls == []


def test_tokens_that_are_read_one_by_one_are_priced_so(clock: Clock, tmp_path: Path) -> None:
    """Whether the price was measured just now or is from the disk, which does not know who reads how."""
    file = CalibrationFile(tmp_path, "key")
    for singly_n, priced in ((1, False), (4, True), (4, True), (1, False)):
        tuning = new_tuning(clock)
        drafter = tuning.drafters["draft"]
        assert isinstance(drafter, Timed)
        drafter.singly_n = singly_n
        costs = fit(tuning, file)
        steps = [costs.query_s("draft", lag) / costs.query_s("draft", 1) for lag in (2, 4)]
        assert (steps == pytest.approx([2, 4])) is priced


def test_a_machine_that_is_slower_today_is_scaled(clock: Clock, tmp_path: Path) -> None:
    file = CalibrationFile(tmp_path, "key")
    first = fit(new_tuning(clock), file)
    slow = fit(new_tuning(clock, lambda batch, threads: 2 * stairs(batch, threads)), file)
    assert slow.round_s(8) == pytest.approx(2 * first.round_s(8))


def test_threads_chosen_beside_another_program_are_chosen_again(clock: Clock, tmp_path: Path) -> None:
    """Else one busy hour would make the pair slow for good."""

    def busy(batch: int, threads: int) -> float:
        return stairs(batch, 4) * {1: 1.5, 2: 2.0, 4: 3.0}[threads]

    def quiet(batch: int, threads: int) -> float:
        return stairs(batch, 4) * 4 / threads

    file = CalibrationFile(tmp_path, "key")
    chosen = []
    for price_s in (busy, busy, quiet, quiet):
        tuning = new_tuning(clock, price_s)
        fit(tuning, file)
        chosen.append(tuning.target.threads)
    assert chosen == [1, 1, 4, 4]


@pytest.mark.parametrize("factor", [5.0, 0.2])
def test_threads_of_another_machine_are_chosen_again(clock: Clock, tmp_path: Path, factor: float) -> None:
    """From all of them down, not from those that were best there."""
    file = CalibrationFile(tmp_path, "key")
    first, second = new_tuning(clock, lambda b, n: stairs(b, 4) * n), new_tuning(clock)
    fit(first, file)
    second.target.price_s = lambda b, n: factor * stairs(b, 4) * (1 if n == 1 else 0.95)  # type: ignore[attr-defined]
    fit(second, file)
    assert (first.target.threads, second.target.threads) == (1, 4)


def test_a_network_that_is_slower_today_is_measured_anew(clock: Clock, tmp_path: Path) -> None:
    """Its delay is added to every batch; scaled, a batch of 8 would look dearer than it is."""
    file, empty = CalibrationFile(tmp_path, "key"), CalibrationFile(tmp_path, "another")
    wire_s = stairs(1, 4)
    fit(replace(new_tuning(clock), remote=True), file)
    costs, anew = (
        fit(replace(new_tuning(clock, lambda *asked: wire_s + stairs(*asked)), remote=True), each)
        for each in (file, empty)
    )
    assert costs.round_s(8) == pytest.approx(anew.round_s(8))


def test_a_machine_that_is_another_is_measured_anew(clock: Clock, tmp_path: Path) -> None:
    file = CalibrationFile(tmp_path, "key")
    fit(new_tuning(clock), file)
    other = new_tuning(clock, lambda batch, threads: 0.1 * batch)
    assert fit(other, file).round_s(8) == pytest.approx(0.8)


def test_what_rounds_have_taught_is_there_the_next_time(clock: Clock, tmp_path: Path) -> None:
    """A price that was taken at a bad moment is not believed for ever."""
    file = CalibrationFile(tmp_path, "key")
    first = fit(new_tuning(clock), file)
    for _ in range(100):
        first.observe_round(8, 2 * stairs(8, 4))
        first.observe_round(10, stairs(12, 4))
        first.observe_round(1, stairs(1, 4))
    file.refresh(first)
    second = fit(new_tuning(clock), file)
    expected = [stairs(1, 4), 2 * stairs(8, 4), stairs(12, 4), stairs(4, 4)]
    assert [second.round_s(b) for b in (1, 8, 10, 4)] == pytest.approx(expected, rel=0.02)


def test_a_few_rounds_teach_nothing_that_stays(clock: Clock, tmp_path: Path) -> None:
    file = CalibrationFile(tmp_path, "key")
    first = fit(new_tuning(clock), file)
    before = (tmp_path / "key.json").read_bytes()
    for _ in range(10):
        first.observe_round(1, stairs(1, 4))
        first.observe_round(8, 3 * stairs(8, 4))
    file.refresh(first)
    assert (tmp_path / "key.json").read_bytes() == before


def test_a_long_context_teaches_nothing_that_stays(clock: Clock, tmp_path: Path) -> None:
    """Nor a busy hour: both make everything dearer, and the next load begins with a short context of its own."""
    file = CalibrationFile(tmp_path, "key")
    first = fit(new_tuning(clock), file)
    expected = [first.round_s(batch) for batch in (1, 4, 8)]
    for _ in range(300):
        first.observe_round(4, 1.5 * stairs(4, 4))
    assert first.taught() is None
    for _ in range(300):
        first.observe_round(4, 1.5 * stairs(4, 4))
        first.observe_round(1, 1.5 * stairs(1, 4))
    file.refresh(first)
    second = fit(new_tuning(clock), file)
    assert [second.round_s(batch) for batch in (1, 4, 8)] == pytest.approx(expected, rel=0.02)


def test_what_is_evaluated_as_something_larger_keeps_its_own_price(clock: Clock, tmp_path: Path) -> None:
    """Or the next load would find it cheap as it is, and evaluate it so."""
    file = CalibrationFile(tmp_path, "key")

    def pairs_are_dear(batch: int, threads: int) -> float:
        return stairs(batch, threads) * (2 if batch == 2 else 1)

    first = fit(new_tuning(clock, pairs_are_dear), file)
    first.pad()
    assert first.size(2) > 2
    for _ in range(100):
        first.observe_round(2, stairs(4, 4))
        first.observe_round(1, stairs(1, 4))
    file.refresh(first)
    second = fit(new_tuning(clock, pairs_are_dear), file)
    assert second.rounds_s[2] == pytest.approx(pairs_are_dear(2, 4), rel=0.02)
    second.pad()
    assert second.size(2) > 2
