"""The screen of figures: what it reads, how it is moved, and that it never waits for the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from localspec.chat.stats.browser import ALL, BY, VIEWS, WATCH, StatsBrowser
from localspec.chat.stats.reading import SLICE_S, counting
from localspec.chat.stats.rows import group_rows, notice_rows
from localspec.config import config_file
from localspec.insight.stats.objectives import Objectives
from localspec.insight.stats.overview import Overview
from localspec.insight.stats.page import Sheet
from localspec.store import RecordFilter, ReplyRecord, Store
from tests.insight.stats.support import Kind, fill
from tests.tui.settings_support import chat_config
from tests.tui.stats_support import browser, full_store, open_stats, rows, screen, settled, text
from tests.tui.support import FakeEngine, make_app, send, wait_until


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = full_store(tmp_path / "history.db")
    yield opened
    opened.close()


def read_all(shown: StatsBrowser) -> None:
    while (reading := shown.unread) is not None:
        reading.read()


@pytest.mark.parametrize("by", BY)
def test_slices_come_to_the_same_as_one_pass(store: Store, by: str) -> None:
    """A reply a slice, and every reply once; each group as if it were alone."""
    ticks = count()
    sliced, slices_n = counting(store, by), 0
    while not sliced.done:
        sliced.read(lambda: next(ticks) * 2 * SLICE_S)
        slices_n += 1
    whole = Overview(by)
    for run in store.runs(where=RecordFilter(texts=True, rounds=True)):
        whole.add(run)
    assert slices_n == whole.whole.replies_n + 1
    assert sliced.taken.whole.whole.to_dict() == whole.whole.to_dict()
    groups = {name: overview.whole.to_dict() for name, overview in sliced.taken.groups().items()}
    assert groups == {name: digest.to_dict() for name, digest in whole.groups()}


def test_what_has_come_since_is_counted_once(store: Store) -> None:
    """And nothing that was counted is counted again."""
    reading = counting(store, "pair")
    while not reading.done:
        reading.read()
    before = reading.taken.whole.whole.replies_n
    fill(store, Kind(), Kind(), seed=9)
    reading.again()
    while not reading.done:
        reading.read()
    assert reading.taken.whole.whole.replies_n == before + 2


def test_a_store_that_cannot_be_read_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sentence where the figures would be; reading again tries again."""
    shown = StatsBrowser(store, Objectives())

    def broken(*_: object) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    with monkeypatch.context() as patch:
        patch.setattr(store._reader(), "connection", SimpleNamespace(execute=broken))
        read_all(shown)
    assert "damaged" in shown.empty
    assert shown.rows(80)[1] == []
    assert shown.page(None, Sheet(80)) == []
    shown.again()
    assert shown.empty == ""
    read_all(shown)
    assert len(shown.rows(80)[1]) == 4


def test_a_view_reads_only_what_it_needs(store: Store) -> None:
    """Rounds take long to unpack, so they are read for the drafters alone."""
    asked = {by: counting(store, by)._where for by in BY}
    assert [by for by in BY if asked[by].rounds] == ["drafter"]
    assert [by for by in BY if asked[by].texts] == ["subject"]


@pytest.mark.parametrize("width", [15, 20, 35, 60, 75, 107, 195])
@pytest.mark.parametrize("by", BY)
def test_rows_fit(store: Store, by: str, width: int) -> None:
    """And the share accepted is in them however narrow it is."""
    reading = counting(store, by)
    while not reading.done:
        reading.read()
    heads, found = group_rows(reading.taken.groups(), by.upper(), width)
    assert all(len(line) <= width for line in (heads, *(row.text for row in found)))
    assert all(" %" in row.text for row in found)
    assert len({row.id for row in found}) == len(found)


def test_the_watch_lists_notices_and_missed_days(store: Store) -> None:
    """The latest first; all of one in a sentence when it is marked."""
    shown = StatsBrowser(store, Objectives(ttft_p95_s=0.001, min_speedup=100))
    shown.turn(-1)
    assert shown.view == WATCH
    read_all(shown)
    _, found = shown.rows(100)
    days = [row.text[:10] for row in found]
    assert days == sorted(days, reverse=True)
    assert shown.notices_n >= 1
    pages = [shown.page(row.id, Sheet(80))[0][0] for row in found]
    assert any("acceptance fell from" in page and "the draft changed" in page for page in pages)
    assert any("at most 0.001 s is wanted" in page for page in pages)
    assert any("at least 100x is wanted" in page for page in pages)
    assert len(set(pages)) == len(pages)
    assert all(len(row.text) <= 18 for row in notice_rows([], shown._watched.taken.misses(), 18))


async def test_the_screen_shows_groups_and_the_marked_one(store: Store) -> None:
    """By key, by command; the page is about the group that is marked."""
    app = make_app(FakeEngine(), store=store)
    async with app.run_test(size=(90, 40)) as pilot:
        await send(pilot, "/stats")
        await wait_until(pilot, lambda: pilot.app.screen is not pilot.app.screen_stack[0])
        await settled(pilot)
        assert [row.split("  ")[0] for row in rows(pilot)] == [ALL, "own files", "qwen2.5-7b", "smollm2-1.7b"]
        assert text(pilot, "#stats-count") == "100 replies"
        assert "100 replies of 3 pairs" in text(pilot, "StatsPage Static")
        await pilot.press("down", "down")
        await pilot.pause()
        assert "70 replies of qwen2.5-7b" in text(pilot, "StatsPage Static")
        await pilot.press("tab")
        await settled(pilot)
        assert "by drafter" in text(pilot, "#stats-title")
        assert [row.split("  ")[0] for row in rows(pilot)] == [ALL, "draft", "draft+suffix", "suffix"]
        await pilot.press("shift+tab")
        await settled(pilot)
        assert "70 replies of qwen2.5-7b" in text(pilot, "StatsPage Static")
        await pilot.press("escape")
        assert pilot.app.screen is pilot.app.screen_stack[0]


async def test_every_view_can_be_reached_and_left(store: Store) -> None:
    """All of them name themselves, and the one shown stands in brackets."""
    app = make_app(FakeEngine(), store=store)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_stats(pilot)
        seen = []
        for _ in VIEWS:
            seen.append(browser(pilot).view)
            assert f"[{browser(pilot).view}" in text(pilot, "#stats-views")
            await pilot.press("right")
            await settled(pilot)
        assert seen == list(VIEWS)
        assert browser(pilot).view == VIEWS[0]


async def test_new_replies_are_counted_on_demand(store: Store) -> None:
    """While the screen is open."""
    app = make_app(FakeEngine(), store=store)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_stats(pilot)
        fill(store, Kind(pair="new"), seed=9)
        await pilot.press("f5")
        await settled(pilot)
        assert text(pilot, "#stats-count") == "101 replies"
        assert any(row.startswith("new") for row in rows(pilot))


async def test_nothing_yet_is_said() -> None:
    """Without rows, and without a page."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(60, 15)) as pilot:
        for keys in ((), ("tab",), ("left", "left")):
            await open_stats(pilot, *keys)
            assert "record_figures" in text(pilot, "#stats-empty")
            assert screen(pilot).query_one("#stats-empty").display
            assert not screen(pilot).query_one("StatsPage").display
            await pilot.press("escape")


async def test_objectives_come_from_the_settings(store: Store) -> None:
    """Without any there is a sentence that says how to set them."""
    config_file().parent.mkdir(parents=True, exist_ok=True)
    app = make_app(FakeEngine(), chat_config("[stats]\nmin_speedup = 1000\n"), store=store)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_stats(pilot, "left")
        assert any("wanted at least 1000x" in row for row in rows(pilot))


@pytest.mark.parametrize("size", [(20, 5), (30, 9), (40, 12), (60, 15), (80, 24), (200, 60)])
async def test_it_can_be_used_at_every_size(store: Store, size: tuple[int, int]) -> None:
    """The list, a part of the page and the way back are there, and the page can be scrolled to its end."""
    app = make_app(FakeEngine(), store=store)
    async with app.run_test(size=size) as pilot:
        await open_stats(pilot, "down")
        assert screen(pilot).query_one("RowList").size.height >= 1
        page = screen(pilot).query_one("StatsPage")
        assert page.size.height >= 2
        assert "back" in text(pilot, "#stats-keys")
        bottom = max(widget.region.bottom for widget in screen(pilot).children)
        assert bottom <= size[1]
        for _ in range(60):
            if page.scroll_offset.y == page.max_scroll_y:
                break
            await pilot.press("pagedown")
        await pilot.pause()
        assert page.scroll_offset.y == page.max_scroll_y


async def test_the_screen_answers_while_it_reads(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that takes for ever: what there is so far is shown, other views can be gone to, and Esc leads back."""
    found, inside, gate = list(store.runs()), Event(), Event()

    def slow(after: int = 0, where: RecordFilter | None = None) -> Iterator[ReplyRecord]:
        yield from found[:5]
        inside.set()
        gate.wait(120)

    monkeypatch.setattr(store, "runs", slow)
    app = make_app(FakeEngine(), store=store)
    async with app.run_test(size=(80, 24)) as pilot:
        try:
            await pilot.press("alt+s")
            await wait_until(pilot, inside.is_set)
            await pilot.press("tab", "shift+tab")
            assert text(pilot, "#stats-count") == "reading, 5 so far"
            assert len(rows(pilot)) > 1
            await pilot.press("escape")
            assert pilot.app.screen is pilot.app.screen_stack[0]
        finally:
            gate.set()


async def test_the_row_of_keys_says_what_tab_does(store: Store) -> None:
    """Where there is room for it all; high enough, a row above the head is left empty, as on the screen of pairs."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await open_stats(pilot)
        assert "Tab next view" in text(pilot, "#stats-keys")
        assert screen(pilot).query_one("#stats-head").region.y == 1
