"""What is listed, filtered, fetched and offered, without a screen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from localspec.base.errors import DownloadError, LocalSpecError
from localspec.chat.pacing import Pacer
from localspec.chat.pairs.background import ChangeSignal
from localspec.chat.pairs.browser import ERROR, Browser, Line, action_text, details
from localspec.chat.pairs.downloads import Download, Downloads, Stage
from localspec.chat.pairs.entry import Entry, PairAction, row
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.offer import OfferKind
from localspec.chat.session import ChatSession
from localspec.engine.events import Finished, FinishReason
from localspec.engine.tally import Tally
from localspec.models.download.queue_file import QueuedDownload, queue_file, read_queue, write_queue
from localspec.models.pairs.state import HERE, NOT_HERE, PARTLY
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.store import Arm, ModelFileRecord, ReplyMetadata
from localspec.tui.controllers.pairs import PairController
from tests.tui.pairs_support import (
    BEST,
    MB,
    PAIRS,
    SMALL,
    TOUR,
    FakeWorld,
    delayed,
    fetched,
    progressed,
    shelf_of,
)
from tests.tui.support import LAUNCH, Clock, FakeEngine

TOUR_LAUNCH = replace(LAUNCH, pair_id="builtin", title="LocalSpec tour")
FULL = DownloadError("The disk of /models is full; 2.1 GB of big.gguf are missing.", "Free some space.")


@dataclass
class Later:
    """Threads that run when a test says so."""

    works: list[Callable[[], None]] = field(default_factory=list)

    def __call__(self, work: Callable[[], None]) -> None:
        self.works.append(work)

    def run(self) -> None:
        while self.works:
            self.works.pop(0)()


def text_of(lines: list[Line]) -> str:
    return " ".join(text for _, text, _ in lines)


def entry(pair_id: str, **more: object) -> Entry:
    return replace(Entry(next(pair for pair in PAIRS if pair.id == pair_id)), **more)  # type: ignore[arg-type]


# Bell


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


# Downloads


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


def test_what_nobody_foresaw_becomes_a_sentence() -> None:
    def broken(pair_id: str, stop: threading.Event) -> object:
        raise ZeroDivisionError("oh")

    loads = Downloads(broken, lambda: None, lambda work: work())  # type: ignore[arg-type]
    loads.start("p", "P")
    now = loads.get("p")
    assert now is not None
    assert now.stage is Stage.FAILED
    assert "ZeroDivisionError" in str(now.error)
    assert "is kept" in str(now.error)


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


def test_the_queue_stands_above_the_pairs_in_its_order() -> None:
    library = PairLibrary(FakeWorld(), Later())
    library.pairs = PAIRS
    browser = Browser(library, marked="llama-3.3-70b")
    for pair_id in ("llama-3.3-70b", "qwen3-8b"):
        library.fetch(pair_id)
    library.downloads.stop("qwen3-8b")
    assert [each.pair.id for each in browser.entries][:3] == ["llama-3.3-70b", "qwen3-8b", "builtin"]
    assert browser.queue_heading == "1 under way, 1 paused"
    browser.move(1)
    assert [each.pair.id for each in browser.entries][:2] == ["qwen3-8b", "llama-3.3-70b"]
    browser.pause()
    assert browser.queue_heading == "2 paused"
    browser.take_out()
    assert browser.queue_heading == "1 paused"


# Entries


def test_the_state_of_a_pair_in_a_word() -> None:
    at_40 = Download("qwen3-8b", "Q").after(progressed(2312 * MB))
    assert entry("builtin", in_use=True).state == "in use"
    assert entry("smollm2-1.7b").state == "here"
    assert entry("mine").state == "missing"
    assert entry("gemma-4-e4b-mtp").state == "not here"
    assert entry("qwen3-8b").state == "not here"
    assert entry("qwen3-8b", download=Download("qwen3-8b", "Q", Stage.PROVING)).state == "begins"
    assert entry("qwen3-8b", download=at_40).state == "40 %"
    assert entry("qwen3-8b", download=replace(at_40, stage=Stage.FAILED)).state == "failed"
    assert entry("qwen3-8b", download=replace(at_40, stage=Stage.PAUSED)).state == "paused"
    assert entry("smollm2-1.7b", download=replace(at_40, stage=Stage.PAUSED)).state == "here"


@pytest.mark.parametrize("state", [NOT_HERE, PARTLY])
def test_a_pair_in_use_whose_files_were_deleted_can_be_fetched_again(state: str) -> None:
    """It says so; while they come it shows how far they are, and then there is nothing to do again."""
    gone = replace(BEST, state=state, available=False)
    loaded = Entry(gone, in_use=True)
    assert (loaded.state, loaded.action) == ("in use", PairAction.FETCH)
    lines = details(loaded, 80)
    assert any("no longer on the disk" in text for _, text, _ in lines)
    assert lines[1][2] == ERROR
    coming = Entry(gone, Download(BEST.id, "Q").after(progressed(2312 * MB)), in_use=True)
    assert (coming.state, coming.action) == ("40 %", PairAction.NOTHING)
    stopped = Entry(gone, Download(BEST.id, "Q", Stage.PAUSED), in_use=True)
    assert (stopped.state, stopped.action) == ("in use", PairAction.RESUME)
    back = Entry(replace(BEST, state=HERE, available=True), Download(BEST.id, "Q", Stage.DONE), in_use=True)
    assert (back.state, back.action) == ("in use", PairAction.NOTHING)
    assert not any("no longer on the disk" in text for _, text, _ in details(back, 80))


def test_what_can_be_done_with_a_pair() -> None:
    stopped = Download("p", "P", Stage.PAUSED)
    assert entry("builtin", in_use=True).action is PairAction.NOTHING
    assert entry("smollm2-1.7b").action is PairAction.USE
    assert entry("mine").action is PairAction.NOTHING
    assert entry("gemma-4-e4b-mtp").action is PairAction.FETCH
    assert entry("qwen3-8b", download=Download("p", "P")).action is PairAction.NOTHING
    assert entry("qwen3-8b", download=stopped).action is PairAction.RESUME
    assert entry("qwen3-8b", download=replace(stopped, stage=Stage.FAILED)).action is PairAction.RETRY
    assert action_text(entry("qwen3-8b")) == "download 5.64 GB"
    assert action_text(entry("smollm2-1.7b")) == "use it"
    assert action_text(None) == action_text(entry("mine")) == ""


@pytest.mark.parametrize("cells", [40, 52, 65, 66, 72, 85, 86, 97, 98, 200])
def test_rows_are_as_wide_as_they_are_told_and_columns_stay_in_place(cells: int) -> None:
    """Whatever the pair and its state, the fit begins in the same column."""
    entries = [*map(Entry, PAIRS), entry("qwen3-8b", download=Download("q", "Q").after(progressed(100 * MB)))]
    rows = ["".join(text for text, _ in row(each, cells)) for each in entries]
    assert {len(line) for line in rows} == {cells}
    places = {line.index(word) for line in rows for word in ("fits", "tight", "too big") if word in line[20:]}
    assert len(places) == 1


def test_a_row_names_the_fit_in_a_word_in_a_colour_and_with_its_number() -> None:
    for pair_id, colour, word, need in (
        ("smollm2-1.7b", "green", "fits", "8.00 GB"),
        ("deepseek-r1-distill-qwen-14b", "amber", "tight", "~15.0 GB"),
        ("llama-3.3-70b", "red", "too big", "~47.0 GB"),
    ):
        parts = row(entry(pair_id), 88)
        assert [(text.strip(), look) for text, look in parts if look == colour] == [(word, colour)]
        assert need in "".join(text for text, _ in parts)


@pytest.mark.parametrize(
    ("cells", "speed", "said"),
    [
        (88, 24e6, "24.0 MB/s, 3 min left"),
        (64, 24e6, "24.0 MB/s, 3 min"),
        (64, 240e3, "5 h 13 min left"),
        (56, 240e3, "5 h 13 min left"),
        (76, None, ""),
    ],
)
def test_a_row_that_is_fetched_says_how_fast_and_how_long(cells: int, speed: float | None, said: str) -> None:
    now = Download("q", "Q").after(progressed(1128 * MB, speed=speed))
    line = "".join(text for text, _ in row(entry("qwen3-8b", download=now), cells))
    assert line.rstrip().endswith(f"20 %      {said}".rstrip())
    assert len(line) == cells


def test_a_row_tells_the_expected_and_the_measured_speed() -> None:
    """In one column, which is empty where nothing is known."""
    lines = {pair.id: "".join(text for text, _ in row(Entry(pair), 76)) for pair in PAIRS}

    assert lines["qwen3-8b"].endswith("  ~13.2/s")
    assert lines["smollm2-1.7b"].endswith("   41.0/s")
    assert lines["llama-3.3-70b"].endswith(" " * 8)
    told = text_of(details(entry("qwen3-8b"), 120))
    assert "about 13.2 tokens/s with its drafts, 9.40 plain, expected from a measurement of" in told
    assert "41.0 tokens/s with its drafts, 30.0 plain, measured in 12 replies here" in text_of(
        details(entry("smollm2-1.7b"), 120)
    )


def test_what_is_missing_is_quiet_and_what_is_recommended_has_a_star() -> None:
    looks = {pair.id: row(Entry(pair), 88)[1][1] for pair in PAIRS}
    assert {pair_id for pair_id, look in looks.items() if look == "quiet"} == {"mine"}
    assert [pair.id for pair in PAIRS if row(Entry(pair), 88)[0][0] == "* "] == ["qwen3-8b"]


# The list


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", [pair.id for pair in PAIRS]),
        ("here", ["builtin", "smollm2-1.7b"]),
        ("not here", ["qwen3-8b", "llama-3.2-3b", "deepseek-r1-distill-qwen-14b", "llama-3.3-70b", "gemma-4-e4b-mtp"]),
        ("not h", ["qwen3-8b", "llama-3.2-3b", "deepseek-r1-distill-qwen-14b", "llama-3.3-70b", "gemma-4-e4b-mtp"]),
        ("gemma", ["gemma-4-e4b-mtp"]),
        ("qwen", ["qwen3-8b", "deepseek-r1-distill-qwen-14b"]),
        ("LLAMA community", ["llama-3.2-3b"]),
        ("too big", ["llama-3.3-70b"]),
        ("tight", ["deepseek-r1-distill-qwen-14b"]),
        ("installed", ["builtin", "smollm2-1.7b", "mine"]),
        ("recommended", ["qwen3-8b"]),
        ("in use", ["builtin"]),
        ("nonsense", []),
    ],
)
def test_every_word_of_a_filter_must_be_found(text: str, ids: list[str]) -> None:
    browser = Browser(shelf_of(), in_use="builtin")
    browser.text = text
    assert [each.pair.id for each in browser.entries] == ids


def test_the_highlight_is_on_the_pair_that_a_filter_names() -> None:
    """Not on one that it finds besides and where the reader was before; and it returns there."""
    browser = Browser(shelf_of(), marked="llama-3.3-70b")
    for text, pair_id in (("llama 3.2 3b", "llama-3.2-3b"), ("LLAMA 3.3", "llama-3.3-70b"), ("b + 1b", "llama-3.2-3b")):
        browser.text = text
        assert browser.marked is not None
        assert browser.marked.pair.id == pair_id, text
    browser.mark("llama-3.2-3b")
    browser.text = ""
    assert browser.marked is not None
    assert browser.marked.pair.id == "llama-3.2-3b", "to which the reader went"


def test_a_download_begins_when_it_was_asked_for_twice() -> None:
    """One after the other, for the same pair; what it takes and where it goes is said between."""
    browser = Browser(shelf_of(), marked="qwen3-8b")
    pair, other = entry("qwen3-8b"), entry("llama-3.2-3b")
    assert not browser.agreed(pair)
    assert browser.question("Enter") == "Enter once more downloads 5.64 GB to /models."
    assert browser.agreed(pair)
    assert not browser.question("Enter")
    assert not browser.agreed(pair)
    browser.mark("llama-3.2-3b")
    assert not browser.question("Enter")
    assert not browser.agreed(other)
    browser.text = "llama"
    assert not browser.question("Enter")
    assert browser.agreed(entry("smollm2-1.7b")), "it is here"


def test_the_highlight_stays_on_a_pair_while_it_is_listed() -> None:
    browser = Browser(shelf_of(), marked="qwen3-8b")
    assert browser.marked is not None
    assert browser.marked.pair.id == "qwen3-8b"
    browser.text = "llama"
    assert browser.marked.pair.id == "llama-3.2-3b"
    browser.text = ""
    assert browser.marked.pair.id == "qwen3-8b"
    browser.text = "nonsense"
    assert browser.marked is None


def test_an_empty_list_says_why() -> None:
    later = Later()
    library = PairLibrary(FakeWorld(), later)
    browser = Browser(library)
    assert (browser.empty, browser.heading) == ("Reading the list of pairs.", "")
    library.look()
    later.run()
    assert browser.heading == "8 pairs, * recommended for this machine"
    browser.text = "nonsense"
    assert "'nonsense'" in browser.empty
    assert browser.heading.startswith("0 of 8 pairs")
    broken = Browser(shelf_of(FakeWorld(problem=LocalSpecError("pairs.toml is broken.", "Mend it."))))
    assert broken.empty == "pairs.toml is broken. Mend it."


def test_details_say_everything() -> None:
    told = text_of(details(entry("qwen3-8b"), 76))
    for said in (
        "For a laptop with 16 GB",
        "1.2 to 1.7 times plain speed, as reported by others",
        "llama.cpp#5877",
        "by this rule: the largest target",
        "It fits the free memory.",
        "weights 6.00 GB, caches 1.50 GB, buffers 500 MB",
        "Apache-2.0",
        "Maker/qwen3-8b.gguf, 5.00 GB",
        "Maker/draft.gguf, 640 MB",
    ):
        assert said in told, said
    assert "localspec pairs pull" not in told


@pytest.mark.parametrize("cells", [52, 60, 76, 88])
def test_details_keep_within_their_width(cells: int) -> None:
    for pair in PAIRS:
        for name, text, _ in details(Entry(pair, Download(pair.id, "P", Stage.FAILED, error=FULL)), cells):
            assert len(text) + (13 if name else 0) <= max(cells, 33) or " " not in text


def test_what_stands_in_the_way_comes_first() -> None:
    failed = Download("qwen3-8b", "Q", Stage.FAILED, error=FULL)
    _, second, *_ = details(entry("qwen3-8b", download=failed), 100)
    assert second[1:] == (f"{FULL} F9 tries again.", ERROR) or second[2] == ERROR
    told = text_of(details(entry("qwen3-8b", download=failed), 76, "F9"))
    assert str(FULL) in told
    assert "F9 tries again." in told
    stopped = Download("q", "Q", Stage.PAUSED).after(progressed(2312 * MB))
    told = text_of(details(entry("qwen3-8b", download=replace(stopped, stage=Stage.PAUSED)), 76, "F9"))
    assert "Paused at 40 %. What has arrived is kept; F9 goes on." in told
    assert "mount that" in text_of(details(entry("mine"), 76))
    assert "too big to be used here" in text_of(details(entry("llama-3.3-70b"), 76))


def test_what_an_app_before_this_one_has_fetched_is_gone_on_with() -> None:
    begun = replace(BEST, arrived_bytes=2312 * MB)
    (pair,) = (Entry(begun),)
    assert (pair.action, pair.state) == (PairAction.RESUME, "stopped")
    assert action_text(pair) == "resume, 2.31 GB of 5.64 GB are here"
    told = text_of(details(pair, 76, "Enter"))
    assert "A download of it was stopped; 2.31 GB of 5.64 GB are here, and Enter resumes." in told
    assert "stopped" in "".join(text for text, _ in row(pair, 90))
    under_way = Entry(begun, Download(BEST.id, "Q", Stage.PROVING))
    assert (under_way.action, under_way.state) == (PairAction.NOTHING, "begins")


# Desk


def test_a_download_that_was_left_is_offered_before_another() -> None:
    begun = replace(SMALL, state=NOT_HERE, available=False, missing_bytes=1210 * MB, arrived_bytes=300 * MB)
    controller, _, later = desk_of(FakeWorld(pairs=(TOUR, begun, BEST)))
    controller.begin()
    later.run()
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.FETCH, SMALL.id)
    assert controller.welcome() == "F3 resumes the download of SmolLM2 1.7B + 135M, 300 MB of 1.21 GB are here."
    controller.library.fetch(SMALL.id)
    assert controller.offer is None or controller.offer.pair_id != SMALL.id


def desk_of(
    world: FakeWorld | None = None, chat_config: ChatConfig = TOUR_LAUNCH
) -> tuple[PairController, FakeEngine, Later]:
    engine, later = FakeEngine(), Later()
    session = ChatSession(chat_config, engine, Pacer(chat_config.pace_tokens_per_second, Clock()))
    controller = PairController(PairLibrary(world or FakeWorld(), later), session)
    return controller, engine, later


def test_somebody_on_the_tour_is_offered_the_recommended_pair() -> None:
    controller, _, later = desk_of()
    assert controller.offer is None
    assert later.works == []
    controller.begin()
    later.run()
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.FETCH, BEST.id)
    assert controller.welcome() == "F3 downloads Qwen3 8B + 0.6B, 5.64 GB, recommended for this machine."
    assert controller.news() == ""


def test_nobody_else_is_offered_anything() -> None:
    controller, _, later = desk_of(chat_config=replace(LAUNCH, tour=False, pair_id="smollm2-1.7b"))
    controller.begin()
    later.run()
    assert not controller.library.pairs
    controller.library.look()
    later.run()
    assert (controller.offer, controller.welcome()) == (None, "")
    only_tour, _, later = desk_of(FakeWorld(pairs=(replace(TOUR, recommended_here=True), SMALL)))
    only_tour.begin()
    later.run()
    assert only_tour.offer is None


def test_a_recommended_pair_that_is_here_is_offered_for_use() -> None:
    here = replace(BEST, state=HERE, available=True)
    controller, _, later = desk_of(FakeWorld(pairs=(TOUR, here)))
    controller.begin()
    later.run()
    assert controller.offer is not None
    assert controller.offer.kind is OfferKind.USE
    assert controller.welcome() == "F3 switches to Qwen3 8B + 0.6B, recommended for this machine."


def opened_with(
    pair_id: str | None, world: FakeWorld | None = None, arm: Arm | None = None
) -> tuple[PairController, str]:
    """The desk once a conversation is open whose last reply is by this pair; and what it says at once."""
    controller, _, later = desk_of(world, replace(TOUR_LAUNCH, tour=False, pair_id="mine"))
    stored = controller._session.thread.stored
    about = ReplyMetadata(target=ModelFileRecord("big.gguf"), pair_id=pair_id, arm=arm)
    recorder = stored.begin_reply(about, under=stored.ask("Hello").id)
    recorder.receive(Finished(FinishReason.STOP, "Good day.", Tally().timings()))
    stored.flush()
    said = controller.conversation_opened()
    later.run()
    return controller, said


def test_the_pair_of_a_conversation_is_offered_when_that_is_opened() -> None:
    """To be used where it is here, else to be downloaded; until it is in use, or another has replied."""
    controller, said = opened_with(SMALL.id)
    assert (said, controller.news()) == (
        "",
        "This conversation was with SmolLM2 1.7B + 135M; F3 goes back to it.",
    )
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.USE, SMALL.id)
    controller.replying()
    assert not controller.offer
    assert not controller.news()
    controller, _ = opened_with(BEST.id)
    assert controller.news() == "This conversation was with Qwen3 8B + 0.6B; F3 downloads it, 5.64 GB."


@pytest.mark.parametrize(("pair_id", "arm"), [("mine", None), ("builtin", None), (SMALL.id, Arm.CANDIDATE)])
def test_no_pair_is_offered_where_there_is_none_to_return_to(pair_id: str, arm: Arm | None) -> None:
    """It is in use, is the tour, or spoke for a trial."""
    controller, said = opened_with(pair_id, arm=arm)
    assert (controller.offer, controller.news(), said) == (None, "", "")


def test_a_pair_of_a_conversation_that_cannot_be_returned_to_is_named() -> None:
    controller, _ = opened_with("gone-for-good")
    assert (controller.offer, controller.news()) == (
        None,
        "This conversation was with gone-for-good, which is not among the pairs any more.",
    )


def test_files_that_a_conversation_was_with_are_named() -> None:
    controller, said = opened_with(None)
    assert controller.offer is None
    assert said.startswith("This conversation was with big.gguf, a file named on the command line")


def test_from_the_offer_to_the_pair_in_use() -> None:
    """Accepted, it is fetched while the chat goes on; when it has come a switch is offered; then nothing more."""
    world = FakeWorld()
    controller, _, later = desk_of(world)
    controller.begin()
    later.run()
    controller.library.fetch(BEST.id)
    assert controller.offer is None
    assert controller.news() == "Qwen3 8B + 0.6B: reading the headers"
    for event in (progressed(2312 * MB), fetched(), None):
        world.feed.put(event)
    later.run()
    controller.library.take()
    later.run()
    assert controller.offer is not None
    assert controller.offer.kind is OfferKind.USE
    assert controller.news() == "Qwen3 8B + 0.6B is here; F3 switches to it."
    assert controller.use(world.chat_config(BEST.id)) == "Changing to Qwen3 8B + 0.6B; the conversation stays."
    assert (controller.offer, controller.news()) == (None, "")
    assert controller.open().in_use == BEST.id


def test_a_failed_download_is_told_until_somebody_looks() -> None:
    world = FakeWorld()
    controller, _, later = desk_of(world)
    controller.begin()
    later.run()
    controller.library.fetch(BEST.id)
    world.feed.put(FULL)
    later.run()
    controller.library.take()
    assert controller.news() == "Qwen3 8B + 0.6B could not be fetched; Ctrl+L says why."
    browser = controller.open()
    assert controller.news() == ""
    assert browser.marked is not None
    assert str(FULL) in text_of(details(browser.marked, 76))


def test_a_choice_that_cannot_be_written_down_is_told() -> None:
    world = FakeWorld(remember_error=LocalSpecError("settings.toml is read-only.", "Mend it."))
    controller, engine, later = desk_of(world)
    engine.load()
    drain(controller._session, engine)
    controller.use(world.chat_config(SMALL.id))
    engine.load()
    drain(controller._session, engine)
    assert controller.ready() == "You are talking to SmolLM2 1.7B + 135M now."
    later.run()
    assert controller.news() == "The next start will not remember this pair: settings.toml is read-only."


def test_several_downloads_are_one_line() -> None:
    controller, _, later = desk_of()
    controller.library.look()
    later.run()
    controller.library.fetch(BEST.id)
    controller.library.fetch("llama-3.2-3b")
    assert controller.news() == "Qwen3 8B + 0.6B: reading the headers (and 1 more)"


def test_files_that_were_named_can_be_returned_to(tmp_path: Path) -> None:
    """A pair that cannot be loaded is left again, also for one that is in no list."""
    named = ChatConfig(LoadOptions(tmp_path / "a.gguf"), title="a")
    controller, engine, _ = desk_of(chat_config=named)
    session = controller._session
    engine.load()
    drain(session, engine)
    controller.use(FakeWorld().chat_config(SMALL.id))
    engine.refuse_load()
    drain(session, engine)
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.RETURN, None)
    assert controller.way_back() == "F3 loads a again; Ctrl+L lists all pairs."
    assert controller.go_back() == "Changing to a; the conversation stays."
    assert session.chat_config == named
    engine.load()
    drain(session, engine)
    assert controller.offer is None
    assert controller.ready() == "You are talking to a now."
    assert controller.ready() == ""


def drain(session: ChatSession, engine: FakeEngine) -> None:
    for answer in engine.inbox.take():
        session.receive(answer)
    session.advance()
