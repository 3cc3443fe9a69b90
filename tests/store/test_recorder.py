"""A reply is stored while it streams: soon, seldom, and whatever the disk does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localspec.base.errors import EngineError
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.runtime.messages import Reply
from localspec.store import ReplyState, Store
from localspec.store.files import to_markdown
from localspec.store.recorder import INTERVAL_S
from tests.store.support import ABOUT, FakeTime, events, open_store


def stored_text(path: Path) -> str:
    """What another program would find."""
    other = open_store(path, first_id=9000)
    try:
        thread = other.open_conversation(other.conversations()[0].heading.id)
        return thread.path[-1].content
    finally:
        other.close()


LONG = [f"word{n} and more" for n in range(30)]


def test_text_is_stored_within_the_interval(store: Store, path: Path, time: FakeTime) -> None:
    """At any moment, what is missing came less than the interval ago."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder, reply = thread.begin_reply(ABOUT), Reply()
    came: list[tuple[float, int]] = []
    for event in events(*LONG)[:-1]:
        time.seconds += 0.1
        reply.receive(event)
        recorder.receive(event)
        came.append((time.seconds, len(reply.text)))
        due = max((length for at, length in came if at <= time.seconds - INTERVAL_S), default=0)
        stored = stored_text(path)
        assert reply.text.startswith(stored)
        assert len(stored) >= due


def test_a_reply_may_go_on_after_its_store_is_closed(store: Store) -> None:
    """As while the program ends: nothing is raised, and the trouble is said."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    store.close()
    for event in events("one two")[:-1]:
        recorder.receive(event)
    recorder.flush()
    assert store.trouble is not None


def test_a_tick_writes_when_no_events_come(store: Store, path: Path, time: FakeTime) -> None:
    """An engine may take its time over the next round."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    for event in events("one two")[:-1]:
        recorder.receive(event)
    recorder.tick()
    assert stored_text(path) == ""
    time.seconds += INTERVAL_S
    recorder.tick()
    assert stored_text(path) == "one two "


def test_few_writes_a_second_and_none_again(store: Store, time: FakeTime) -> None:
    """The rows of a reply are appended; their number follows time, not tokens."""
    statements: list[str] = []
    store._database.connection.set_trace_callback(statements.append)
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    statements.clear()
    *written, last = events(*LONG)
    for event in written:
        time.seconds += 0.05
        recorder.receive(event)
    recorder.flush()
    written_n = len(statements)
    recorder.flush()
    assert len(statements) == written_n
    changes = [each for each in statements if each.startswith(("INSERT", "UPDATE", "DELETE", "REPLACE"))]
    assert len([each for each in changes if each.startswith("INSERT INTO chunk")]) <= (
        0.05 * len(written) / INTERVAL_S + 1
    )
    assert [each for each in changes if not each.startswith("INSERT INTO chunk")] == [
        each for each in changes if each.startswith("UPDATE reply SET started")
    ]
    recorder.receive(last)
    statements.clear()
    recorder.flush()
    assert statements == []


@pytest.mark.parametrize("interval_s", [0.0, INTERVAL_S, 60.0])
def test_the_end_is_the_same_however_often_was_written(path: Path, interval_s: float) -> None:
    """Consolidated: no chunk is left, text and rounds are whole."""
    time = FakeTime()
    store = open_store(path, time)
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    said = events(*LONG)
    for event in said:
        time.seconds += interval_s
        recorder.receive(event)
    assert store._database.query("SELECT count(*) FROM chunk") == [(0,)]
    reply = thread.reply(recorder.node.id)
    assert reply is not None
    assert list(reply.parts[0].rounds) == [event for event in said if isinstance(event, Round)]
    assert reply.text == thread.path[-1].content == said[-1].text  # type: ignore[union-attr]
    store.close()


def test_a_reply_that_breaks_off_keeps_its_text_and_says_why(store: Store, path: Path) -> None:
    """The error comes back as it was."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    for event in events("one two", "three")[:-1]:
        recorder.receive(event)
    recorder.fail(EngineError("The engine stopped.", "Ask again."))
    recorder.receive(events("late")[1])
    reply = thread.reply(recorder.node.id)
    assert reply is not None
    assert (reply.parts[-1].state, reply.text) == (ReplyState.FAILED, "one two three ")
    error = reply.to_reply().error
    assert isinstance(error, EngineError)
    assert (error.message, error.hint) == ("The engine stopped.", "Ask again.")


def test_a_reply_that_was_cut_short_on_the_screen_ends_as_there(store: Store) -> None:
    """With the figures of what was seen."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder, reply = thread.begin_reply(ABOUT), Reply()
    for event in events("one two", "three")[:2]:
        reply.receive(event)
        recorder.receive(event)
    assert not recorder.ended
    cut_short = Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings())
    reply.receive(cut_short)
    recorder.receive(cut_short)
    stored = thread.reply(recorder.node.id)
    assert stored is not None
    assert (stored.to_reply().finished, stored.to_reply().timings) == (FinishReason.CANCELLED, reply.timings)


def test_a_full_disk_loses_nothing_from_memory_and_nothing_at_all_once_there_is_room(store: Store, path: Path) -> None:
    """The reply goes on, the trouble is told, and all of it is stored with the next write that works."""
    thread = store.begin()
    thread.ask("Go on.")
    connection = store._database.connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    recorder = thread.begin_reply(ABOUT)
    said = events(*[f"{word} " * 400 for word in LONG])
    for event in said:
        recorder.receive(event)
        recorder.flush()
    assert store.trouble is not None
    assert "no room on the disk" in store.trouble.message
    assert thread.path[-1].content == said[-1].text  # type: ignore[union-attr]
    connection.execute("PRAGMA max_page_count = 100000")
    assert thread.flush()
    assert thread.trouble is None
    assert stored_text(path) == said[-1].text  # type: ignore[union-attr]


def test_a_held_database_is_waited_for_in_the_background(store: Store, path: Path) -> None:
    """Another program writes for long: the reply goes on, and is stored when that one has finished."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    said: list[Event] = events("one two", "three")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for event in said:
        recorder.receive(event)
        recorder.flush()
    assert thread.trouble is not None
    assert "in use by another program" in thread.trouble.message
    other.execute("ROLLBACK")
    other.close()
    thread.ask("Still there?")
    assert thread.trouble is None
    del thread
    again = store.open_conversation(store.conversations()[0].heading.id)
    assert [node.content for node in again.path] == ["Go on.", "one two three ", "Still there?"]


def test_a_reply_to_what_another_program_destroyed_holds_nothing_up(store: Store, path: Path) -> None:
    """It is told, and what is said elsewhere is stored."""
    thread, other = store.begin(), open_store(path, first_id=500)
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    other.destroy(thread.id)
    other.close()
    for event in events("one two"):
        recorder.receive(event)
        recorder.flush()
    assert thread.path[-1].content == "one two "
    elsewhere = store.begin()
    elsewhere.ask("Hello?")
    assert elsewhere.trouble is None
    assert [each.heading.id for each in store.conversations()] == [elsewhere.id]


def test_a_reply_is_exported_as_far_as_it_is_written(store: Store) -> None:
    """With its tokens, also where it goes on with an earlier part."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    started, *rounds, finished = events("one two", "three")
    for event in (started, *rounds):
        recorder.receive(event)
        recorder.flush()
    assert "one two three" in to_markdown(thread.document())
    assert thread.document().messages[-1].parts[-1].rounds == tuple(rounds)
    assert thread.document() == store.document(thread.id)
    recorder.receive(finished)
    more = thread.continue_reply(recorder.node.id, ABOUT)
    for event in events("four")[:-1]:
        more.receive(event)
        more.flush()
    assert "one two three four" in to_markdown(thread.document())
    assert thread.document() == store.document(thread.id)


def test_a_reply_that_goes_on_is_exported_with_what_could_not_be_stored(store: Store, path: Path) -> None:
    """Where memory has more of it than the file, memory counts."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    started, first, second, finished = events("one two", "three")
    recorder.receive(started)
    recorder.receive(first)
    recorder.flush()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        recorder.receive(second)
        recorder.receive(finished)
        thread.continue_reply(recorder.node.id, ABOUT)
        assert "one two three" in to_markdown(thread.document())


def test_what_is_not_stored_yet_can_be_exported_and_continued(store: Store, path: Path) -> None:
    """From memory, while another program holds the file."""
    thread = store.begin()
    thread.ask("Go on.")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    recorder = thread.begin_reply(ABOUT)
    for event in events(*["one " * 100] * 90):
        recorder.receive(event)
    more = thread.continue_reply(recorder.node.id, ABOUT)
    for event in events("two"):
        more.receive(event)
    assert store.trouble is not None
    assert to_markdown(thread.document()).rstrip().endswith("one two")
    other.execute("ROLLBACK")
    other.close()
    assert thread.flush()
    assert store.trouble is None
    assert thread.document() == store.document(thread.id)
    reply = thread.reply(recorder.node.id)
    assert reply is not None
    assert len(reply.parts) == 2
