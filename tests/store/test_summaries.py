"""Old turns told in short: what the model is told from then on, and that nothing is lost by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.base.errors import EngineError
from localspec.chat.compaction import REQUEST, SummaryRequest, summary_request
from localspec.engine.events import Event, Finished, FinishReason
from localspec.runtime.messages import Reply, Role
from localspec.store import Store, StoredConversation
from localspec.store.files import read_conversations, to_json, to_markdown, to_ndjson
from tests.store.support import ABOUT, converse, events, open_store

TURNS = (("One?", "First."), ("Two?", "Second."), ("Three?", "Third."), ("Four?", "Fourth."))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "history.db")
    yield store
    store.close()


def old(thread: StoredConversation, kept_n: int = 2) -> SummaryRequest:
    found = summary_request(thread, kept_n)
    assert found is not None
    return found


def summarise(thread: StoredConversation, text: str, kept_n: int = 2) -> None:
    recorder = thread.begin_summary(old(thread, kept_n).through, ABOUT)
    for event in events(text):
        recorder.receive(event)


def told(thread: StoredConversation) -> list[str]:
    return [message.content.strip() for message in thread.messages()]


def test_the_model_is_told_the_summary_and_what_was_said_since(store: Store) -> None:
    """Behind the system prompt; the path still has every turn."""
    thread = converse(store, *TURNS, system="Be kind.")
    path = thread.path
    summarise(thread, "They counted.")
    assert [message.role for message in thread.messages()][:2] == [Role.SYSTEM, Role.USER]
    assert told(thread) == [
        "Be kind.\n\nSummary of the conversation so far:\nThey counted.",
        "Three?",
        "Third.",
        "Four?",
        "Fourth.",
    ]
    assert thread.path == path
    assert thread.recap is not None
    assert thread.recap.turns_n == 2


def test_the_request_begins_as_the_conversation_does(store: Store) -> None:
    """So that the engine has read nearly all of it before."""
    thread = converse(store, *TURNS, system="Be kind.")
    asked = [message.content.strip() for message in old(thread).messages]
    assert asked[:-1] == told(thread)[:5]
    assert asked[-1] == REQUEST
    assert old(thread).turns_n == 2
    assert [len(old(thread, kept_n).messages) for kept_n in (0, 1, 3)] == [10, 8, 4]


def test_with_few_turns_there_is_nothing_to_tell_in_short(store: Store) -> None:
    thread = converse(store, *TURNS[:2])
    assert summary_request(thread) is None
    assert summary_request(thread, 9) is None
    pending = store.begin()
    pending.ask("Nobody?")
    assert summary_request(pending, 0) is None


def test_a_second_summary_tells_the_first_and_what_came_since(store: Store) -> None:
    thread = converse(store, *TURNS)
    summarise(thread, "They began.", kept_n=3)
    again = old(thread, 1)
    assert [message.content.strip() for message in again.messages] == [
        "Summary of the conversation so far:\nThey began.",
        "Two?",
        "Second.",
        "Three?",
        "Third.",
        REQUEST,
    ]
    assert again.turns_n == 3
    summarise(thread, "They went on.", kept_n=1)
    assert told(thread) == ["Summary of the conversation so far:\nThey went on.", "Four?", "Fourth."]
    assert thread.recap is not None
    thread.delete(thread.recap.node.id)
    assert told(thread)[0] == "Summary of the conversation so far:\nThey began."


def test_undoing_it_brings_every_turn_back(store: Store) -> None:
    thread = converse(store, *TURNS)
    before = thread.messages()
    summarise(thread, "They counted.")
    assert thread.recap is not None
    thread.delete(thread.recap.node.id)
    assert thread.recap is None
    assert thread.messages() == before


@pytest.mark.parametrize("end", ["stopped", "failed", "empty", "thoughts alone", "killed"])
def test_a_summary_that_does_not_come_to_its_end_changes_nothing(store: Store, end: str) -> None:
    thread = converse(store, *TURNS)
    before = to_json([thread.document()])
    recorder = thread.begin_summary(old(thread).through, ABOUT)
    text = {"empty": " ", "thoughts alone": "<think> hm </think>"}.get(end, "They")
    said: list[Event] = events(text)
    for event in said[:-1]:
        recorder.receive(event)
    match end:
        case "stopped":
            recorder.receive(Finished(FinishReason.CANCELLED, "", Reply().timings))
        case "failed":
            recorder.fail(EngineError("It stopped.", "Ask again."))
        case "empty" | "thoughts alone":
            recorder.receive(said[-1])
    recorder.tick()
    assert to_json([thread.document()]) == before
    assert to_json([store.document(thread.id)]) == before


def test_it_is_there_when_the_conversation_is_opened_again(store: Store, tmp_path: Path) -> None:
    """With the tokens that it was written in; what it says is no message of its own in lists and search."""
    thread = converse(store, *TURNS)
    summarise(thread, "They counted rhinoceroses.")
    before = thread.messages()
    store.close()
    opened = open_store(tmp_path / "history.db", first_id=1000)
    again = opened.open_conversation(thread.id)
    assert again.messages() == before
    assert again.recap is not None
    reply = again.reply(again.recap.node.id)
    assert reply is not None
    assert "".join(token.text for token in reply.tokens) == "They counted rhinoceroses. "
    assert [summary.messages_n for summary in opened.conversations()] == [8]
    assert opened.search("rhinoceroses") == []
    opened.close()


def test_another_branch_knows_nothing_of_it(store: Store) -> None:
    """An old question asked in other words is asked after the turns as they were."""
    thread = converse(store, *TURNS)
    questions = [node for node in thread.path if node.role is Role.USER]
    summarise(thread, "They counted.")
    changed = thread.edit(questions[1].id, "Zwei?")
    assert told(thread) == ["One?", "First.", "Zwei?"]
    assert thread.recap is None
    thread.choose(questions[1].id)
    assert thread.recap is not None
    assert len(thread.tree.siblings(changed.id)) == 2


def test_a_turn_deleted_behind_it_takes_nothing_with_it(store: Store) -> None:
    """Neither the last that it stands for, nor all that was said since; without any turn it stands for nothing."""
    thread = converse(store, *TURNS)
    summarise(thread, "They counted.")
    path = thread.path
    thread.delete(path[5].id)
    thread.delete(path[7].id)
    assert told(thread) == ["Summary of the conversation so far:\nThey counted."]
    thread.ask("Five?")
    assert told(thread)[1:] == ["Five?"]
    thread.delete(path[3].id)
    assert thread.recap is not None
    assert thread.recap.turns_n == 1
    thread.delete(path[1].id)
    assert thread.recap is None
    assert told(thread) == ["Five?"]


def test_files_have_the_summary_and_all_that_it_stands_for(store: Store, tmp_path: Path) -> None:
    thread = converse(store, *TURNS)
    summarise(thread, "They counted.")
    document = store.document(thread.id)
    markdown = to_markdown(document)
    assert markdown.index("Second.") < markdown.index("They counted.") < markdown.index("Three?")
    assert "First." in markdown
    lines = [json.loads(line) for line in to_ndjson(document)]
    assert [line["role"] for line in lines if line["kind"] == "message"].count("system") == 1
    (tmp_path / "talk.json").write_text(to_json([document]), encoding="utf-8")
    (read,) = read_conversations(tmp_path / "talk.json")
    assert to_json([read]) == to_json([document])
    assert to_markdown(read) == markdown


def test_thoughts_before_a_summary_are_not_told(store: Store) -> None:
    thread = converse(store, *TURNS)
    summarise(thread, "<think> hm </think> They counted.")
    assert told(thread)[0] == "Summary of the conversation so far:\nThey counted."


def test_showing_a_summary_shows_what_it_stands_for(store: Store) -> None:
    """No message can come to stand under a summary."""
    thread = converse(store, *TURNS)
    summarise(thread, "They counted.")
    assert thread.recap is not None
    path = thread.path
    thread.choose(thread.recap.node.id)
    assert thread.path == path
    assert thread.tree.children(thread.recap.node.id) == ()
