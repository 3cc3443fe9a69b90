"""Memory that is given back, and what collections leave out."""

from __future__ import annotations

import ctypes
import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.base import gc_scheduler
from localspec.chat.pairs.library import PairLibrary
from localspec.cli.services import Services
from localspec.runtime.chat_config import ChatConfig
from localspec.tui.app import ChatApp
from tests.tui.fakes import NoPairs, with_settings
from tests.tui.support import LAUNCH, Clock, FakeEngine, wait_until
from tests.tui.test_chat import answered, begin

STATM = Path("/proc/self/statm")
BLOCK_BYTES = 2000
BLOCKS_N = 20_000


@pytest.fixture
def thawed() -> Iterator[None]:
    """What is left out of collections in a test is among them again after it, and they come as often as before."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def has_trim() -> bool:
    """Whether the C library is glibc, and the system says how much memory is resident."""
    return STATM.exists() and hasattr(ctypes.CDLL(None), "malloc_trim")


def resident_bytes() -> int:
    """Of this process."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not has_trim(), reason="needs glibc and /proc")
def test_free_memory_between_blocks_in_use_goes_back_to_the_system() -> None:
    """What lies at the end of the heap goes back by itself; a block in every hundred thousand bytes holds the rest."""
    blocks: list[bytearray | None] = [bytearray(BLOCK_BYTES) for _ in range(BLOCKS_N)]
    for index in range(BLOCKS_N):
        if index % 50:
            blocks[index] = None
    before_bytes = resident_bytes()
    gc_scheduler.give_back()
    assert before_bytes - resident_bytes() > BLOCKS_N * BLOCK_BYTES / 2
    assert sum(block is not None for block in blocks) == BLOCKS_N / 50


def test_nothing_is_collected_before_the_first_paint(monkeypatch: pytest.MonkeyPatch, thawed: None) -> None:
    """One collection comes after it; and however the screen ends, collections go on."""
    seen: list[bool] = []

    def run_app(config: ChatConfig) -> None:
        seen.append(gc.isenabled())
        gc_scheduler.freeze_heap()
        seen.append(gc.isenabled())
        gc.disable()
        raise KeyboardInterrupt

    monkeypatch.setattr("localspec.tui.app.run_app", run_app)
    with pytest.raises(KeyboardInterrupt):
        Services().open_screen(LAUNCH)
    assert (*seen, gc.isenabled()) == (False, True, True)


def test_what_there_is_when_things_have_settled_is_left_out_of_collections(thawed: None) -> None:
    """But not what comes later, which is looked at more seldom than by default."""
    early: list[object] = []
    gc_scheduler.freeze_heap()
    late: list[object] = [early]
    left = {id(each) for each in gc.get_objects()}
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == (gc_scheduler.YOUNG_N, 10, 10)
    assert id(late) in left
    assert id(early) not in left


def test_unused_objects_are_dropped_with_the_pages_they_leave_if_many_were_made(thawed: None) -> None:
    """But where nothing was made, nothing is looked through."""
    gc_scheduler.freeze_heap()
    collections: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            collections.append(phase)

    gc.callbacks.append(note)
    try:
        gc_scheduler.give_back()
        assert collections == []
        gone = weakref.ref(Knot())
        made = [[index] for index in range(gc_scheduler.YOUNG_N + 1)]
        gc_scheduler.give_back()
    finally:
        gc.callbacks.remove(note)
    assert len(collections) == 1
    assert gone() is None
    assert len(made) == gc_scheduler.YOUNG_N + 1


class Knot:
    """Something that is in use only by itself."""

    def __init__(self) -> None:
        self._held = self


def test_memory_is_given_back_now_and_then() -> None:
    clock = Clock()
    tending = gc_scheduler.GcScheduler(clock)
    due: list[bool] = []
    for _ in range(0, 10 * gc_scheduler.GIVE_BACK_S, gc_scheduler.CHECK_S):
        clock.now += gc_scheduler.CHECK_S
        due.append(tending.due(busy=False))
    assert due.count(True) == 10


def test_memory_is_given_back_when_the_user_pauses_or_it_is_overdue() -> None:
    clock = Clock()
    tending = gc_scheduler.GcScheduler(clock)
    clock.now += gc_scheduler.GIVE_BACK_S
    tending.used()
    assert not tending.due(busy=False)
    clock.now += gc_scheduler.PAUSE_S
    assert tending.due(busy=False)
    for _ in range(gc_scheduler.OVERDUE_S - 1):
        clock.now += 1
        tending.used()
        assert not tending.due(busy=False)
    clock.now += 1
    tending.used()
    assert tending.due(busy=False)


def test_memory_is_not_given_back_while_the_program_is_at_work() -> None:
    clock = Clock()
    tending = gc_scheduler.GcScheduler(clock)
    clock.now += 2 * gc_scheduler.OVERDUE_S
    assert not tending.due(busy=True)
    assert tending.due(busy=False)


async def test_the_one_app_of_a_process_tends_its_heap(thawed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins when it stands; and gives back while nobody waits for a token, and nobody types."""
    given: list[bool] = []
    monkeypatch.setattr(gc_scheduler, "give_back", lambda: given.append(True))
    engine, clock = FakeEngine(), Clock()
    app = ChatApp(with_settings(LAUNCH), engine, engine.inbox, PairLibrary(NoPairs()), clock, tends_heap=True)
    async with app.run_test() as pilot:
        await wait_until(pilot, gc.get_freeze_count)
        tending = app._tending
        assert tending is not None
        await begin(pilot, engine)
        clock.now += gc_scheduler.GIVE_BACK_S
        app._tend(tending)
        assert given == []
        engine.reply("A fox.")
        await answered(pilot)
        await pilot.press("a")
        app._tend(tending)
        assert given == []
        clock.now += gc_scheduler.PAUSE_S
        app._tend(tending)
    assert given == [True]
