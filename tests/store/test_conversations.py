"""What is said is there when the store is opened again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from localspec.base.errors import NotFoundError, StoreError, UsageError
from localspec.chat.undo import DeletedConversations
from localspec.runtime.messages import Role
from localspec.store import ReplyState, Store, abbreviated
from localspec.store.store import KEPT
from tests.store.support import ABOUT, START, FakeTime, branched, converse, events, open_store


def test_a_conversation_is_the_same_when_it_is_opened_again(store: Store, path: Path) -> None:
    """Every branch, the current one, what was deleted, and how each reply ended."""
    thread = branched(store)
    store.close()
    with_all = open_store(path, first_id=1000).open_conversation(thread.id)
    assert with_all.tree.nodes == thread.tree.nodes
    assert (with_all.tree.leaf, with_all.path, with_all.heading) == (thread.tree.leaf, thread.path, thread.heading)
    assert [node.state for node in with_all.tree.nodes if node.role is Role.ASSISTANT] == [
        *(ReplyState.DONE,) * 3,
        ReplyState.FAILED,
    ]


def test_a_reply_has_its_tokens_rounds_and_figures_again(store: Store, path: Path) -> None:
    """As the chat had them when it ended."""
    thread = store.begin()
    thread.ask("Hello?")
    said = events("Hello to you,", "world.")
    recorder = thread.begin_reply(ABOUT)
    for event in said:
        recorder.receive(event)
    store.close()
    reply = open_store(path).open_conversation(thread.id).reply(recorder.node.id)
    assert reply is not None
    assert (reply.parts[-1].about, reply.text) == (ABOUT, "Hello to you, world. ")
    again = reply.to_reply()
    assert again.rounds == said[1:3]
    assert again.text == reply.text
    assert (again.prompt, again.finished, again.timings) == (said[0], said[-1].reason, said[-1].timings)  # type: ignore[union-attr]


def test_a_further_reply_to_an_earlier_question_is_a_version_of_its_reply(store: Store, path: Path) -> None:
    """Beside the first, whatever was said since; and that is what is shown from then on."""
    thread = converse(store, ("Apples?", "Red."), ("And pears?", "Green."))
    question, reply, later, _ = thread.path
    again = thread.begin_reply(ABOUT, under=question.id)
    for event in events("Yellow, too."):
        again.receive(event)
    second = open_store(path, first_id=500)
    for each in (thread, second.open_conversation(thread.id)):
        assert each.tree.node(again.message).parent == question.id
        assert [node.content for node in each.path] == ["Apples?", "Yellow, too. "]
        assert each.tree.position(again.message) == (2, 2)
        each.choose(reply.id)
        assert [node.id for node in each.path[:3]] == [question.id, reply.id, later.id]
    second.close()


def test_that_another_program_deleted_the_conversation_is_said_until_something_is_stored(
    store: Store, path: Path
) -> None:
    """At the end of a reply and on leaving too; then another conversation is stored as ever."""
    thread = converse(store, ("Apples?", "Red."))
    other = open_store(path, first_id=1000)
    other.destroy(thread.id)
    thread.ask("And pears?")
    recorder = thread.begin_reply(ABOUT)
    for event in events("Green."):
        recorder.receive(event)
    for _ in range(2):
        assert "deleted" in str(thread.trouble)
        assert not thread.flush()
    thread.go_to(thread.path[0].id)
    thread.rename("Fruit")
    assert "deleted" in str(store.trouble)
    kept = converse(store, ("Plums?", "Blue."))
    assert store.trouble is None
    assert [each.heading.id for each in other.conversations()] == [kept.id]
    other.close()


@pytest.mark.parametrize("stored", [True, False])
def test_what_is_open_is_exported_with_all_its_versions(store: Store, stored: bool) -> None:
    """Edited, answered again, deleted or shown: as much as is stored, also where nothing could be."""
    thread = branched(store)
    whole = store.document(thread.id)
    if not stored:
        store._database.connection.close()
    document = thread.document()
    assert [message.node for message in document.messages] == [message.node for message in whole.messages]
    assert len(document.messages) > len(thread.path)
    assert document.heading == whole.heading
    assert [bool(message.parts) for message in document.messages] == [
        stored and bool(message.parts) for message in whole.messages
    ]


def test_a_continued_reply_has_the_tokens_of_both_parts(store: Store) -> None:
    """And the text of both."""
    thread = converse(store, ("Count.", "one two"))
    reply = thread.path[-1]
    recorder = thread.continue_reply(reply.id, ABOUT)
    for event in events("three four"):
        recorder.receive(event)
    stored = thread.reply(reply.id)
    assert stored is not None
    assert [part.begin for part in stored.parts] == [0, 8]
    assert stored.text == "one two three four " == "".join(token.text for token in stored.tokens)
    assert stored.to_reply().text == stored.text
    assert stored.to_reply().timings.predicted_n == 4
    assert thread.tree.position(reply.id) == (1, 1)


def test_an_edited_reply_is_continued_after_what_no_model_wrote(store: Store) -> None:
    """Its tokens are those of the end."""
    thread = converse(store, ("Count.", "one two"))
    edited = thread.edit(thread.path[-1].id, "eins zwei ")
    assert thread.reply(edited.id) is None
    assert (edited.role, thread.tree.position(edited.id)) == (Role.ASSISTANT, (2, 2))
    recorder = thread.continue_reply(edited.id, ABOUT)
    for event in events("drei vier"):
        recorder.receive(event)
    stored = thread.reply(edited.id)
    assert stored is not None
    assert stored.text == "eins zwei drei vier "
    assert [token.text for token in stored.tokens] == ["drei ", "vier "]


def test_what_nobody_said_anything_in_is_not_stored(store: Store) -> None:
    """Not even when it is renamed."""
    thread = store.begin("be brief")
    thread.rename("Nothing")
    assert store.conversations() == []
    thread.ask("Something?")
    assert [(each.heading.title, each.messages_n) for each in store.conversations()] == [("Nothing", 1)]


def test_pinned_conversations_come_first_then_the_latest(store: Store) -> None:
    """The order of the sidebar."""
    talks = [converse(store, (f"Question {n}", "Yes.")) for n in range(4)]
    talks[1].ask("And more?")
    store.pin(talks[0].id, pinned=True)
    titles = [each.heading.title for each in store.conversations()]
    assert titles == ["Question 0", "Question 1", "Question 3", "Question 2"]


def test_a_title_is_made_once_and_given_for_good(store: Store) -> None:
    """A chosen title stays; an empty one gives way to the made one."""
    thread = converse(store, ("First question? Yes.", "Well."))
    assert thread.title == "First question?"
    store.rename(thread.id, "  Mine\n own ")
    thread.edit(thread.path[0].id, "Another")
    assert (thread.title, store.conversations()[0].heading.title) == ("Mine own", "Mine own")
    thread.rename("")
    assert thread.title == "First question?"


def test_a_deleted_conversation_comes_back(store: Store, time: FakeTime) -> None:
    """It is out of lists and search until then; also while it is open and goes on."""
    thread = converse(store, ("Where is Atlantis?", "Nowhere."))
    store.delete(thread.id)
    thread.ask("Sure?")
    assert store.conversations() == []
    assert store.search("Atlantis") == []
    assert [each.heading.id for each in store.conversations(deleted=True)] == [thread.id]
    store.restore(thread.id)
    assert [each.heading.id for each in store.conversations()] == [thread.id]
    assert len(store.search("Atlantis")) == 1


def test_an_import_that_finds_no_room_promises_nothing(store: Store) -> None:
    """Messages of a chat would be in memory; of an import nothing is kept."""
    thread = converse(store, *(("Say it again. " * 500, "Again. " * 500) for _ in range(20)))
    document = store.document(thread.id)
    connection = store._database.connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="no room on the disk") as refused:
        store.add([document], copies=True)
    assert "memory" not in refused.value.hint


def test_what_was_deleted_long_ago_is_gone(store: Store, path: Path) -> None:
    """After thirty days, with every word; what was deleted lately is kept."""
    old, new = converse(store, ("Ancient words", "Yes.")), converse(store, ("Latest words", "Yes."))
    store.delete(old.id)
    store.close()
    late = FakeTime(looks=iter(range(int(KEPT.total_seconds()) + 60, 10**9)))
    store = open_store(path, late)
    store.delete(new.id)
    assert [each.heading.id for each in store.conversations(deleted=True)] == [new.id]
    with pytest.raises(NotFoundError):
        store.open_conversation(old.id)
    assert store._database.query("SELECT count(*) FROM message_words WHERE message_words MATCH 'ancient'") == [(0,)]
    assert late.now() - START > timedelta(days=30)
    store.close()


def test_destroying_leaves_no_word(store: Store, path: Path) -> None:
    """Not even in the file."""
    thread = converse(store, ("Incriminating", "Unmentionable."))
    store.destroy(thread.id)
    store.close()
    assert b"ncriminating" not in path.read_bytes()
    assert b"nmentionable" not in path.read_bytes()


def test_two_deletions_within_a_moment_are_undone_one_by_one(path: Path) -> None:
    """The clock may stand still."""
    still = FakeTime(looks=iter([5] * 1000))
    store = open_store(path, still)
    thread = converse(store, ("One?", "Yes."), ("Two?", "Yes."))
    first = thread.delete(thread.path[0].id)
    thread.delete(thread.path[0].id)
    thread.restore(first[0].id)
    assert [node.content for node in thread.path] == ["One?", "Yes. "]
    store.close()


def test_ids_are_abbreviated_and_found(store: Store) -> None:
    """By any beginning that only one has."""
    thread = converse(store, ("Hello", "Yes."))
    other = converse(store, ("Hello", "Yes."))
    short, _ = abbreviated([thread.id, other.id])
    assert store.find(short) == thread.id == store.find(thread.id)
    with pytest.raises(UsageError, match="2 conversations begin with"):
        store.find("0000")
    with pytest.raises(NotFoundError, match="begins with 'zz'"):
        store.find("zz")
    with pytest.raises(NotFoundError):
        store.find("")
    with pytest.raises(NotFoundError, match="no conversation"):
        store.open_conversation("zz")


def test_two_programs_store_side_by_side(path: Path) -> None:
    """Each sees what the other has stored, and neither undoes what the other has done."""
    one, two = open_store(path, busy_s=5), open_store(path, first_id=500, busy_s=5)
    thread = converse(one, ("Hello", "Yes."))
    same = two.open_conversation(thread.id)
    two.rename(thread.id, "Renamed elsewhere")
    thread.ask("Going on?")
    assert two.conversations()[0].heading.title == "Renamed elsewhere"
    two.pin(same.id, pinned=True)
    both = one.conversations()[0]
    assert (both.heading.title, both.heading.pinned, both.messages_n) == ("Renamed elsewhere", True, 3)
    one.close()
    two.close()


@pytest.mark.parametrize("ended", [True, False])
def test_a_reply_that_another_program_has_continued_is_continued_as_another_version(path: Path, ended: bool) -> None:
    """So neither text is lost, whether the other has ended or goes on meanwhile; and both have their tokens."""
    one, two = open_store(path), open_store(path, first_id=500)
    thread = converse(one, ("Count.", "one two"))
    (reply, same) = thread.path[-1], two.open_conversation(thread.id)
    theirs = thread.continue_reply(reply.id, ABOUT)
    if ended:
        for event in events("three four"):
            theirs.receive(event)
    mine = same.continue_reply(reply.id, ABOUT)
    for ours, other in zip(events("drei vier"), events("three four"), strict=True):
        mine.receive(ours)
        mine.flush()
        theirs.receive(other)
        theirs.flush()
    assert one.trouble is two.trouble is None
    assert same.path[-1].id == mine.message
    third = open_store(path, first_id=1000)
    stored = third.open_conversation(thread.id)
    assert [each.content for each in stored.tree.siblings(reply.id)] == ["one two three four ", "one two drei vier "]
    for message, tokens in ((reply.id, "one two three four "), (mine.message, "drei vier ")):
        found = stored.reply(message)
        assert found is not None
        assert "".join(token.text for token in found.tokens) == tokens
    for each in (one, two, third):
        each.close()


def test_that_another_program_has_continued_a_reply_first_is_said(path: Path) -> None:
    """It did so while this one waited for the file."""
    one, two = open_store(path), open_store(path, first_id=500)
    thread = converse(one, ("Count.", "one two"))
    same = two.open_conversation(thread.id)
    with closing(sqlite3.connect(path, isolation_level=None)) as third:
        third.execute("BEGIN IMMEDIATE")
        thread.rename("Numbers")
        thread.continue_reply(thread.path[-1].id, ABOUT)
        third.execute("ROLLBACK")
    same.continue_reply(thread.path[-1].id, ABOUT)
    assert not thread.flush()
    assert "continued this reply" in str(thread.trouble)
    one.close()
    two.close()


def test_a_new_message_brings_a_conversation_back_that_another_program_deleted(path: Path) -> None:
    """It would be gone for good a month later, with all that was said in the meantime."""
    one, two = open_store(path, busy_s=5), open_store(path, first_id=500, busy_s=5)
    thread = converse(one, ("Hello", "Yes."))
    for write in (lambda: thread.ask("Going on?"), lambda: thread.begin_reply(ABOUT)):
        two.delete(thread.id)
        write()
        assert [each.heading.id for each in two.conversations()] == [thread.id]
    one.close()
    two.close()


def test_a_change_is_made_to_what_another_program_left(path: Path) -> None:
    """Also where the conversation is open here, and was last seen as the change wants it."""
    one, two = open_store(path, busy_s=5), open_store(path, first_id=500, busy_s=5)
    thread = converse(one, ("Hello", "Yes."))
    one.pin(thread.id, pinned=True)
    one.rename(thread.id, "Mine")
    two.pin(thread.id, pinned=False)
    two.rename(thread.id, "Theirs")
    assert one.conversations()[0].heading.pinned is False
    one.pin(thread.id, pinned=True)
    assert (thread.title, thread.heading.pinned) == ("Theirs", True)
    one.rename(thread.id, "Mine")
    (stored,) = two.conversations()
    assert (stored.heading.title, stored.heading.pinned) == ("Mine", True)
    one.close()
    two.close()


@pytest.mark.parametrize("opened", [False, True])
def test_changing_what_another_program_deleted_for_good_is_told(path: Path, opened: bool) -> None:
    """Nothing is changed then, open here or not; and the deletions before it can be undone."""
    one, two = open_store(path, busy_s=5), open_store(path, first_id=500, busy_s=5)
    kept, gone = converse(one, ("Hello", "Yes.")), converse(one, ("Pears?", "Green."))
    deleted = DeletedConversations(one)
    deleted.delete(kept.id)
    deleted.delete(gone.id)
    two.destroy(gone.id)
    held = two.open_conversation(kept.id) if opened else None
    changes: tuple[Callable[[], None], ...] = (
        lambda: two.pin(kept.id, gone.id, pinned=True),
        lambda: two.delete(gone.id),
        lambda: two.rename(gone.id, "Fruit"),
    )
    for change in changes:
        with pytest.raises(StoreError, match="for good"):
            change()
    assert held is None or not held.heading.pinned
    assert not one.conversations(deleted=True)[0].heading.pinned
    with pytest.raises(NotFoundError):
        deleted.restore()
    assert deleted.restore() is kept
    assert [each.heading.id for each in one.conversations()] == [kept.id]
    one.close()
    two.close()


def test_text_that_is_no_unicode_is_stored_as_far_as_it_is(store: Store) -> None:
    """Half a surrogate pair, a zero byte."""
    thread = store.begin()
    node = thread.ask("half \ud83d and \0 zero")
    assert thread.trouble is None
    del thread
    assert (
        store.open_conversation(store.conversations()[0].heading.id).tree.node(node.id).content
        == "half \ufffd and \0 zero"
    )
