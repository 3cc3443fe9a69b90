"""Two programs at one file: what a dead one left is put in order once, and what a living one writes is let alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from localspec.base.errors import StoreError
from localspec.store import Recorder, ReplyState, Store
from localspec.store.database import Database, Row
from localspec.store.recovery import finish_cut_off
from tests.store.support import ABOUT, events, open_store

FIRST, *REST = events("one two", "three")


class Meanwhile(Database):
    """A database of which others do something before it is asked for what has some words in it."""

    def __init__(self, store: Store, words: str, action: Callable[[], object]) -> None:
        super().__init__(store._database.connection, store.path)
        self._words, self._deed = words, action
        self._lock = store._database._lock

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        if self._words in sql:
            self._words = "done"
            self._deed()
        return super().query(sql, parameters)


def begun(store: Store) -> Recorder:
    """A reply of which the first words are stored."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    for event in (FIRST, REST[0]):
        recorder.receive(event)
    recorder.flush()
    return recorder


def text_and_state(path: Path) -> tuple[str, ReplyState | None]:
    store = open_store(path, first_id=9000)
    node = store.open_conversation(store.conversations()[0].heading.id).path[-1]
    store.close()
    return node.content, node.state


def test_a_reply_that_begins_while_one_looks_is_not_taken_for_cut_off(store: Store, path: Path) -> None:
    """Its program may have been asked for before it began to write, and nobody had a lock then."""
    looking = open_store(path, first_id=500)
    database = Meanwhile(looking, "FROM reply WHERE state = 'writing'", lambda: begun(store))
    assert finish_cut_off(database, path) == 0
    looking.close()


def test_a_reply_that_ends_while_it_is_put_in_order_keeps_its_end(path: Path) -> None:
    """Of a program that has no lock, as on some network file systems: it was taken for dead, and was not."""
    writing, looking = open_store(path), open_store(path, first_id=500)
    recorder = begun(writing)
    writing._writer.close()

    def end() -> None:
        for event in REST[1:]:
            recorder.receive(event)

    finish_cut_off(Meanwhile(looking, "SELECT content FROM message", end), path)
    for each in (writing, looking):
        each.close()
    assert text_and_state(path) == ("one two three ", ReplyState.DONE)


def test_what_two_programs_put_in_order_at_once_is_there_once(path: Path) -> None:
    """The words are not doubled, whoever comes first."""
    dead = open_store(path)
    looking, other = (open_store(path, first_id=each) for each in (500, 700))
    begun(dead)
    dead._writer.close()

    def too() -> None:
        with suppress(StoreError):
            finish_cut_off(other._database, path)

    finish_cut_off(Meanwhile(looking, "SELECT content FROM message", too), path)
    for each in (looking, other, dead):
        each.close()
    assert text_and_state(path) == ("one two ", ReplyState.CUT_OFF)
