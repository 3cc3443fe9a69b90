"""What was done last is undone first, as far as there is anything to undo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localspec.store import Store, StoredConversation
from localspec.tui.undoing import Undoing
from tests.store.support import ABOUT, converse, events, open_store


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[StoredConversation]:
    store = Store.open(tmp_path / "history.db")
    yield store.begin()
    store.close()


def test_deletions_come_back_in_turn(stored: StoredConversation) -> None:
    """The latest first, until all that was said is there again."""
    said = [stored.ask(text).id for text in ("One", "Two", "Three")]
    undoing = Undoing(stored)
    undoing.delete(said[2])
    undoing.delete(said[0])
    assert [node.id for node in stored.path] == [said[1]]
    assert undoing.undo(None) == said[0]
    assert undoing.undo(None) == said[2]
    assert [node.id for node in stored.path] == said
    assert undoing.undo(None) is None


def test_a_summary_that_was_never_finished_is_passed_over(stored: StoredConversation) -> None:
    said = stored.ask("One").id
    undoing = Undoing(stored)
    undoing.delete(said)
    undoing.note("a summary that was stopped")
    assert undoing.undo(None) == said
    assert undoing.undo(None) is None


def test_what_was_deleted_before_comes_back_after_what_was_deleted_here(stored: StoredConversation) -> None:
    """The latest first, however long ago, and whoever deleted it."""
    said = [stored.ask(text).id for text in ("One", "Two", "Three")]
    for message in (said[1], said[2]):
        Undoing(stored).delete(message)
    undoing = Undoing(stored)
    undoing.delete(said[0])
    assert [undoing.undo(None) for _ in said] == [said[0], said[2], said[1]]
    assert [node.id for node in stored.path] == said
    assert undoing.undo(None) is None


def test_a_turn_deleted_before_comes_back_whole(tmp_path: Path) -> None:
    """The question with its reply, from the file."""
    with closing(open_store(tmp_path / "history.db")) as store:
        talk = converse(store, ("One", "First."), ("Two", "Second."))
        said, conversation = [node.id for node in talk.path], talk.id
        talk.delete(said[1])
    with closing(open_store(tmp_path / "history.db", first_id=100)) as store:
        again = store.open_conversation(conversation)
        assert Undoing(again).undo(None) == said[0]
        assert [node.id for node in again.path] == said


@pytest.mark.parametrize("deleted_first", [False, True])
def test_of_an_earlier_summary_and_an_earlier_deletion_the_later_is_undone_first(
    tmp_path: Path, deleted_first: bool
) -> None:
    """Then the other."""
    with closing(open_store(tmp_path / "history.db")) as store:
        talk = converse(store, ("One", "First."), ("Two", "Second."), ("Three", "Third."))
        said = [node.id for node in talk.path]

        def summarise() -> None:
            old = talk.old_turns(1)
            assert old is not None
            recorder = talk.begin_summary(old, ABOUT)
            for event in events("They counted."):
                recorder.receive(event)

        def delete() -> None:
            talk.delete(said[4])

        for deed in (delete, summarise) if deleted_first else (summarise, delete):
            deed()
        undoing, undone = Undoing(talk), []
        for _ in range(2):
            undoing.undo(talk.recap)
            undone.append((talk.recap is None, said[4] in {node.id for node in talk.path}))
        assert undone == [(deleted_first, not deleted_first), (True, True)]
