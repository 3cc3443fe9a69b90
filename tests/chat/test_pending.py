"""Messages that wait come back as they were written, marks and all."""

from __future__ import annotations

from localspec.chat.compose.message import Enclosures
from localspec.chat.pending import PendingMessages
from tests.chat.test_pair_slot import begun, hear

LONG = "a line\n" * 40


def test_what_is_sent_is_the_content_and_what_comes_back_is_what_was_written() -> None:
    """A long paste is a mark in the line; the model is asked with its text."""
    session, engine = begun()
    pending = PendingMessages(session)
    enclosures = Enclosures()
    first = enclosures.written("Hello")
    second = enclosures.written(f"See {enclosures.fold(LONG)}")
    assert not pending.waits(pending.ask(first))
    turn = pending.ask(second)
    assert pending.waits(turn)
    assert LONG.strip() in turn.prompt
    assert turn.shown == second.shown
    assert pending.withdraw() == (turn, second)
    assert pending.withdraw() is None
    assert [request.prompt[-1].content for request in engine.prompts] == ["Hello"]  # type: ignore[union-attr]


def test_stopping_gives_back_all_that_waited_in_the_order_it_was_sent() -> None:
    """But not the message whose reply had begun, and nothing twice."""
    session, engine = begun()
    pending = PendingMessages(session)
    enclosures = Enclosures()
    messages = [enclosures.written(text) for text in ("One", "Two", "Three")]
    turns = [pending.ask(message) for message in messages]
    engine.start()
    for turn in turns[:1]:
        pending.begun(turn)
    hear(session, engine)
    withdrawn = session.stop()
    assert pending.taken_back([turns[0], *withdrawn]) == messages[1:]
    assert pending.taken_back(withdrawn) == []


def test_a_question_that_is_to_be_answered_anew_is_not_given_back() -> None:
    """It was said, and stays in the conversation."""
    session, engine = begun()
    pending = PendingMessages(session)
    first = pending.ask(Enclosures().written("One"))
    pending.begun(first)
    engine.reply("Yes.")
    hear(session, engine)
    pending.ask(Enclosures().written("Two"))
    session.queue(session.thread.again(first))
    assert pending.withdraw() is None
    assert pending.taken_back(session.stop()) == []
