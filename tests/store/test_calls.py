"""Calls of tools in stored conversations: results are messages of the tree, and everything that reads it knows them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.thread import Thread
from localspec.cli.history_text import conversation_lines
from localspec.engine.events import Finished
from localspec.runtime.messages import Message, Role, ToolCall
from localspec.store import Store, StoredConversation
from localspec.store.files import read_conversations, to_html, to_json, to_markdown
from localspec.store.files.ndjson import to_ndjson
from localspec.store.tree import Node, Tree
from tests.store.support import ABOUT, START, events

CLOCK = ToolCall("call_1", "get_time", "{}")
WORDS = ToolCall("call_2", "count_words", '{"text": "\x1b[2J a ``` b"}')


SAID = "Let me look."
MARKUP = '<tool_call> {"name": "get_time"} </tool_call> <tool_call> both </tool_call>'


def _reply(stored: StoredConversation, text: str, *calls: ToolCall) -> None:
    recorder = stored.begin_reply(ABOUT)
    for event in events(text):
        if isinstance(event, Finished) and calls:
            event = replace(event, calls=calls, said_n=len(SAID))
        recorder.receive(event)


def conversation(store: Store) -> StoredConversation:
    """A question, a reply with two calls, their results, the reply to these, and another question with its reply."""
    stored = store.begin(None)
    stored.ask("What time is it?")
    _reply(stored, f"{SAID} {MARKUP}", CLOCK, WORDS)
    stored.add_result(CLOCK, "12:34")
    stored.add_result(WORDS, "<script>\x1b]0;x\x07 ```")
    _reply(stored, "It is 12:34.")
    stored.ask("Thanks.")
    _reply(stored, "You are welcome.")
    return stored


def test_the_model_reads_calls_with_their_results(store: Store) -> None:
    """A reply has the calls that were answered; a result without its reply is left out; the store keeps all of it."""
    stored = conversation(store)
    messages = stored.messages()
    assert [message.role for message in messages[:4]] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL]
    assert (messages[1].content, messages[1].calls) == (SAID, (CLOCK, WORDS))
    assert messages[2] == Message(Role.TOOL, "12:34", call_id="call_1", name="get_time")
    assert messages[4].calls == ()
    again = store.open_conversation(stored.id)
    assert again.messages() == messages
    assert again.path == stored.path
    found = store.search("12:34")
    assert {hit.role for hit in found} == {"tool", "assistant"}


def test_only_what_a_reply_says_is_shown(store: Store) -> None:
    """The text of calls is stored, and left out for people; a reply that is continued after calls is shown whole."""
    stored = conversation(store)
    reply = stored.path[1]
    assert (reply.said, reply.content) == (SAID, f"{SAID} {MARKUP} ")
    document = stored.document()
    shown = (to_html([document]), to_markdown(document), *conversation_lines(stored, stored.path, "1"))
    assert not any("tool_call" in each for each in shown)
    assert "look." in shown[0]
    assert SAID in shown[1]
    assert MARKUP in json.loads(to_json([document]))["conversations"][0]["messages"][1]["content"]
    (hit,) = store.search("get_time")
    assert hit.text.startswith(f"{SAID} get_time {{}} count_words {{")
    assert store.search("tool_call") == []
    turn = Thread(stored).turns[0]
    assert (turn.said, turn.text) == (SAID, reply.content)
    recorder = stored.continue_reply(reply.id, ABOUT)
    for event in events("More."):
        recorder.receive(event)
    for node in (stored.tree.node(reply.id), store.open_conversation(stored.id).tree.node(reply.id)):
        assert node.said == f"{reply.content}More. "


def test_a_turn_is_a_question_with_all_that_its_calls_led_to(store: Store) -> None:
    """Deleting any message of the chain deletes the turn whole, and undo brings it back whole."""
    stored = conversation(store)
    path = [node.content for node in stored.path]
    for node in stored.path[:5]:
        stored.delete(node.id)
        assert [each.content for each in stored.path] == ["Thanks.", "You are welcome. "]
        stored.undo()
        assert [each.content for each in stored.path] == path


def test_replies_after_calls_are_turns_of_their_own(store: Store) -> None:
    """The turn that calls has the results; the next begins from them, shows no message, and may be made again."""
    stored = conversation(store)
    thread = Thread(stored)
    first, second, third = thread.turns
    assert [node.call for node in first.results] == [CLOCK, WORDS]
    assert (first.prompt, second.prompt, second.text, third.prompt) == (
        "What time is it?",
        "",
        "It is 12:34. ",
        "Thanks.",
    )
    assert thread.holding(first.results[0].id) is first
    with pytest.raises(ValueError, match="asked"):
        thread.resend(second, "no")
    again = thread.again(second)
    assert (again.question, again.answer, again.prompt) == (first.results[1].id, None, "")
    assert thread.messages(again)[-1].content == first.results[1].content


def test_exports_have_calls_and_harm_nobody(store: Store, tmp_path: Path) -> None:
    """JSON comes back as it was; Markdown and HTML show calls and results without steering what shows them."""
    document = conversation(store).document()
    file = tmp_path / "talk.json"
    file.write_text(to_json([document]), encoding="utf-8")
    (back,) = read_conversations(file)
    assert [each.node for each in back.messages] == [each.node for each in document.messages]
    assert sum('"call": {"id": "call_' in line for line in to_ndjson(document)) == 2
    html, markdown = to_html([document]), to_markdown(document)
    assert "<script>" not in html
    assert "\x1b" not in html
    assert "<summary>Tool get_time" in html
    assert "````\n<script>" in markdown
    damaged = json.loads(to_json([document]))
    del damaged["conversations"][0]["messages"][2]["call"]
    file.write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(Exception, match="call"):
        read_conversations(file)


def test_a_call_without_a_name_is_exported_as_one_that_cannot_be_read(store: Store) -> None:
    """The result says why; there is no name to write before it."""
    thread = conversation(store)
    thread.add_result(ToolCall("unread", "", "{}"), "It is not JSON.")
    assert "\n\nA call that cannot be read:\n\n```\n{}\n```" in to_markdown(thread.document())


def test_a_result_has_a_call() -> None:
    """A tree refuses a result without its call, and a call elsewhere."""
    with pytest.raises(ValueError, match="result of a call"):
        Tree([Node("a", None, Role.TOOL, "", START)])
    with pytest.raises(ValueError, match="result of a call"):
        Tree([Node("a", None, Role.USER, "", START, call=CLOCK)])
