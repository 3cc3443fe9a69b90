"""Downloads without a screen: told, stopped, queued."""

from __future__ import annotations

import threading

import pytest

from localspec.chat.pairs.background import ChangeSignal
from localspec.chat.pairs.downloads import Download, Downloads, Stage
from localspec.chat.pairs.library import PairLibrary
from localspec.models.download.queue_file import QueuedDownload, queue_file, read_queue, write_queue
from tests.tui.pairs_support import (
    FULL,
    MB,
    FakeWorld,
    Later,
    delayed,
    fetched,
    progressed,
)


def test_a_bell_rings_once_until_it_is_armed_and_forgets_no_stroke() -> None:
    rings: list[int] = []
    change_signal = ChangeSignal()
    change_signal.set()
    change_signal.listen(lambda: rings.append(1))
    assert len(rings) == 1
    change_signal.take()
    change_signal.set()
    change_signal.set()
    assert len(rings) == 1
    change_signal.arm()
    assert len(rings) == 2
    assert (change_signal.take(), change_signal.take()) == (True, False)
    change_signal.arm()
    assert len(rings) == 2


def downloads(world: FakeWorld) -> tuple[Downloads, Later, list[int]]:
    later, changes = Later(), list[int]()
    return Downloads(world.fetch, lambda: changes.append(1), later, world.keep_queue), later, changes


def test_a_download_is_told_by_its_newest_event() -> None:
    world = FakeWorld()
    loads, later, changes = downloads(world)
    loads.start("qwen3-8b", "Qwen3")
    assert [load.line for load in loads.pending] == ["reading the headers"]
    for event in (progressed(1128 * MB), progressed(2312 * MB), None):
        world.feed.put(event)
    seen: list[str] = []
    loads._changed = lambda: seen.append(loads.get("qwen3-8b").line)  # type: ignore[union-attr]
    later.run()
    assert seen == ["20 %, 24.0 MB/s, 3 min left", "40 %, 24.0 MB/s, 2 min left", "40 %, 24.0 MB/s, 2 min left"]
    assert [(load.pair_id, load.stage) for load in loads.take_ended()] == [("qwen3-8b", Stage.DONE)]
    assert loads.take_ended() == []
    assert not loads.pending
    assert changes


def test_a_percentage_is_never_rounded_up_to_a_whole() -> None:
    now = Download("p", "P").after(progressed(5639 * MB))
    assert now.percent == "99 %"
    assert Download("p", "P").percent == ""


def test_a_delay_is_told_until_bytes_come_again() -> None:
    now = Download("p", "P").after(progressed(1 * MB)).after(delayed())
    assert now.line == "Maker/big.gguf: https://huggingface.co does not answer. Trying again in 4 s."
    assert now.after(progressed(2 * MB)).delay is None
    assert now.after(fetched()).delay is None


def test_stopping_takes_effect_at_once_and_what_the_thread_says_later_does_not_count() -> None:
    world = FakeWorld()
    loads, later, _ = downloads(world)
    loads.start("p", "P")
    loads._jobs["p"].tell(progressed(2312 * MB))
    assert loads.stop("p")
    assert not loads.stop("p")
    assert not loads._jobs["p"].tell(progressed(5000 * MB))
    now = loads.get("p")
    assert now is not None
    assert (now.stage, now.line) == (Stage.PAUSED, "paused at 40 %")
    world.feed.put(progressed(5000 * MB))
    later.run()
    assert loads.get("p") == now
    assert world.stops[0].is_set()


def test_a_download_is_started_once_and_can_be_started_again_after_its_end() -> None:
    world = FakeWorld()
    loads, later, _ = downloads(world)
    loads.start("p", "P")
    loads.start("p", "P")
    world.feed.put(FULL)
    later.run()
    assert len(world.stops) == 1
    now = loads.get("p")
    assert now is not None
    assert (now.stage, now.error, now.line) == (Stage.FAILED, FULL, FULL.message)
    assert len(loads.take_ended()) == 1
    loads.start("p", "P")
    assert [load.stage for load in loads.pending] == [Stage.PROVING]
    assert loads.take_ended() == []


def test_what_nobody_foresaw_becomes_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    """And the log says where it happened."""

    def broken(pair_id: str, stop: threading.Event) -> object:
        raise ZeroDivisionError("oh")

    loads = Downloads(broken, lambda: None, lambda work: work())  # type: ignore[arg-type]
    loads.start("p", "P")
    now = loads.get("p")
    assert now is not None
    assert now.stage is Stage.FAILED
    assert "ZeroDivisionError" in str(now.error)
    assert "is kept" in str(now.error)
    assert "in broken" in caplog.text


def test_closing_stops_all_without_waiting() -> None:
    world = FakeWorld()
    loads, _later, _ = downloads(world)
    for name in "ab":
        loads.start(name, name)
    loads.close()
    assert not loads.pending
    assert [each.pair_id for each in world.queue] == ["a", "b"], "for the next start"


def queue_of(world: FakeWorld, *pair_ids: str) -> tuple[Downloads, Later]:
    loads, later, _ = downloads(world)
    for pair_id in pair_ids:
        loads.start(pair_id, pair_id.upper())
    return loads, later


def stages(loads: Downloads) -> dict[str, Stage]:
    return {each.pair_id: each.stage for each in loads.queue}


def test_downloads_run_one_after_the_other_in_their_order() -> None:
    """A failure does not hold up the next; one that is resumed goes on at its place."""
    world = FakeWorld()
    loads, later = queue_of(world, "a", "b", "c")
    assert stages(loads) == {"a": Stage.PROVING, "b": Stage.WAITING, "c": Stage.WAITING}
    world.feed.put(FULL)
    world.feed.put(None)
    world.feed.put(FULL)
    later.run()
    assert stages(loads) == {"a": Stage.FAILED, "c": Stage.FAILED}
    assert [(each.pair_id, each.stage) for each in loads.take_ended()] == [
        ("a", Stage.FAILED),
        ("b", Stage.DONE),
        ("c", Stage.FAILED),
    ]
    loads.start("c", "C")
    loads.start("a", "A")
    assert stages(loads) == {"a": Stage.PROVING, "c": Stage.WAITING}, "the first in order runs"


def test_the_queue_is_paused_reordered_and_shortened() -> None:
    world = FakeWorld()
    loads, later = queue_of(world, "a", "b", "c")
    loads._jobs["a"].tell(progressed(2312 * MB))
    loads.move("c", -1)
    assert list(stages(loads)) == ["a", "c", "b"]
    loads.move("c", -5)
    assert stages(loads) == {"c": Stage.PROVING, "a": Stage.WAITING, "b": Stage.WAITING}
    assert [each.line for each in loads.queue] == ["reading the headers", "waiting at 40 %", "waiting"]
    assert loads.stop("c")
    assert stages(loads) == {"c": Stage.PAUSED, "a": Stage.PROVING, "b": Stage.WAITING}
    assert loads.take_out("a")
    assert not loads.take_out("a")
    assert stages(loads) == {"c": Stage.PAUSED, "b": Stage.PROVING}
    loads.start("a", "A")
    assert list(stages(loads)) == ["c", "b", "a"], "behind all others"
    for _ in range(5):
        world.feed.put(None)
    later.run()
    assert stages(loads) == {"c": Stage.PAUSED}
    assert world.queue == [QueuedDownload("c", "C", paused=True)]


def test_the_next_start_goes_on_with_the_queue() -> None:
    """Before what is asked for by then; what was paused stays so."""
    world = FakeWorld(queue=(QueuedDownload("a", "A", paused=True), QueuedDownload("b", "B")))
    later = Later()
    library = PairLibrary(world, later)
    library.fetch("new")
    library.resume()
    library.resume()
    while not library.downloads.get("b"):
        later.works.pop()()
    assert stages(library.downloads) == {"a": Stage.PAUSED, "b": Stage.PROVING, "new": Stage.WAITING}
    library.close()
    assert world.queue == [
        QueuedDownload("a", "A", paused=True),
        QueuedDownload("b", "B"),
        QueuedDownload("new", "new"),
    ]


def test_the_queue_on_the_disk_is_of_all_programs() -> None:
    """Each replaces its own entries; what is not a queue counts as none."""
    first, second, third = (QueuedDownload(name, name.upper()) for name in "abc")
    write_queue([first, second], set())
    write_queue([third], {"c"})
    assert read_queue() == [third, first, second]
    write_queue([], {"a", "b"})
    assert read_queue() == [third]
    for text in ("{", "[1]", '[{"pair_id": 1, "title": "x"}]', '{"a": 1}'):
        queue_file().write_text(text)
        assert read_queue() == []
    queue_file().unlink()
    write_queue([], set())
    assert not queue_file().exists()
