"""What is listed, filtered, fetched and offered, without a screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.base.errors import LocalSpecError
from localspec.chat.pairs.browser import Browser
from localspec.chat.pairs.downloads import Download, Stage
from localspec.chat.pairs.entry import ERROR, Entry, PairAction, action_text, details, row
from localspec.chat.pairs.library import PairLibrary
from localspec.models.pairs.state import HERE, NOT_HERE, PARTLY
from tests.tui.pairs_support import (
    BEST,
    FULL,
    MB,
    PAIRS,
    FakeWorld,
    Later,
    entry,
    progressed,
    shelf_of,
    text_of,
)


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
    assert (browser.empty("Enter"), browser.heading) == ("Reading the list of pairs.", "")
    library.look()
    later.run()
    assert browser.heading == "8 pairs, * recommended for this machine"
    browser.text = "nonsense"
    assert "'nonsense'" in browser.empty("Enter")
    assert browser.heading.startswith("0 of 8 pairs")
    broken = Browser(shelf_of(FakeWorld(problem=LocalSpecError("pairs.toml is broken.", "Mend it."))))
    assert broken.empty("Enter") == "pairs.toml is broken. Mend it."


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


def test_the_highlight_follows_the_recommendation_until_it_is_moved() -> None:
    """Speeds are measured while the list is open for the first time, and may speak for another pair."""

    def recommend(pair_id: str) -> None:
        library.pairs = tuple(replace(pair, recommended_here=pair.id == pair_id) for pair in library.pairs)

    library = shelf_of()
    browser = Browser(library, in_use="builtin")
    assert browser.marked_row == "qwen3-8b"
    recommend("llama-3.2-3b")
    assert browser.marked_row == "llama-3.2-3b"
    browser.mark("builtin")
    recommend("qwen3-8b")
    assert browser.marked_row == "builtin"
    recommend("")
    assert Browser(library, in_use="llama-3.2-3b").marked_row == "llama-3.2-3b"
