"""What was done last is undone first, as far as there is anything to undo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localspec.chat.compaction import summary_request
from localspec.store import Store, StoredConversation
from tests.store.support import ABOUT, converse, events, open_store


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[StoredConversation]:
    store = Store.open(tmp_path / "history.db")
    yield store.begin()
    store.close()


def undone(thread: StoredConversation) -> str | None:
    """Undo the latest, and name it."""
    node = thread.undo()
    return None if node is None else node.id


def test_deletions_come_back_in_turn(stored: StoredConversation) -> None:
    """The latest first, whoever deleted it, until all that was said is there again."""
    said = [stored.ask(text).id for text in ("One", "Two", "Three")]
    for message in (said[1], said[2], said[0]):
        stored.delete(message)
    assert [undone(stored) for _ in said] == [said[0], said[2], said[1]]
    assert [node.id for node in stored.path] == said
    assert undone(stored) is None


def test_what_was_done_before_a_moment_can_be_left_alone(stored: StoredConversation) -> None:
    """For whoever has something else to undo that came in between."""
    said = [stored.ask(text).id for text in ("One", "Two")]
    stored.delete(said[0])
    since = stored.delete(said[1])[0].deleted
    assert (node := stored.undo(since=since)) is not None
    assert node.id == said[1]
    assert stored.undo(since=since) is None
    assert undone(stored) == said[0]


def test_a_summary_that_was_never_finished_is_passed_over(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "history.db")) as store:
        thread = converse(store, ("One", "First."), ("Two", "Second."))
        said = [node.id for node in thread.path]
        thread.delete(said[2])
        old = summary_request(thread, 0)
        assert old is not None
        recorder = thread.begin_summary(old.through, ABOUT)
        recorder.receive(events("They")[0])
        assert [undone(thread), undone(thread)] == [said[2], None]


def test_a_turn_deleted_before_comes_back_whole(tmp_path: Path) -> None:
    """The question with its reply, from the file."""
    with closing(open_store(tmp_path / "history.db")) as store:
        thread = converse(store, ("One", "First."), ("Two", "Second."))
        said, conversation = [node.id for node in thread.path], thread.id
        thread.delete(said[1])
    with closing(open_store(tmp_path / "history.db", first_id=100)) as store:
        again = store.open_conversation(conversation)
        assert undone(again) == said[0]
        assert [node.id for node in again.path] == said


@pytest.mark.parametrize("deleted_first", [False, True])
def test_of_an_earlier_summary_and_an_earlier_deletion_the_later_is_undone_first(
    tmp_path: Path, deleted_first: bool
) -> None:
    """Then the other."""
    with closing(open_store(tmp_path / "history.db")) as store:
        thread = converse(store, ("One", "First."), ("Two", "Second."), ("Three", "Third."))
        said = [node.id for node in thread.path]

        def summarise() -> None:
            old = summary_request(thread, 1)
            assert old is not None
            recorder = thread.begin_summary(old.through, ABOUT)
            for event in events("They counted."):
                recorder.receive(event)

        def delete() -> None:
            thread.delete(said[4])

        for action in (delete, summarise) if deleted_first else (summarise, delete):
            action()
        seen = []
        for _ in range(2):
            thread.undo()
            seen.append((thread.recap is None, said[4] in {node.id for node in thread.path}))
        assert seen == [(deleted_first, not deleted_first), (True, True)]
