"""Old turns told in short: what the model is told from then on, and that nothing is lost by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.base.errors import EngineError
from localspec.engine.events import Event, Finished, FinishReason
from localspec.runtime.messages import Reply, Role
from localspec.store import OldTurns, Store, StoredConversation
from localspec.store.files import read_conversations, to_json, to_markdown, to_ndjson
from localspec.store.summaries import REQUEST
from tests.store.support import ABOUT, converse, events, open_store

TURNS = (("One?", "First."), ("Two?", "Second."), ("Three?", "Third."), ("Four?", "Fourth."))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "history.db")
    yield store
    store.close()


def old(talk: StoredConversation, kept_n: int = 2) -> OldTurns:
    found = talk.old_turns(kept_n)
    assert found is not None
    return found


def summarise(talk: StoredConversation, text: str, kept_n: int = 2) -> None:
    recorder = talk.begin_summary(old(talk, kept_n), ABOUT)
    for event in events(text):
        recorder.receive(event)


def told(talk: StoredConversation) -> list[str]:
    return [message.content.strip() for message in talk.messages()]


def test_the_model_is_told_the_summary_and_what_was_said_since(store: Store) -> None:
    """Behind the system prompt; the path still has every turn."""
    talk = converse(store, *TURNS, system="Be kind.")
    path = talk.path
    summarise(talk, "They counted.")
    assert [message.role for message in talk.messages()][:2] == [Role.SYSTEM, Role.USER]
    assert told(talk) == [
        "Be kind.\n\nSummary of the conversation so far:\nThey counted.",
        "Three?",
        "Third.",
        "Four?",
        "Fourth.",
    ]
    assert talk.path == path
    assert talk.recap is not None
    assert talk.recap.turns_n == 2


def test_the_request_begins_as_the_conversation_does(store: Store) -> None:
    """So that the engine has read nearly all of it before."""
    talk = converse(store, *TURNS, system="Be kind.")
    asked = [message.content.strip() for message in old(talk).asked]
    assert asked[:-1] == told(talk)[:5]
    assert asked[-1] == REQUEST
    assert old(talk).turns_n == 2
    assert [len(old(talk, kept_n).asked) for kept_n in (0, 1, 3)] == [10, 8, 4]


def test_with_few_turns_there_is_nothing_to_tell_in_short(store: Store) -> None:
    talk = converse(store, *TURNS[:2])
    assert talk.old_turns() is None
    assert talk.old_turns(9) is None
    unanswered = store.begin()
    unanswered.ask("Nobody?")
    assert unanswered.old_turns(0) is None


def test_a_second_summary_tells_the_first_and_what_came_since(store: Store) -> None:
    talk = converse(store, *TURNS)
    summarise(talk, "They began.", kept_n=3)
    again = old(talk, 1)
    assert [message.content.strip() for message in again.asked] == [
        "Summary of the conversation so far:\nThey began.",
        "Two?",
        "Second.",
        "Three?",
        "Third.",
        REQUEST,
    ]
    assert again.turns_n == 3
    summarise(talk, "They went on.", kept_n=1)
    assert told(talk) == ["Summary of the conversation so far:\nThey went on.", "Four?", "Fourth."]
    assert talk.recap is not None
    talk.delete(talk.recap.node.id)
    assert told(talk)[0] == "Summary of the conversation so far:\nThey began."


def test_undoing_it_brings_every_turn_back(store: Store) -> None:
    talk = converse(store, *TURNS)
    before = talk.messages()
    summarise(talk, "They counted.")
    assert talk.recap is not None
    talk.delete(talk.recap.node.id)
    assert talk.recap is None
    assert talk.messages() == before


@pytest.mark.parametrize("end", ["stopped", "failed", "cut short", "empty", "thoughts alone", "killed"])
def test_a_summary_that_does_not_come_to_its_end_changes_nothing(store: Store, end: str) -> None:
    talk = converse(store, *TURNS)
    before = to_json([talk.document()])
    recorder = talk.begin_summary(old(talk), ABOUT)
    text = {"empty": " ", "thoughts alone": "<think> hm </think>"}.get(end, "They")
    said: list[Event] = events(text)
    for event in said[:-1]:
        recorder.receive(event)
    match end:
        case "stopped":
            recorder.receive(Finished(FinishReason.CANCELLED, "", Reply().timings))
        case "failed":
            recorder.fail(EngineError("It stopped.", "Ask again."))
        case "cut short":
            recorder.follow(Reply(finished=FinishReason.CANCELLED))
        case "empty" | "thoughts alone":
            recorder.receive(said[-1])
    recorder.tick()
    assert to_json([talk.document()]) == before
    assert to_json([store.document(talk.id)]) == before


def test_it_is_there_when_the_conversation_is_opened_again(store: Store, tmp_path: Path) -> None:
    """With the tokens that it was written in; what it says is no message of its own in lists and search."""
    talk = converse(store, *TURNS)
    summarise(talk, "They counted rhinoceroses.")
    before = talk.messages()
    store.close()
    opened = open_store(tmp_path / "history.db", first_id=1000)
    again = opened.open_conversation(talk.id)
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
    talk = converse(store, *TURNS)
    questions = [node for node in talk.path if node.role is Role.USER]
    summarise(talk, "They counted.")
    changed = talk.edit(questions[1].id, "Zwei?")
    assert told(talk) == ["One?", "First.", "Zwei?"]
    assert talk.recap is None
    talk.choose(questions[1].id)
    assert talk.recap is not None
    assert len(talk.tree.siblings(changed.id)) == 2


def test_a_turn_deleted_behind_it_takes_nothing_with_it(store: Store) -> None:
    """Neither the last that it stands for, nor all that was said since; without any turn it stands for nothing."""
    talk = converse(store, *TURNS)
    summarise(talk, "They counted.")
    path = talk.path
    talk.delete(path[5].id)
    talk.delete(path[7].id)
    assert told(talk) == ["Summary of the conversation so far:\nThey counted."]
    talk.ask("Five?")
    assert told(talk)[1:] == ["Five?"]
    talk.delete(path[3].id)
    assert talk.recap is not None
    assert talk.recap.turns_n == 1
    talk.delete(path[1].id)
    assert talk.recap is None
    assert told(talk) == ["Five?"]


def test_files_have_the_summary_and_all_that_it_stands_for(store: Store, tmp_path: Path) -> None:
    talk = converse(store, *TURNS)
    summarise(talk, "They counted.")
    document = store.document(talk.id)
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
    talk = converse(store, *TURNS)
    summarise(talk, "<think> hm </think> They counted.")
    assert told(talk)[0] == "Summary of the conversation so far:\nThey counted."


def test_showing_a_summary_shows_what_it_stands_for(store: Store) -> None:
    """No message can come to stand under a summary."""
    talk = converse(store, *TURNS)
    summarise(talk, "They counted.")
    assert talk.recap is not None
    path = talk.path
    talk.choose(talk.recap.node.id)
    assert talk.path == path
    assert talk.tree.children(talk.recap.node.id) == ()
