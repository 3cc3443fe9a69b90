"""A stored conversation as turns: versions, deletions and what was stored, without a screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import StoreError
from localspec.chat.reply_metadata import reply_about
from localspec.chat.thread import Thread
from localspec.chat.tokens.marking import MarkMode
from localspec.chat.turn import Turn
from localspec.engine.events import Event, Finished, FinishReason, Started
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.store import Node, ReplyMetadata, Store
from localspec.tui.conversation.turn_view import PROMPT_ROWS
from tests.tui.support import INFO, LAUNCH, rounds_of


def say(
    thread: Thread,
    turn: Turn,
    text: str,
    reason: FinishReason = FinishReason.STOP,
    about: ReplyMetadata = ReplyMetadata(),  # noqa: B008 - it cannot be changed
) -> Turn:
    """Have a turn answered in these words."""
    recorder = thread.begin(turn, about)
    events: list[Event] = [Started(5, 0, 1), *rounds_of(text)]
    for event in events:
        turn.reply.receive(event)
        recorder.receive(event)
    finished = Finished(reason, "", turn.reply.tally.timings())
    turn.reply.receive(finished)
    recorder.receive(finished)
    return turn


def two_turns(store: Store) -> Thread:
    thread = Thread(store.begin())
    say(thread, Turn("First"), "One.")
    say(thread, Turn("Second"), "Two.")
    return thread


def said(thread: Thread) -> list[tuple[str, str]]:
    return [(turn.prompt, turn.text) for turn in thread.turns]


def test_each_message_of_a_long_conversation_is_looked_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are found by their ids: to compare each turn's with all others takes seconds for thousands of turns."""
    conversation = store.begin()
    for i in range(50):
        conversation.ask(f"Question {i}")
    compared: list[object] = []

    def equal(one: Node, other: object) -> bool:
        compared.append(other)
        return one is other

    monkeypatch.setattr(Node, "__eq__", equal)
    thread = two_turns(store)
    thread.refresh()
    Thread(conversation)
    assert compared == []


def test_a_restored_question_is_shown_without_the_text_of_its_files(store: Store) -> None:
    """What the model reads is all of it; a turn has room for so many lines."""
    thread = store.begin()
    thread.ask("File: a.py\n```py\nprint(1)\n```\n\nWhat is this?")
    thread.ask("line\n" * 100)
    files, long = Thread(thread).turns
    assert files.shown == "[a.py  0.1 kB]\nWhat is this?"
    assert "print(1)" in files.prompt
    assert files.rows(80) == 2 + 4
    rows = long.shown.split("\n")
    assert len(rows) == PROMPT_ROWS
    assert rows[-1] == "[82 lines more]"
    assert long.prompt == "line\n" * 100


def test_what_was_said_is_restored_with_its_tokens(store: Store) -> None:
    """Another Talk on the same conversation shows the same texts, tokens and figures."""
    thread = two_turns(store)
    again = Thread(thread.stored)
    assert len(again.turns) == 2
    for restored, first in zip(again.turns, thread.turns, strict=True):
        assert restored.text == first.text
        assert not restored.loaded
        again.load(restored)
        assert (restored.text, restored.lead) == (first.text, "")
        assert restored.reply.tokens == first.reply.tokens
        assert restored.reply.timings == first.reply.timings
        assert restored.complete


def test_a_restored_reply_can_be_asked_about_if_its_pair_is_loaded(store: Store) -> None:
    """With the messages and options of its own time; another pair knows nothing of it."""
    other = replace(INFO, target=Path("other.gguf"))
    options = ReplyOptions(max_tokens=7)
    thread = Thread(store.begin("Be kind."))
    say(thread, Turn("First"), "One.", about=replace(reply_about(LAUNCH, INFO), options=options))
    restored = Thread(thread.stored)
    (turn,) = restored.turns
    restored.load(turn)
    for info in (None, other):
        restored.recall(turn, LAUNCH, info)
        assert turn.reply.source(0) is None
    for _ in range(2):
        restored.recall(turn, LAUNCH, INFO)
    (source,) = turn.reply.sources
    assert (source.start, source.pair) == (0, LAUNCH.load)
    assert source.request.options == options
    assert [message.content for message in source.request.prompt if isinstance(message, Message)] == [
        "Be kind.",
        "First",
    ]


def test_a_reply_that_is_let_go_is_read_again(store: Store) -> None:
    thread = two_turns(store)
    turn = thread.turns[0]
    tokens = list(turn.reply.tokens)
    turn.looked_into = True
    thread.unload(turn)
    assert turn.reply.tokens == tokens
    turn.looked_into = False
    thread.unload(turn)
    assert (turn.text, turn.reply.tokens) == ("One.", [])
    thread.load(turn)
    assert (turn.text, turn.reply.tokens) == ("One.", tokens)


def test_answering_anew_keeps_the_first_reply(store: Store) -> None:
    """The new one is the second of two, and the first can be gone back to with what followed it."""
    thread = two_turns(store)
    first = thread.turns[0]
    waiting = thread.again(first)
    assert said(thread) == [("First", "")]
    assert thread.versions(waiting) == ((1, 1), (2, 2))
    say(thread, waiting, "Uno.")
    assert thread.versions(waiting) == ((1, 1), (2, 2))
    assert thread.turn_to(waiting, -1) is thread.turns[0]
    assert said(thread) == [("First", "One."), ("Second", "Two.")]
    assert thread.turn_to(thread.turns[0], -1) is None


def test_asking_in_other_words_is_a_branch(store: Store) -> None:
    """What stays in place stays the same object, so that nothing of it has to be drawn again."""
    thread = two_turns(store)
    first = thread.turns[0]
    waiting = thread.resend(thread.turns[1], "Third")
    assert thread.turns[0] is first
    assert [message.content for message in thread.messages(waiting)] == ["First", "One.", "Third"]
    say(thread, waiting, "Three.")
    assert said(thread) == [("First", "One."), ("Third", "Three.")]
    assert thread.versions(thread.turns[1]) == ((2, 2), (1, 1))
    assert thread.turn_to(thread.turns[1], -1) is thread.turns[1]
    assert said(thread)[1] == ("Second", "Two.")


def test_a_reply_that_is_gone_on_with_joins_exactly(store: Store) -> None:
    """The engine is given what stands there; text, tokens and counts are those of both runs, stored and shown."""
    thread = Thread(store.begin())
    turn = say(thread, Turn("Count"), "One, two,", FinishReason.LENGTH)
    before_n = len(turn.reply.tokens)
    assert thread.carry_on(turn) is turn
    assert turn.text == "One, two,"
    say(thread, turn, " three.")
    assert turn.text == "One, two, three."
    assert len(turn.reply.tokens) == turn.reply.timings.predicted_n > before_n
    assert sum(turn.reply.counts(MarkMode.ORIGIN).values()) == len(turn.reply.tokens)
    again = Thread(thread.stored)
    again.load(again.turns[0])
    assert again.turns[0].text == "One, two, three."
    assert again.turns[0].reply.tokens == turn.reply.tokens


def test_a_reply_that_was_edited_by_hand_can_be_gone_on_with(store: Store) -> None:
    thread = Thread(store.begin())
    turn = say(thread, Turn("Count"), "One, two.")
    edited = thread.rewrite(turn, "One, zwei,")
    assert (edited.text, thread.versions(edited)) == ("One, zwei,", ((1, 1), (2, 2)))
    thread.carry_on(edited)
    say(thread, edited, " drei.")
    assert edited.text == "One, zwei, drei."
    assert edited.lead == "One, zwei,"


def test_a_reply_that_another_program_goes_on_with_becomes_another_version(tmp_path: Path) -> None:
    """The turn is that version from then on."""
    stores = [Store.open(tmp_path / "history.db") for _ in range(2)]
    thread = Thread(stores[0].begin())
    turn = say(thread, Turn("Count"), "One, two,", FinishReason.LENGTH)
    elsewhere = Thread(stores[1].open_conversation(thread.stored.id))
    say(elsewhere, elsewhere.carry_on(elsewhere.turns[0]), " three.")
    thread.carry_on(turn)
    say(thread, turn, " drei.")
    assert thread.turns == [turn]
    assert (turn.text, thread.versions(turn)[1]) == ("One, two, drei.", (2, 2))
    for store in stores:
        store.close()


def test_a_deleted_turn_comes_back(store: Store) -> None:
    """Where it was, with what followed it."""
    thread = two_turns(store)
    thread.delete(thread.turns[0])
    assert said(thread) == [("Second", "Two.")]
    assert thread.stored.undo() is not None
    thread.refresh()
    assert (thread.turns[0].prompt, said(thread)) == ("First", [("First", "One."), ("Second", "Two.")])
    assert thread.stored.undo() is None


def test_a_conversation_that_begins_with_a_reply_is_shown(store: Store) -> None:
    """As some imported ones do: the reply stands alone, and cannot be asked for anew."""
    thread = two_turns(store)
    first = thread.turns[0]
    assert first.question is not None
    thread.stored.edit(first.question, "")
    alone = Turn("", None, thread.turns[0].answer, lead="Hello")
    with pytest.raises(ValueError, match="nothing was asked"):
        thread.again(alone)
    with pytest.raises(ValueError, match="nothing was asked"):
        thread.resend(alone, "x")
    with pytest.raises(ValueError, match="nothing was answered"):
        thread.carry_on(Turn("x"))


def test_text_whose_tokens_cannot_be_read_is_still_text(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = two_turns(store)
    again = Thread(thread.stored)

    def refuse(node: str) -> None:
        raise StoreError("locked", "later")

    monkeypatch.setattr(thread.stored, "reply", refuse)
    again.load(again.turns[0])
    assert (again.turns[0].text, again.turns[0].reply.tokens) == ("One.", [])


def test_roles_are_paired(store: Store) -> None:
    """A question without a reply, and the one after it."""
    thread = Thread(store.begin())
    thread.stored.ask("First")
    thread.stored.ask("Second")
    thread.refresh()
    assert [(turn.prompt, turn.answer) for turn in thread.turns] == [("First", None), ("Second", None)]
    assert [node.role for node in thread.stored.path] == [Role.USER, Role.USER]
