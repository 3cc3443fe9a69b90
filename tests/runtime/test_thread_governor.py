"""Tests of the number of threads beside other programs."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from localspec.base.errors import NotFoundError
from localspec.engine.cancel import Cancellation
from localspec.runtime import loaded_pair
from localspec.runtime.load import ConcurrentPair
from localspec.runtime.loaded_pair import LoadedPair
from localspec.runtime.messages import Listener, Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.thread_governor import ThreadGovernor
from tests.builtin import TARGET
from tests.fakes import TableModel, letters
from tests.runtime.opened_pairs import open_unmeasured


@dataclass(slots=True)
class Threaded(TableModel):
    """A model that counts how often its threads are set."""

    threads: int = 4
    replay_n: int = 0
    forgets_freely: bool = True
    singly_n: int = 1
    set_n: int = 0

    def set_threads(self, n: int) -> None:
        self.threads, self.set_n = n, self.set_n + 1


@dataclass
class Processors:
    """Processors that others leave free, and how often they were counted."""

    free: float = math.inf
    age_s: float = 1.0
    counted_n: int = 0
    pauses_n: int = 0

    def free_n(self, *, after_pause: bool = False) -> float:
        self.counted_n += 1
        self.pauses_n += after_pause
        return self.free


def model(threads: int) -> Threaded:
    return Threaded(letters(4), threads=threads)


@dataclass
class Governed:
    """Two models and their governor, on a machine of four processors."""

    target: Threaded = field(default_factory=lambda: model(4))
    draft: Threaded = field(default_factory=lambda: model(2))
    processors: Processors = field(default_factory=Processors)

    def __post_init__(self) -> None:
        self.governor = ThreadGovernor([self.target, self.draft], self.processors)

    def with_free(self, free_n: float) -> tuple[int, int]:
        self.processors.free = free_n
        self.governor.adjust()
        return self.target.threads, self.draft.threads


@pytest.mark.parametrize(
    ("free_n", "threads"), [(math.inf, (4, 2)), (3.6, (4, 2)), (3.3, (3, 2)), (1.3, (1, 1)), (0.0, (1, 1))]
)
def test_as_many_threads_as_there_are_free_processors(free_n: float, threads: tuple[int, int]) -> None:
    """At least one, and no more than are best on a quiet machine."""
    assert Governed().with_free(free_n) == threads


def test_threads_come_back_when_others_are_done() -> None:
    governed = Governed()
    assert [governed.with_free(n) for n in (1, 2, 4)] == [(1, 1), (2, 2), (4, 2)]


def test_a_program_at_the_limit_does_not_make_them_go_to_and_fro() -> None:
    """What makes a thread go is more than what makes it come back."""
    governed = Governed()
    threads = [governed.with_free(n)[0] for n in (3.35, 3.55, 3.35, 3.6)]
    assert threads == [3, 3, 3, 3]


def test_processors_are_not_counted_in_every_round() -> None:
    governed = Governed()
    governed.processors.age_s = 0.1
    assert governed.with_free(0) == (4, 2)
    assert governed.processors.counted_n == 0


def test_after_a_pause_processors_are_counted_again_soon() -> None:
    """What others did between two replies tells little of what they do in the next."""
    governed = Governed()
    for begins, age_s, counted_n in [(True, 1.5, 1), (False, 0.05, 1), (False, 0.15, 2), (False, 0.15, 2)]:
        governed.processors.age_s = age_s
        governed.governor.adjust(begins=begins)
        assert (governed.processors.counted_n, governed.processors.pauses_n) == (counted_n, 1)


def test_the_time_of_slow_rounds_is_no_pause() -> None:
    governed = Governed()
    for begins, age_s in [(False, 9), (True, 0.2), (False, 0.6)]:
        governed.processors.age_s = age_s
        governed.governor.adjust(begins=begins)
    assert (governed.processors.counted_n, governed.processors.pauses_n) == (2, 0)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the governors of pairs are told."""
    told: list[bool] = []

    def adjust(governor: ThreadGovernor, *, begins: bool = False) -> None:
        told.append(begins)

    monkeypatch.setattr(ThreadGovernor, "adjust", adjust)
    return told


PROMPT = (Message(Role.USER, "Hello"),)
FEW = ReplyOptions(max_tokens=4)


def test_a_reply_tells_that_it_begins(begun: list[bool]) -> None:
    with closing(open_unmeasured(LoadOptions(TARGET, n_ctx=256, threads=1))) as pair:
        for _ in range(2):
            begun.clear()
            list(pair.reply(PROMPT, FEW))
            assert begun[0]
            assert sum(begun) == 1


def test_the_first_of_several_replies_tells_that_it_begins(begun: list[bool]) -> None:
    """When the second comes, the processors have been counted in the rounds of the first."""
    with closing(open_unmeasured(LoadOptions(TARGET, n_ctx=256, threads=1, replies=2))) as pair:
        assert isinstance(pair, ConcurrentPair)
        for _ in range(2):
            begun.clear()
            for _ in range(2):
                pair.begin(PROMPT, FEW, "", Listener(lambda _: None, lambda _: None), Cancellation())
            while pair.step():
                pass
            assert begun[0]
            assert sum(begun) == 1


def test_models_of_one_thread_need_no_counting() -> None:
    processors = Processors()
    ThreadGovernor([model(1)], processors).adjust()
    assert processors.counted_n == 0


def test_processors_are_watched_from_the_beginning_of_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the first text that is read has the right number of threads."""
    order: list[str] = []

    class Watch(Processors):
        def __init__(self) -> None:
            super().__init__()
            order.append("watch")

    monkeypatch.setattr(loaded_pair, "ProcessorWatch", Watch)
    with pytest.raises(NotFoundError):
        LoadedPair.open(LoadOptions(Path("none")), Cancellation(), lambda what, fraction: order.append(what))
    assert order == ["watch", "checking the files"]
