"""Conversations brought in from a file while the chat goes on."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.chat import importing
from localspec.chat.pair_slot import Phase
from localspec.store import Store
from localspec.store.files import import_process, to_json
from localspec.tui.widgets.sidebar import ConversationList, Sidebar
from tests.tui.support import FakeEngine, chat, make_app, notice_text, rounds_of, send, session, views, wait_until

SILENT = "import time; time.sleep(1000)"
"""A reader that never comes to an end."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the app was started; it is the reader's home as well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "data" / "history.db")
    yield store
    store.close()


def exported(path: Path, *questions: str) -> Path:
    """A file of LocalSpec's, with a conversation for each question."""
    other = Store.in_memory()
    talks = [other.begin() for _ in questions]
    for thread, question in zip(talks, questions, strict=True):
        thread.ask(question)
    path.parent.mkdir(exist_ok=True)
    path.write_text(to_json([other.document(thread.id) for thread in talks]), encoding="utf-8")
    other.close()
    return path


def titles(store: Store) -> set[str]:
    return {each.heading.title for each in store.conversations()}


async def bring_in(pilot: Pilot[Any], command: str, said: str) -> None:
    """Import, until it is said what became of it."""
    await send(pilot, command)
    await wait_until(pilot, lambda: said in notice_text(pilot))


def reading_with(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Have another program read the files."""
    monkeypatch.setattr(import_process, "command", lambda path: [sys.executable, "-c", script])


async def test_what_is_imported_is_there_at_once_and_only_once(store: Store, folder: Path) -> None:
    """In the store, in search, and in the list that is open; a second time, it is said that nothing is new."""
    exported(folder / "old.json", "Apples", "Pears")
    async with make_app(FakeEngine(), store=store).run_test(size=(140, 30)) as pilot:
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        chat(pilot).bring_in("old.json")
        await wait_until(pilot, lambda: "2 conversations imported." in notice_text(pilot))
        await pilot.pause()
        rows = chat(pilot).query_one(ConversationList)
        shown = " ".join(str(rows.get_option_at_index(n).prompt) for n in range(rows.option_count))
        assert "Apples" in shown
        assert "Pears" in shown
        assert titles(store) == {"Apples", "Pears"}
        assert [hit.title for hit in store.search("pears")][:1] == ["Pears"]
        await chat(pilot).query(Sidebar).remove()
        await bring_in(pilot, "/import old.json", "Nothing is new: 2 conversations skipped, already here.")
        exported(folder / "older.json", "Plums")
        await bring_in(pilot, "/import older.json", "1 conversation imported.")
    assert len(store.conversations()) == 3


async def test_a_title_being_written_stays(store: Store, folder: Path) -> None:
    """While one is renamed, the list is not drawn anew."""
    exported(folder / "old.json", "Apples")
    store.begin().ask("Pears")
    async with make_app(FakeEngine(), store=store).run_test(size=(140, 30)) as pilot:
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        await pilot.press("f2", "!")
        chat(pilot).bring_in("old.json")
        await wait_until(pilot, lambda: "1 conversation imported." in notice_text(pilot))
        await pilot.press("enter")
        await wait_until(pilot, lambda: chat(pilot).query_one(ConversationList).option_count == 2)
    assert titles(store) == {"Apples", "Pears!"}


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("my talks/old.json", "my talks/old.json"),
        ("my talks/old.json", '"my talks/old.json"'),
        ("my talks/old.json", "'my talks/old.json'"),
        ("old.json", "~/old.json"),
        ("old.json", '"~/old.json"'),
        ("-v", "-v"),
    ],
)
async def test_all_that_follows_is_one_path(store: Store, folder: Path, file: str, named: str) -> None:
    """From the folder where the app was started, or from home."""
    exported(folder / file, "Apples")
    async with make_app(FakeEngine(), store=store).run_test(size=(140, 30)) as pilot:
        await bring_in(pilot, f"/import {named}", "1 conversation imported.")


NOT_IMPORTED = {
    "": "/import needs a file that LocalSpec (JSON), ChatGPT or LM Studio wrote.",
    "stop": "Nothing is being imported.",
    '""': "/import needs a file that",
    "nothing.txt": "There is no file nothing.txt. Check its name.",
    "no such/file": "There is no file no such/file.",
    "~nobody-of-this-name/a.json": "cannot be read: Could not determine home directory",
    "x" * 5000: "cannot be read: File name too long",
    "data": "data is not a file.",
    "words.json": "words.json is not JSON",
    "other.json": "other.json has no conversations that LocalSpec can read.",
    "broken.zip": "broken.zip is a damaged zip file",
    "picture": "picture is not UTF-8 text",
}
"""Arguments of /import that are refused, with the refusal; each differs from the one before."""


async def test_what_cannot_be_imported_is_said(store: Store, folder: Path) -> None:
    """As the sentence it is; the chat goes on, and nothing is added."""
    (folder / "words.json").write_text("no JSON", encoding="utf-8")
    (folder / "other.json").write_text("{}", encoding="utf-8")
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    (folder / "picture").write_bytes(b"\x89PNG\r\n")
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(140, 30)) as pilot:
        for argument, said in NOT_IMPORTED.items():
            await bring_in(pilot, f"/import {argument}", said)
        assert not store.conversations()
        assert not engine.prompts
        exported(folder / "old.json", "Apples")
        await bring_in(pilot, "/import old.json", "1 conversation imported.")
        for argument, said in NOT_IMPORTED.items():
            await bring_in(pilot, f"/import {argument}", said)
            assert "imported." not in notice_text(pilot).replace("being imported.", ""), argument


async def test_a_store_that_cannot_be_written_says_so(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is read."""
    path = tmp_path / "history.db"
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    store = Store.open(path)
    assert store.read_only
    exported(folder / "old.json", "Apples")
    reading_with(monkeypatch, SILENT)
    async with make_app(FakeEngine(), store=store).run_test(size=(140, 30)) as pilot:
        await bring_in(pilot, "/import old.json", store.notice)
    assert not store.conversations()
    store.close()


async def test_the_reply_goes_on_beside_it(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the file is read, one is read at a time, and it is said how far it is."""
    exported(folder / "old.json", "Apples")
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(140, 30)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        await send(pilot, "Tell me a story about a fox")
        engine.start()
        with monkeypatch.context() as patch:
            reading_with(patch, SILENT)
            await bring_in(pilot, "/import old.json", "Reading old.json; /import says how far it is")
            await wait_until(pilot, lambda: chat(pilot)._importing._process)
        engine.write(rounds_of("Once upon a time there was a fox."))
        await wait_until(pilot, lambda: "there was a fox." in views(pilot)[0].turn.text)
        for command in ("/import", "/import other.json"):
            await bring_in(pilot, command, "old.json is still being read; /import stop ends it.")
        await bring_in(pilot, "/import stop", "Importing old.json was stopped. The same command goes on with it.")
        engine.finish()
        await wait_until(pilot, lambda: not session(pilot).busy)
        assert views(pilot)[0].turn.text == "Once upon a time there was a fox."
        await bring_in(pilot, "/import old.json", "1 conversation imported.")
    assert titles(store) == {"Apples", "Tell me a story about a fox"}


async def test_a_large_file_is_stored_little_by_little(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that whoever stores something else waits for one slice alone; stopped, the rest comes another time."""
    monkeypatch.setattr(importing, "SLICE_BYTES", 1)
    names = [f"Talk {number}" for number in range(40)]
    exported(folder / "old.json", *names)
    sizes: list[int] = []
    usual = store.add
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(140, 30)) as pilot:

        def add(documents: Any, *, copies: bool = False) -> Any:
            sizes.append(len(documents))
            if len(sizes) == 6:
                pilot.app.call_from_thread(chat(pilot).bring_in, "stop")
            return usual(documents, copies=copies)

        monkeypatch.setattr(store, "add", add)
        await bring_in(pilot, "/import old.json", "imported. Then: Importing old.json was stopped.")
        had_n = len(store.conversations())
        assert 5 <= had_n < 40
        await bring_in(pilot, "/import old.json", f"{40 - had_n} conversations imported; {had_n} skipped")
    assert set(sizes) == {0, 1}
    assert titles(store) == set(names)


@pytest.mark.parametrize(
    "script", ["import os; os._exit(9)", r"import os; os.write(1, b'\0\0\0\0\0\0\1\0half')"], ids=["at once", "midway"]
)
async def test_a_reader_that_dies_is_told(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """The system takes what wants too much memory."""
    exported(folder / "old.json", "Apples")
    reading_with(monkeypatch, script)
    async with make_app(FakeEngine(), store=store).run_test(size=(140, 30)) as pilot:
        await bring_in(pilot, "/import old.json", "Reading old.json broke off. There may be too little memory")


async def test_a_reader_that_cannot_be_started_is_told(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(folder / "old.json", "Apples")
    async with make_app(FakeEngine(), store=store).run_test(size=(140, 30)) as pilot:
        with monkeypatch.context() as patch:
            patch.setattr(import_process, "command", lambda path: [str(folder / "nothing")])
            await bring_in(pilot, "/import old.json", "No process can be started to read old.json: No such file")
        await bring_in(pilot, "/import old.json", "1 conversation imported.")


async def test_nothing_is_left_behind_by_an_app_that_ends(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever quits need not wait for the file, and nobody reads it any more."""
    exported(folder / "old.json", "Apples")
    reading_with(monkeypatch, SILENT)
    async with make_app(FakeEngine(), store=store).run_test(size=(140, 30)) as pilot:
        await send(pilot, "/import old.json")
        await wait_until(pilot, lambda: chat(pilot)._importing._process)
        process = chat(pilot)._importing._process
        assert process is not None
    await process.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
