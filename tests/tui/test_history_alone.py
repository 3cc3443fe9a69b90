"""Conversations without a model, and a database that is not what it should be: they open, and a sentence says why."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from localspec.chat.pair_slot import Phase
from localspec.store import Store
from localspec.tui.screens.search import HitList, SearchScreen
from localspec.tui.widgets.sidebar import Sidebar
from tests.store.support import converse, open_store
from tests.tui.support import (
    FakeEngine,
    chat,
    make_app,
    notice_text,
    send,
    session,
    transcript_of,
    turns_shown,
    wait_until,
)

SAID = ("Apples?", "Some are scarlet.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a conversation."""
    path = tmp_path / "data" / "history.db"
    store = open_store(path)
    converse(store, SAID)
    store.close()
    return path


async def test_history_is_there_where_no_model_is(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair cannot be loaded, and what was said is listed, opened, searched and exported all the same."""
    monkeypatch.chdir(tmp_path)
    engine = FakeEngine()
    with closing(Store.open(path)) as store:
        async with make_app(engine, store=store).run_test(size=(120, 30)) as pilot:
            engine.refuse_load()
            await wait_until(pilot, lambda: session(pilot).phase is Phase.BROKEN)
            await pilot.press("f7")
            await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
            await pilot.press(*"appl", "enter")
            await wait_until(pilot, lambda: [text.strip() for text in turns_shown(pilot)[0]] == [*SAID])
            await send(pilot, "/export")
            assert "apples.md" in notice_text(pilot)
            await pilot.press("ctrl+n", "ctrl+s")
            await wait_until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
            await pilot.press(*"scarl")
            await wait_until(pilot, lambda: pilot.app.screen.query_one(HitList).option_count == 1)
            await pilot.press("enter")
            await wait_until(pilot, lambda: transcript_of(pilot).selected is not None)
            assert turns_shown(pilot)[0][0] == SAID[0]
        assert engine.sent == [], "nothing was asked of an engine"
    assert "Some are scarlet." in (tmp_path / "apples.md").read_text(encoding="utf-8")


@contextmanager
def newer(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    yield


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    path.write_bytes(b"this is no database at all, " * 100)
    yield


@contextmanager
def held(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize(
    ("state", "said"), [(newer, "newer LocalSpec"), (damaged, "was renamed"), (held, "in use by another program")]
)
async def test_a_database_in_a_bad_state_is_told_on_the_first_screen(
    path: Path, state: Callable[[Path], AbstractContextManager[None]], said: str
) -> None:
    """And a question is answered as ever; what is on the disk stays as it was."""
    engine = FakeEngine()
    with state(path):
        before = path.read_bytes()
        with closing(Store.open_or_memory(path, busy_s=0)) as store:
            async with make_app(engine, store=store).run_test(size=(200, 30)) as pilot:
                await wait_until(pilot, lambda: said in notice_text(pilot))
                engine.load()
                await send(pilot, "Pears?")
                await wait_until(pilot, lambda: engine.prompts)
                engine.reply("Green.")
                await wait_until(pilot, lambda: session(pilot).free)
                assert turns_shown(pilot) == [("Pears?", "Green.")]
                await send(pilot, f"/export {path.parent / 'pears.md'}")
                assert "Written to" in notice_text(pilot)
    assert "Green." in (path.parent / "pears.md").read_text("utf-8")
    kept = path if state is not damaged else next(path.parent.glob("history-damaged-*.db"))
    assert kept.read_bytes() == before


async def test_what_was_said_since_is_exported_though_nothing_can_be_stored(path: Path, tmp_path: Path) -> None:
    """In a conversation of a newer LocalSpec: all of it is written, what is stored and what is not."""
    engine = FakeEngine()
    with newer(path), closing(Store.open(path)) as store:
        async with make_app(engine, store=store).run_test(size=(120, 30)) as pilot:
            engine.load()
            await chat(pilot)._go_to(store.conversations()[0].heading.id)
            await send(pilot, "Pears?")
            await wait_until(pilot, lambda: engine.prompts)
            engine.reply("Green.")
            await wait_until(pilot, lambda: session(pilot).free)
            await send(pilot, f"/export {tmp_path / 'all.md'}")
            assert "Written to" in notice_text(pilot)
    text = (tmp_path / "all.md").read_text("utf-8")
    assert [word in text for word in (*SAID, "Pears?", "Green.")] == [True] * 4


async def test_a_database_that_is_moved_away_is_told_where_one_searches(path: Path) -> None:
    """And the search goes on once it is back."""
    with closing(Store.open(path)) as store:
        async with make_app(FakeEngine(), store=store).run_test(size=(160, 30)) as pilot:
            path.rename(path.with_name("elsewhere.db"))
            await pilot.press("ctrl+s")
            await wait_until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
            await pilot.press(*"scarl")
            said = pilot.app.screen.query_one("#search-said")
            await wait_until(pilot, lambda: "no longer exists" in str(said.render()))
            path.with_name("elsewhere.db").rename(path)
            await pilot.press("e")
            await wait_until(pilot, lambda: pilot.app.screen.query_one(HitList).option_count == 1)
