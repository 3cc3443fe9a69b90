"""Fitting a pair to the machine: what is measured, what is remembered, and what is not believed."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, cycle, pairwise, repeat
from pathlib import Path
from random import Random

import numpy as np
import pytest

from localspec.engine.block_head import Block, BlockModel
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.head import HeadInputs
from localspec.engine.hidden import Rows
from localspec.engine.model import Likeliest, Logits
from localspec.runtime.calibration import PlainRound, choose_context, choose_threads, measure_costs
from localspec.runtime.calibration_file import CalibrationFile, calibration_key
from localspec.runtime.load import open_pair
from localspec.runtime.measuring_progress import MeasuringProgress
from localspec.runtime.options import LoadOptions
from localspec.runtime.tuning import Tuning
from tests.builtin import DRAFT, TARGET
from tests.fake_heads import FakeBlockHead, HiddenTarget
from tests.fakes import ExactModel, TableModel, letters

PROMPT = list(range(24))


def no_room(*_: object) -> int:
    """What a full disk says."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullDisk(io.StringIO):
    """An open file on it."""

    write = no_room

    def __init__(self, handle: int) -> None:
        os.close(handle)
        super().__init__()


@dataclass
class Clock:
    """Time that passes only when a model works."""

    now_s: float = 0.0
    waited_s: float = 0.0
    """What other programs took of it."""

    def __call__(self) -> float:
        return self.now_s


@dataclass(slots=True)
class Timed(TableModel):
    """A model that takes the time it is told to."""

    clock: Clock = field(default_factory=Clock)
    price_s: Callable[[int, int], float] = lambda batch, threads: float(batch)
    threads: int = 4
    replay_n: int = 0
    forgets_freely: bool = True
    singly_n: int = 1

    def set_threads(self, n: int) -> None:
        self.threads = n

    def logits(self, context: Sequence[int], last: int) -> Logits:
        before = self.evaluated_n
        rows = TableModel.logits(self, context, last)
        self.clock.now_s += self.price_s(self.evaluated_n - before, self.threads)
        return rows


@dataclass(slots=True)
class TwoContexts(Timed):
    """A model with a context for short texts: single tokens are faster there, several perhaps not."""

    several_s: float = 1.0
    """The time that several take there, in that of the other."""
    has_short_context: bool = True
    in_short: bool = True

    def use_short_context(self, on: bool) -> None:
        self.in_short = on

    def keep_one_context(self) -> None:
        self.has_short_context = self.in_short = False

    def logits(self, context: Sequence[int], last: int) -> Logits:
        started = self.clock.now_s
        rows = Timed.logits(self, context, last)
        if self.in_short:
            factor = self.several_s if last > 1 else 0.8
            self.clock.now_s = started + factor * (self.clock.now_s - started)
        return rows


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    set_clock(monkeypatch, clock)
    return clock


def set_clock(patch: pytest.MonkeyPatch, clock: Clock) -> None:
    patch.setattr("time.perf_counter", clock)
    patch.setattr("time.thread_time", lambda: 0.0)
    patch.setattr("localspec.runtime.calibration.waited_s", lambda: clock.waited_s)


def model(clock: Clock, price_s: Callable[[int, int], float]) -> Timed:
    return Timed(letters(40), clock=clock, price_s=price_s)


def stairs(batch: int, threads: int) -> float:
    """Cheaper by fours, and by threads."""
    return 1e-3 * (1 + (batch + 3) // 4) * 4 / threads


def test_every_batch_has_the_price_the_model_takes(clock: Clock) -> None:
    target, draft = model(clock, stairs), model(clock, lambda batch, threads: 1e-4 * (1 + batch / 10))
    costs = measure_costs(target, {"draft": draft}, PROMPT, PlainRound(stairs(1, 4), 0.0), 17, MeasuringProgress())
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
    plain = PlainRound(stairs(1, 4), 0.0)
    costs = measure_costs(model(clock, stairs), {"draft": draft}, PROMPT, plain, 17, MeasuringProgress())
    assert costs.query_s("draft", 1) == pytest.approx(0.55e-4)
    assert costs.query_s("draft", 11) == pytest.approx(1.05e-4, rel=0.05)


def test_a_block_has_the_price_of_its_first_proposal_and_of_every_row(clock: Clock) -> None:
    """And catching up that of the target's rows it reads."""

    class Head(FakeBlockHead):
        def inject(self, features: Rows, position: int) -> None:
            FakeBlockHead.inject(self, features, position)
            clock.now_s += 1e-5 * len(features)

        def guess(self, token: int, position: int, n: int) -> Block:
            clock.now_s += 1e-4 * (1 + n / 10)
            return FakeBlockHead.guess(self, token, position, n)

    target = HiddenTarget(ExactModel(letters(40)))
    target.logits(PROMPT, 0)
    head = BlockModel(HeadInputs(Head(letters(40)), target.keep_hidden([0])))
    slow, plain = model(clock, stairs), PlainRound(stairs(1, 4), 0.0)
    costs = measure_costs(slow, {"dflash": head}, PROMPT, plain, 17, MeasuringProgress())
    assert costs.query_s("dflash", 1) == pytest.approx(1.1e-4)
    assert costs.query_s("dflash", 1, 4) == pytest.approx(1.4e-4)
    assert costs.query_s("dflash", 11) == pytest.approx(2.1e-4, rel=0.05)


def test_interruptions_change_no_price(clock: Clock) -> None:
    """Two of three evaluations take three times as long and longer, as beside other programs."""
    turns = cycle((3.0, 1.0, 5.0))
    target = model(clock, lambda batch, threads: stairs(batch, threads) * next(turns))
    costs = measure_costs(target, {}, PROMPT, PlainRound(2 * stairs(1, 4), 0.0), 17, MeasuringProgress())
    assert [costs.price(b) for b in (2, 4, 8, 17)] == pytest.approx(
        [stairs(b, 4) / stairs(1, 4) for b in (2, 4, 8, 17)]
    )
    assert costs.plain_s == pytest.approx(2 * stairs(1, 4))


def test_a_slow_model_is_priced_by_fewer_batches(clock: Clock) -> None:
    """Three batches are measured whatever they take; the largest is put on their line."""
    target = model(clock, lambda batch, threads: 1.0 + batch)
    costs = measure_costs(target, {}, PROMPT, PlainRound(2.0, 0.0), 17, MeasuringProgress())
    assert set(costs.rounds_s) == {1, 2, 4, 8, 17}
    assert costs.round_s(17) == pytest.approx(18.0)


@dataclass(slots=True)
class Onward(Timed):
    """A model that cannot forget its latest tokens: asked for anything else, it reads everything again."""

    forgets_freely: bool = False

    def held(self, context: Sequence[int]) -> int:
        return len(self._held) if list(context[: len(self._held)]) == self._held else 0

    def read_again_n(self, context: Sequence[int], last: int) -> int:
        known_n = self.held(context)
        return known_n if known_n > len(context) - last else 0

    def logits(self, context: Sequence[int], last: int) -> Logits:
        new_n = len(context) - self.held(context) + self.read_again_n(context, last)
        rows = TableModel.logits(self, context, last)
        self.clock.now_s += self.price_s(new_n, self.threads)
        return rows


@dataclass(slots=True)
class Replaying(Onward):
    """One that reads eight tokens again instead."""

    replay_n: int = 8

    def held(self, context: Sequence[int]) -> int:
        return TableModel.held(self, context)

    def read_again_n(self, context: Sequence[int], last: int) -> int:
        known_n = min(self.held(context), len(context) - last)
        return self.held(context) - known_n + (self.replay_n if known_n < len(self._held) else 0)


def test_what_other_programs_take_is_no_price(clock: Clock) -> None:
    """Two tokens never fit between two interruptions here; one does."""

    def cut(batch: int, threads: int) -> float:
        waited_s = 0.04 if batch > 1 else 0.0
        clock.waited_s += waited_s
        return stairs(batch, threads) + waited_s

    plain = PlainRound(stairs(1, 4), 0.0)
    costs = measure_costs(model(clock, cut), {}, PROMPT, plain, 17, MeasuringProgress())
    assert [costs.round_s(b) for b in (1, 2, 4, 8, 16)] == pytest.approx([stairs(b, 4) for b in (1, 2, 4, 8, 16)])


def test_a_model_that_cannot_go_back_is_priced_for_going_on() -> None:
    """What it takes to be asked the same again, as measuring has to, is none of its prices."""
    clock = Clock()
    target = Onward(letters(40), clock=clock, price_s=stairs)
    draft = Onward(letters(40), clock=clock, price_s=lambda batch, threads: 1e-4 * (1 + batch / 10))
    with pytest.MonkeyPatch.context() as patch:
        set_clock(patch, clock)
        costs = measure_costs(target, {"draft": draft}, PROMPT, PlainRound(stairs(1, 4), 0.0), 17, MeasuringProgress())
    assert [costs.round_s(b) for b in (1, 2, 4, 5, 8, 16, 17)] == pytest.approx(
        [stairs(b, 4) for b in (1, 2, 4, 5, 8, 16, 17)]
    )
    assert (costs.query_s("draft", 1), costs.query_s("draft", 11)) == pytest.approx((1.1e-4, 2.1e-4), rel=0.05)


@pytest.mark.parametrize(("kind", "expected_s"), [(Timed, 0.0), (Replaying, 0.08)])
def test_taking_back_has_the_price_of_what_is_read_again(clock: Clock, kind: type[Timed], expected_s: float) -> None:
    target = kind(letters(40), clock=clock, price_s=lambda batch, threads: 0.01 * batch)
    costs = measure_costs(target, {}, PROMPT, PlainRound(0.01, 0.0), 17, MeasuringProgress())
    assert costs.rollback_s == pytest.approx(expected_s)
    assert costs.round_s(4) == pytest.approx(0.04)


def test_over_a_network_a_change_of_size_has_a_price_and_luck_has_none(clock: Clock) -> None:
    """A packet of larger batches is lost in two of three evaluations here, and the graph of another size is sent."""
    latest, turn = 0, cycle(range(3))

    def wire(batch: int, threads: int) -> float:
        nonlocal latest
        changed, latest = batch != latest, batch
        return stairs(batch, threads) + 1e-3 * changed + 0.2 * (batch > 4 and next(turn) > 0)

    target, plain = model(clock, wire), PlainRound(stairs(1, 4), 0.0)
    costs = measure_costs(target, {}, PROMPT, plain, 17, MeasuringProgress(), remote=True)
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

    target, plain = model(clock, recorded), PlainRound(stairs(1, 4), 0.0)
    costs = measure_costs(target, {}, PROMPT, plain, 17, MeasuringProgress(), recorded=True)
    assert [costs.round_s(b) for b in (1, 4, 8)] == pytest.approx([stairs(b, 4) for b in (1, 4, 8)])
    assert (costs.resize_s, costs.settle_s) == pytest.approx((1e-3, 2e-3))


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


@pytest.mark.parametrize("late", [False, True], ids=["before the batches", "after them"])
def test_an_interruption_makes_no_drafter_dear(clock: Clock, late: bool) -> None:
    """One that is priced too high is never asked, and so never priced again."""
    target = model(clock, stairs)
    draft = model(
        clock, lambda batch, threads: 1e-4 * (1 + batch / 10) * (90 if late == (len(target.calls) > 20) else 1)
    )
    costs = measure_costs(target, {"draft": draft}, PROMPT, PlainRound(stairs(1, 4), 0.0), 17, MeasuringProgress())
    assert costs.query_s("draft", 1) == pytest.approx(1.1e-4)


class TestProgress:
    """Measuring a slow target takes half a minute: a reader sees that it goes on, at what, and for how long."""

    TOKEN_S = 0.4
    """Two and a half tokens a second."""
    PROMPT = tuple(range(40)) * 2

    def seen(self, clock: Clock, folder: Path, token_s: float = TOKEN_S) -> list[tuple[float, str, float]]:
        """When, what and how far, until all is measured."""
        target = model(clock, lambda batch, threads: token_s * (1 + (batch - 1) / 4))
        draft = model(clock, lambda batch, threads: token_s / 12)
        seen: list[tuple[float, str, float]] = []
        tuning = Tuning(target, {"draft": draft}, tune_target=True, tune_drafters=True, largest=17)
        file = CalibrationFile(folder, "key")
        tuning.fit(self.PROMPT, file, Cancellation(), lambda what, part: seen.append((clock.now_s, what, part)))
        return [*seen, (clock.now_s, "", 1.0)]

    def test_it_moves_all_the_time_and_never_back(self, clock: Clock, tmp_path: Path) -> None:
        seen = self.seen(clock, tmp_path)
        parts = [part for _, _, part in seen]
        steps_s = [after[0] - before[0] for before, after in pairwise(seen)]
        assert parts == sorted(parts)
        assert next(at_s for at_s, _, part in seen if part > 0) < 0.1 * seen[-1][0]
        assert max(steps_s) < 0.2 * seen[-1][0], "no step is long"
        assert max(after[2] - before[2] for before, after in pairwise(seen)) < 0.2, "and none leaps"

    @pytest.mark.parametrize("again", [False, True], ids=["the first load", "a later load"])
    def test_the_time_left_is_about_right(self, clock: Clock, tmp_path: Path, again: bool) -> None:
        """Within two fifths, or two seconds, from the first estimate on; also where only plain speed is measured."""
        if again:
            self.seen(clock, tmp_path)
        begun_s = clock.now_s
        seen = self.seen(clock, tmp_path)
        said = [
            (seen[-1][0] - at_s, float(left[1]))
            for at_s, what, _ in seen
            if (left := re.search(r", (\d+) s left", what))
        ]
        assert seen[-1][0] - begun_s > (10 if again else 25)
        assert len(said) > 3
        for true_s, said_s in said:
            assert abs(said_s - true_s) < max(2, 0.4 * true_s), (true_s, said_s)

    def test_each_step_is_named(self, clock: Clock, tmp_path: Path) -> None:
        named = [what.partition(",")[0] for _, what, _ in self.seen(clock, tmp_path)]
        expected = [
            "a test text",
            "threads",
            "plain speed",
            "one token",
            "batches of 4",
            "drafter draft",
            "is it steady?",
        ]
        assert [name for name in dict.fromkeys(named) if name in expected] == expected

    def test_what_is_over_at_once_is_not_counted_down(self, clock: Clock, tmp_path: Path) -> None:
        assert not any("left" in what for _, what, _ in self.seen(clock, tmp_path, token_s=0.001))


class TestMemory:
    """What one load measured, the next one uses."""

    def tuning(self, clock: Clock, price_s: Callable[[int, int], float] = stairs) -> Tuning:
        return Tuning(
            model(clock, price_s), {"draft": model(clock, stairs)}, tune_target=True, tune_drafters=True, largest=17
        )

    def fit(self, tuning: Tuning, file: CalibrationFile) -> Costs:
        return tuning.fit(PROMPT, file, Cancellation(), lambda what, fraction: None)

    def test_the_second_load_measures_plain_speed_alone(self, clock: Clock, tmp_path: Path) -> None:
        file = CalibrationFile(tmp_path / "deep", "key")
        first = self.fit(self.tuning(clock), file)
        again = self.tuning(clock)
        second = self.fit(again, file)
        assert second.rounds_s == pytest.approx(first.rounds_s)
        drafter = again.drafters["draft"]
        assert isinstance(drafter, Timed)
        assert drafter.calls == []

    @pytest.mark.parametrize("several_s", [0.8, 1.2])
    def test_the_faster_context_for_short_texts_is_taken(self, clock: Clock, tmp_path: Path, several_s: float) -> None:
        """By a small verification: plain tokens, which are faster in a context of their own, decide nothing."""

        def ready() -> Tuning:
            two = TwoContexts(letters(40), clock=clock, price_s=stairs, several_s=several_s)
            return replace(self.tuning(clock), target=two)

        file = CalibrationFile(tmp_path, "key")
        first, again = ready(), ready()
        costs = self.fit(first, file)
        assert first.target.has_short_context == (several_s < 1)  # type: ignore[attr-defined]
        assert costs.round_s(4) == pytest.approx(min(several_s, 1) * stairs(4, 4), rel=0.1)
        self.fit(again, file)
        assert again.target.has_short_context == (several_s < 1)  # type: ignore[attr-defined]

    @pytest.mark.parametrize(("several_s", "slower"), [(0.9, 1.04), (1.1, 0.96)])
    def test_a_machine_whose_speed_changes_does_not_choose_the_context(
        self, clock: Clock, several_s: float, slower: float
    ) -> None:
        """Each evaluation takes ``slower`` times as long as the one before."""
        times = (0.1 * slower**n for n in count())
        assert self.chosen(clock, several_s, times) == (several_s < 1)

    @pytest.mark.parametrize("several_s", [0.95, 1.2])
    def test_a_machine_whose_speed_wanders_hardly_chooses_the_context(self, clock: Clock, several_s: float) -> None:
        """Evaluations take up to a tenth more or less; at most one of a hundred loads takes the slower context."""
        wrong_n = 0
        for seed in range(100):
            rng = Random(seed)
            times = (rng.uniform(0.09, 0.11) for _ in count())
            wrong_n += self.chosen(clock, several_s, times) != (several_s < 1)
        assert wrong_n <= 1

    @pytest.mark.parametrize("several_s", [0.95, 1.05])
    def test_a_near_tie_keeps_the_context_for_short_texts(self, clock: Clock, several_s: float) -> None:
        assert self.chosen(clock, several_s, repeat(0.1))

    def test_a_slow_model_is_measured_once_in_each_context(self, clock: Clock) -> None:
        self.chosen(clock, 1.0, repeat(1.0))
        assert clock.now_s == pytest.approx(2 * (1 + 2))

    def chosen(self, clock: Clock, several_s: float, times: Iterator[float]) -> bool:
        """True if the context for short texts is kept, by evaluations that take these ``times`` without it."""
        two = TwoContexts(letters(40), clock=clock, price_s=lambda *_: next(times), several_s=several_s)
        return choose_context(two, PROMPT, 4, MeasuringProgress())

    def test_tokens_that_are_read_one_by_one_are_priced_so(self, clock: Clock, tmp_path: Path) -> None:
        """Whether the price was measured just now or is from the disk, which does not know who reads how."""
        file = CalibrationFile(tmp_path, "key")
        for singly_n, priced in ((1, False), (4, True), (4, True), (1, False)):
            tuning = self.tuning(clock)
            drafter = tuning.drafters["draft"]
            assert isinstance(drafter, Timed)
            drafter.singly_n = singly_n
            costs = self.fit(tuning, file)
            steps = [costs.query_s("draft", lag) / costs.query_s("draft", 1) for lag in (2, 4)]
            assert (steps == pytest.approx([2, 4])) is priced

    def test_a_machine_that_is_slower_today_is_scaled(self, clock: Clock, tmp_path: Path) -> None:
        file = CalibrationFile(tmp_path, "key")
        first = self.fit(self.tuning(clock), file)
        slow = self.fit(self.tuning(clock, lambda batch, threads: 2 * stairs(batch, threads)), file)
        assert slow.round_s(8) == pytest.approx(2 * first.round_s(8))

    def test_threads_chosen_beside_another_program_are_chosen_again(self, clock: Clock, tmp_path: Path) -> None:
        """Else one busy hour would make the pair slow for good."""

        def busy(batch: int, threads: int) -> float:
            return stairs(batch, 4) * {1: 1.5, 2: 2.0, 4: 3.0}[threads]

        def quiet(batch: int, threads: int) -> float:
            return stairs(batch, 4) * 4 / threads

        file = CalibrationFile(tmp_path, "key")
        chosen = []
        for price_s in (busy, busy, quiet, quiet):
            tuning = self.tuning(clock, price_s)
            self.fit(tuning, file)
            chosen.append(tuning.target.threads)
        assert chosen == [1, 1, 4, 4]

    @pytest.mark.parametrize("factor", [5.0, 0.2])
    def test_threads_of_another_machine_are_chosen_again(self, clock: Clock, tmp_path: Path, factor: float) -> None:
        """From all of them down, not from those that were best there."""
        file = CalibrationFile(tmp_path, "key")
        first, second = self.tuning(clock, lambda b, n: stairs(b, 4) * n), self.tuning(clock)
        self.fit(first, file)
        second.target.price_s = lambda b, n: factor * stairs(b, 4) * (1 if n == 1 else 0.95)  # type: ignore[attr-defined]
        self.fit(second, file)
        assert (first.target.threads, second.target.threads) == (1, 4)

    def test_a_network_that_is_slower_today_is_measured_anew(self, clock: Clock, tmp_path: Path) -> None:
        """Its delay is added to every batch; scaled, a batch of 8 would look dearer than it is."""
        file, empty = CalibrationFile(tmp_path, "key"), CalibrationFile(tmp_path, "another")
        wire_s = stairs(1, 4)
        self.fit(replace(self.tuning(clock), remote=True), file)
        costs, anew = (
            self.fit(replace(self.tuning(clock, lambda *asked: wire_s + stairs(*asked)), remote=True), each)
            for each in (file, empty)
        )
        assert costs.round_s(8) == pytest.approx(anew.round_s(8))

    def test_a_machine_that_is_another_is_measured_anew(self, clock: Clock, tmp_path: Path) -> None:
        file = CalibrationFile(tmp_path, "key")
        self.fit(self.tuning(clock), file)
        other = self.tuning(clock, lambda batch, threads: 0.1 * batch)
        assert self.fit(other, file).round_s(8) == pytest.approx(0.8)

    def test_what_rounds_have_taught_is_there_the_next_time(self, clock: Clock, tmp_path: Path) -> None:
        """A price that was taken at a bad moment is not believed for ever."""
        file = CalibrationFile(tmp_path, "key")
        first = self.fit(self.tuning(clock), file)
        for _ in range(100):
            first.observe_round(8, 2 * stairs(8, 4))
            first.observe_round(10, stairs(12, 4))
            first.observe_round(1, stairs(1, 4))
        file.refresh(first)
        second = self.fit(self.tuning(clock), file)
        expected = [stairs(1, 4), 2 * stairs(8, 4), stairs(12, 4), stairs(4, 4)]
        assert [second.round_s(b) for b in (1, 8, 10, 4)] == pytest.approx(expected, rel=0.02)

    def test_a_few_rounds_teach_nothing_that_stays(self, clock: Clock, tmp_path: Path) -> None:
        file = CalibrationFile(tmp_path, "key")
        first = self.fit(self.tuning(clock), file)
        before = (tmp_path / "key.json").read_bytes()
        for _ in range(10):
            first.observe_round(1, stairs(1, 4))
            first.observe_round(8, 3 * stairs(8, 4))
        file.refresh(first)
        assert (tmp_path / "key.json").read_bytes() == before

    def test_a_long_context_teaches_nothing_that_stays(self, clock: Clock, tmp_path: Path) -> None:
        """Nor a busy hour: both make everything dearer, and the next load begins with a short context of its own."""
        file = CalibrationFile(tmp_path, "key")
        first = self.fit(self.tuning(clock), file)
        expected = [first.round_s(batch) for batch in (1, 4, 8)]
        for _ in range(300):
            first.observe_round(4, 1.5 * stairs(4, 4))
        assert first.taught() is None
        for _ in range(300):
            first.observe_round(4, 1.5 * stairs(4, 4))
            first.observe_round(1, 1.5 * stairs(1, 4))
        file.refresh(first)
        second = self.fit(self.tuning(clock), file)
        assert [second.round_s(batch) for batch in (1, 4, 8)] == pytest.approx(expected, rel=0.02)

    def test_what_is_evaluated_as_something_larger_keeps_its_own_price(self, clock: Clock, tmp_path: Path) -> None:
        """Or the next load would find it cheap as it is, and evaluate it so."""
        file = CalibrationFile(tmp_path, "key")

        def pairs_are_dear(batch: int, threads: int) -> float:
            return stairs(batch, threads) * (2 if batch == 2 else 1)

        first = self.fit(self.tuning(clock, pairs_are_dear), file)
        first.pad()
        assert first.size(2) > 2
        for _ in range(100):
            first.observe_round(2, stairs(4, 4))
            first.observe_round(1, stairs(1, 4))
        file.refresh(first)
        second = self.fit(self.tuning(clock, pairs_are_dear), file)
        assert second.rounds_s[2] == pytest.approx(pairs_are_dear(2, 4), rel=0.02)
        second.pad()
        assert second.size(2) > 2

    def test_what_was_not_worth_keeping_is_not_kept_later_either(self, tmp_path: Path) -> None:
        """Of a busy machine, most prices would still be those of then."""
        costs = Costs({1: 1.0, 8: 2.0})
        for _ in range(100):
            costs.observe_round(8, 3.0)
        file = CalibrationFile(tmp_path, "key")
        file.refresh(costs)
        assert file.load() is None

    def test_a_busy_machine_is_not_remembered(self, clock: Clock, tmp_path: Path) -> None:
        calls = iter(range(10_000))
        file = CalibrationFile(tmp_path, "key")
        self.fit(self.tuning(clock, lambda batch, threads: 1e-3 * (1 + 3 * (next(calls) % 2))), file)
        assert file.load() is None

    @pytest.mark.parametrize(
        "damage", [b"", b"{", b"[]", b'{"costs": {}, "threads": {}}', b"\xff\xfe", b'{"costs": 1}']
    )
    def test_a_damaged_file_is_measured_over(self, clock: Clock, tmp_path: Path, damage: bytes) -> None:
        (tmp_path / "key.json").write_bytes(damage)
        file = CalibrationFile(tmp_path, "key")
        assert file.load() is None
        self.fit(self.tuning(clock), file)
        assert file.load() is not None

    def test_a_folder_that_cannot_be_written_costs_nothing_but_time(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("not a folder")
        file = CalibrationFile(tmp_path / "file", "key")
        file.save(Costs({1: 1.0}, {"draft": QueryCost(1.0, 1.0)}), {}, short_context=False)
        assert file.load() is None
        assert (tmp_path / "file").read_text() == "not a folder"

    @pytest.mark.parametrize("step", ["write", "replace"])
    def test_a_full_disk_leaves_nothing_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        """Neither a part of a file nor a name for one; what was there before stays."""

        file = CalibrationFile(tmp_path, "key")
        file.save(Costs({1: 1.0}, {"draft": QueryCost(1.0, 1.0)}), {"draft": 2}, short_context=True)
        before = (tmp_path / "key.json").read_bytes()
        if step == "replace":
            monkeypatch.setattr(Path, "replace", no_room)
        else:
            monkeypatch.setattr(
                "localspec.runtime.calibration_file.os.fdopen", lambda handle, *_, **__: FullDisk(handle)
            )
        file.save(Costs({1: 2.0}, {"draft": QueryCost(1.0, 1.0)}), {"draft": 4}, short_context=True)
        assert [path.name for path in tmp_path.iterdir()] == ["key.json"]
        assert (tmp_path / "key.json").read_bytes() == before

    @pytest.mark.parametrize(
        ("build", "options"),
        [
            ("AVX512 = 1", LoadOptions(TARGET, n_ctx=64)),
            ("AVX2 = 1", LoadOptions(TARGET, n_ctx=64, threads=1)),
            ("AVX2 = 1", LoadOptions(TARGET, n_ctx=64, cache_type_k="q8_0")),
            ("AVX2 = 1", LoadOptions(TARGET, DRAFT, n_ctx=64)),
        ],
        ids=["build", "threads", "cache", "draft"],
    )
    def test_another_build_or_way_of_loading_is_not_taken_for_the_same(
        self, monkeypatch: pytest.MonkeyPatch, build: str, options: LoadOptions
    ) -> None:
        """Rebuilt for the processor, llama.cpp has other prices under the same version."""
        keys: list[str] = []

        class Known(CalibrationFile):
            def __init__(self, folder: Path, key: str) -> None:
                keys.append(key)

            def load(self) -> tuple[Costs, dict[str, int], bool]:
                raise Cancelled  # the key is all that is wanted

        monkeypatch.setattr("localspec.runtime.opening.CalibrationFile", Known)
        for words, how in (
            ("AVX2 = 1", LoadOptions(TARGET, n_ctx=64)),
            ("AVX2 = 1", LoadOptions(TARGET, n_ctx=64)),
            (build, options),
        ):
            monkeypatch.setattr("localspec.engine.backends.llama.native.Native.build", words)
            with pytest.raises(Cancelled):
                open_pair(how, Cancellation())
        assert keys[0] == keys[1] != keys[2]

    def test_another_model_or_another_way_has_another_key(self, tmp_path: Path) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        one.write_bytes(b"a" * 100)
        two.write_bytes(b"a" * 99 + b"b")
        keys = {calibration_key([one], ()), calibration_key([two], ()), calibration_key([one], ("8 threads",))}
        assert len(keys) == 3
        assert calibration_key([one], ()) == calibration_key([one], ())
