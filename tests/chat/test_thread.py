"""A stored conversation as exchanges: versions, deletions and what was stored, without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import StoreError
from localspec.chat.reply_metadata import reply_about
from localspec.chat.thread import Talk
from localspec.chat.tokens.truth import Mode
from localspec.chat.turn import Exchange
from localspec.engine.events import Event, Finished, FinishReason, Started
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.store import ReplyAbout, Store
from localspec.tui.conversation.turn import PROMPT_ROWS
from tests.tui.support import INFO, LAUNCH, rounds_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "history.db")
    yield store
    store.close()


def say(
    talk: Talk,
    exchange: Exchange,
    text: str,
    reason: FinishReason = FinishReason.STOP,
    about: ReplyAbout = ReplyAbout(),  # noqa: B008 - it cannot be changed
) -> Exchange:
    """Have an exchange answered in these words."""
    recorder = talk.begin(exchange, about)
    events: list[Event] = [Started(5, 0, 1), *rounds_of(text)]
    for event in events:
        exchange.receive(event)
        recorder.receive(event)
    finished = Finished(reason, "", exchange.reply.tally.timings())
    exchange.receive(finished)
    recorder.receive(finished)
    return exchange


def two_turns(store: Store) -> Talk:
    talk = Talk(store.begin())
    say(talk, Exchange("First"), "One.")
    say(talk, Exchange("Second"), "Two.")
    return talk


def said(talk: Talk) -> list[tuple[str, str]]:
    return [(exchange.prompt, exchange.text) for exchange in talk.exchanges]


def test_a_restored_question_is_shown_without_the_text_of_its_files(store: Store) -> None:
    """What the model reads is all of it; a turn has room for so many lines."""
    talk = store.begin()
    talk.ask("File: a.py\n```py\nprint(1)\n```\n\nWhat is this?")
    talk.ask("line\n" * 100)
    files, long = Talk(talk).exchanges
    assert files.shown == "[a.py  0.1 kB]\nWhat is this?"
    assert "print(1)" in files.prompt
    assert files.rows(80) == 2 + 4
    rows = long.shown.split("\n")
    assert len(rows) == PROMPT_ROWS
    assert rows[-1] == "[82 lines more]"
    assert long.prompt == "line\n" * 100


def test_what_was_said_is_restored_with_its_tokens(store: Store) -> None:
    """Another Talk on the same conversation shows the same texts, tokens and figures."""
    talk = two_turns(store)
    again = Talk(talk.stored)
    assert len(again.exchanges) == 2
    for restored, first in zip(again.exchanges, talk.exchanges, strict=True):
        assert restored.text == first.text
        assert not restored.loaded
        again.load(restored)
        assert (restored.text, restored.lead) == (first.text, "")
        assert restored.trace.tokens == first.trace.tokens
        assert restored.reply.timings == first.reply.timings
        assert restored.complete


def test_a_restored_reply_can_be_asked_about_if_its_pair_is_loaded(store: Store) -> None:
    """With the messages and options of its own time; another pair knows nothing of it."""
    other = replace(INFO, target=Path("other.gguf"))
    options = ReplyOptions(max_tokens=7)
    talk = Talk(store.begin("Be kind."))
    say(talk, Exchange("First"), "One.", about=replace(reply_about(LAUNCH, INFO), options=options))
    restored = Talk(talk.stored)
    (exchange,) = restored.exchanges
    restored.load(exchange)
    for info in (None, other):
        restored.recall(exchange, LAUNCH, info)
        assert exchange.trace.source(0) is None
    for _ in range(2):
        restored.recall(exchange, LAUNCH, INFO)
    (source,) = exchange.trace.sources
    assert (source.start, source.pair) == (0, LAUNCH.load)
    assert source.asked.options == options
    assert [message.content for message in source.asked.prompt if isinstance(message, Message)] == ["Be kind.", "First"]


def test_a_reply_that_is_let_go_is_read_again(store: Store) -> None:
    talk = two_turns(store)
    exchange = talk.exchanges[0]
    tokens = list(exchange.trace.tokens)
    exchange.looked_into = True
    talk.unload(exchange)
    assert exchange.trace.tokens == tokens
    exchange.looked_into = False
    talk.unload(exchange)
    assert (exchange.text, exchange.trace.tokens) == ("One.", [])
    talk.load(exchange)
    assert (exchange.text, exchange.trace.tokens) == ("One.", tokens)


def test_answering_anew_keeps_the_first_reply(store: Store) -> None:
    """The new one is the second of two, and the first can be gone back to with what followed it."""
    talk = two_turns(store)
    first = talk.exchanges[0]
    waiting = talk.again(first)
    assert said(talk) == [("First", "")]
    assert talk.versions(waiting) == ((1, 1), (2, 2))
    say(talk, waiting, "Uno.")
    assert talk.versions(waiting) == ((1, 1), (2, 2))
    assert talk.turn_to(waiting, -1) is talk.exchanges[0]
    assert said(talk) == [("First", "One."), ("Second", "Two.")]
    assert talk.turn_to(talk.exchanges[0], -1) is None


def test_asking_in_other_words_is_a_branch(store: Store) -> None:
    talk = two_turns(store)
    waiting = talk.resend(talk.exchanges[1], "Third")
    assert [message.content for message in talk.messages(waiting)] == ["First", "One.", "Third"]
    say(talk, waiting, "Three.")
    assert said(talk) == [("First", "One."), ("Third", "Three.")]
    assert talk.versions(talk.exchanges[1]) == ((2, 2), (1, 1))
    assert talk.turn_to(talk.exchanges[1], -1) is talk.exchanges[1]
    assert said(talk)[1] == ("Second", "Two.")


def test_what_stays_in_place_stays_the_same_object(store: Store) -> None:
    """So that nothing of it has to be drawn again."""
    talk = two_turns(store)
    first = talk.exchanges[0]
    talk.resend(talk.exchanges[1], "Third")
    assert talk.exchanges[0] is first


def test_a_reply_that_is_gone_on_with_joins_exactly(store: Store) -> None:
    """The engine is given what stands there; text, tokens and counts are those of both runs, stored and shown."""
    talk = Talk(store.begin())
    exchange = say(talk, Exchange("Count"), "One, two,", FinishReason.LENGTH)
    before_n = len(exchange.trace.tokens)
    assert talk.carry_on(exchange) is exchange
    assert exchange.text == "One, two,"
    say(talk, exchange, " three.")
    assert exchange.text == "One, two, three."
    assert len(exchange.trace.tokens) == exchange.reply.timings.predicted_n > before_n
    assert sum(exchange.trace.counts(Mode.ORIGIN).values()) == len(exchange.trace.tokens)
    again = Talk(talk.stored)
    again.load(again.exchanges[0])
    assert again.exchanges[0].text == "One, two, three."
    assert again.exchanges[0].trace.tokens == exchange.trace.tokens


def test_a_reply_that_was_edited_by_hand_can_be_gone_on_with(store: Store) -> None:
    talk = Talk(store.begin())
    exchange = say(talk, Exchange("Count"), "One, two.")
    edited = talk.rewrite(exchange, "One, zwei,")
    assert (edited.text, talk.versions(edited)) == ("One, zwei,", ((1, 1), (2, 2)))
    talk.carry_on(edited)
    say(talk, edited, " drei.")
    assert edited.text == "One, zwei, drei."
    assert edited.lead == "One, zwei,"


def test_a_deleted_turn_comes_back(store: Store) -> None:
    """Where it was, with what followed it."""
    talk = two_turns(store)
    talk.delete(talk.exchanges[0])
    assert said(talk) == [("Second", "Two.")]
    back = talk.undo()
    assert back is not None
    assert (back.prompt, said(talk)) == ("First", [("First", "One."), ("Second", "Two.")])
    assert talk.undo() is None


def test_a_conversation_that_begins_with_a_reply_is_shown(store: Store) -> None:
    """As some imported ones do: the reply stands alone, and cannot be asked for anew."""
    talk = two_turns(store)
    first = talk.exchanges[0]
    assert first.question is not None
    talk.stored.edit(first.question, "")
    alone = Exchange("", None, talk.exchanges[0].answer, lead="Hello")
    with pytest.raises(ValueError, match="nothing was asked"):
        talk.again(alone)
    with pytest.raises(ValueError, match="nothing was asked"):
        talk.resend(alone, "x")
    with pytest.raises(ValueError, match="nothing was answered"):
        talk.carry_on(Exchange("x"))


def test_text_whose_tokens_cannot_be_read_is_still_text(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = two_turns(store)
    again = Talk(talk.stored)

    def refuse(node: str) -> None:
        raise StoreError("locked", "later")

    monkeypatch.setattr(talk.stored, "reply", refuse)
    again.load(again.exchanges[0])
    assert (again.exchanges[0].text, again.exchanges[0].trace.tokens) == ("One.", [])


def test_roles_are_paired(store: Store) -> None:
    """A question without a reply, and the one after it."""
    talk = Talk(store.begin())
    talk.stored.ask("First")
    talk.stored.ask("Second")
    talk.refresh()
    assert [(exchange.prompt, exchange.answer) for exchange in talk.exchanges] == [("First", None), ("Second", None)]
    assert [node.role for node in talk.stored.path] == [Role.USER, Role.USER]
