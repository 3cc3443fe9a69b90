"""The number of threads and the context for short texts that loading chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, repeat
from pathlib import Path
from random import Random

import pytest

from localspec.runtime.calibration import choose_context, choose_threads, read
from localspec.runtime.calibration_file import CalibrationFile
from localspec.runtime.measuring_progress import MeasuringProgress
from localspec.runtime.tuning import Tuning
from tests.fakes import letters
from tests.runtime.calibration.timed_models import PROMPT, Clock, TwoContexts, fit, model, new_tuning, stairs


@pytest.mark.parametrize(
    ("price_s", "expected"),
    [
        (lambda batch, threads: 8.0 / threads, 4),
        (lambda batch, threads: 1.0 + threads, 1),
        (lambda batch, threads: abs(threads - 2) + 1.0, 2),
        (lambda batch, threads: 1.0, 4),
    ],
    ids=["the more the better", "they wait for each other", "two are best", "no difference"],
)
def test_the_fastest_number_of_threads_is_taken(
    clock: Clock, price_s: Callable[[int, int], float], expected: int
) -> None:
    target = model(clock, price_s)
    assert choose_threads(target, PROMPT, 4, MeasuringProgress()) == expected
    assert target.threads == expected


def test_an_interruption_chooses_no_fewer_threads(clock: Clock) -> None:
    """Whatever else ran while all of them were measured."""

    def price_s(batch: int, threads: int) -> float:
        return 8.0 / threads * (9 if clock.now_s < 40 else 1)

    target = model(clock, price_s)
    assert choose_threads(target, PROMPT, 4, MeasuringProgress()) == 4
    assert target.threads == 4


def keeps_short_context(clock: Clock, several_s: float, times: Iterator[float]) -> bool:
    """True if the context for short texts is kept, by evaluations that take these ``times`` without it."""
    two = TwoContexts(letters(40), clock=clock, price_s=lambda *_: next(times), several_s=several_s)
    return choose_context(two, PROMPT, 4, MeasuringProgress())


@pytest.mark.parametrize("several_s", [0.8, 1.2])
def test_the_faster_context_for_short_texts_is_taken(clock: Clock, tmp_path: Path, several_s: float) -> None:
    """By a small verification: plain tokens, which are faster in a context of their own, decide nothing."""

    def ready() -> Tuning:
        two = TwoContexts(letters(40), clock=clock, price_s=stairs, several_s=several_s)
        return replace(new_tuning(clock), target=two)

    file = CalibrationFile(tmp_path, "key")
    first, again = ready(), ready()
    costs = fit(first, file)
    assert first.target.has_short_context == (several_s < 1)  # type: ignore[attr-defined]
    assert costs.round_s(4) == pytest.approx(min(several_s, 1) * stairs(4, 4), rel=0.1)
    fit(again, file)
    assert again.target.has_short_context == (several_s < 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("several_s", "slower"), [(0.9, 1.04), (1.1, 0.96)])
def test_a_machine_whose_speed_changes_does_not_choose_the_context(
    clock: Clock, several_s: float, slower: float
) -> None:
    """Each evaluation takes ``slower`` times as long as the one before."""
    times = (0.1 * slower**n for n in count())
    assert keeps_short_context(clock, several_s, times) == (several_s < 1)


@pytest.mark.parametrize("several_s", [0.95, 1.2])
def test_a_machine_whose_speed_wanders_hardly_chooses_the_context(clock: Clock, several_s: float) -> None:
    """Evaluations take up to a tenth more or less; at most one of a hundred loads takes the slower context."""
    wrong_n = 0
    for seed in range(100):
        rng = Random(seed)
        times = (rng.uniform(0.09, 0.11) for _ in count())
        wrong_n += keeps_short_context(clock, several_s, times) != (several_s < 1)
    assert wrong_n <= 1


@pytest.mark.parametrize("several_s", [0.95, 1.05])
def test_a_near_tie_keeps_the_context_for_short_texts(clock: Clock, several_s: float) -> None:
    assert keeps_short_context(clock, several_s, repeat(0.1))


@pytest.mark.parametrize("n", [1, 2, 5, 24])
def test_a_prompt_is_read_up_to_its_last_token(clock: Clock, n: int) -> None:
    """What is left would be read by the first evaluation, which is timed."""
    target = model(clock, stairs)
    read(target, PROMPT[:n], MeasuringProgress())
    assert target.evaluated_n == n - 1


def test_a_slow_model_is_measured_once_in_each_context(clock: Clock) -> None:
    keeps_short_context(clock, 1.0, repeat(1.0))
    assert clock.now_s == pytest.approx(2 * (1 + 2))
