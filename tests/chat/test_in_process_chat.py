"""A conversation with a pair in this process: what stays of each reply, and what an error leaves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from localspec.base.errors import EngineError, ModelFileError
from localspec.chat.in_process import InProcessChat
from localspec.chat.pair_slot import InProcessPair
from localspec.engine.events import Event, FinishReason
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import ReplyOptions, Role
from tests.chat.test_in_process_pair import chat_config
from tests.cli.support import FakeWorld


def ignore(event: Event) -> None:
    """Show nothing."""


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


@pytest.fixture
def chat(world: FakeWorld) -> Iterator[InProcessChat]:
    first = chat_config("first")
    config = ChatConfig(first.load, ReplyOptions(max_tokens=5), title="first")
    with InProcessPair(world.open_pair, config) as pair:
        chat = InProcessChat(pair)
        yield chat
        chat.store.close()


def test_the_tokens_of_earlier_replies_are_let_go_and_read_again(chat: InProcessChat) -> None:
    """A long conversation takes no more memory for them; the store has all."""
    first = chat.ask("hello there")
    reply = chat.answer(first, ignore)
    tokens = list(reply.tokens)
    assert tokens
    second = chat.ask("and then")
    chat.answer(second, ignore)
    assert (first.loaded, first.reply.tokens, first.text) == (False, [], reply.text)
    assert chat.last is second
    chat.thread.load(first)
    assert first.reply.tokens == tokens


def test_a_reply_that_is_gone_on_with_keeps_its_tokens_and_its_figures(chat: InProcessChat) -> None:
    turn = chat.ask("hello there")
    before = list(chat.answer(turn, ignore).tokens)
    assert turn.reply.finished is FinishReason.LENGTH
    reply = chat.answer(chat.thread.carry_on(turn), ignore)
    assert reply.tokens[: len(before)] == before
    assert reply.timings.predicted_n == len(reply.tokens) > len(before)
    stored = chat.stored.reply(turn.answer or "")
    assert stored is not None
    assert [len(part.tokens) for part in stored.parts] == [len(before), len(reply.tokens) - len(before)]


def test_a_question_stays_if_its_reply_fails_and_can_be_answered_later(chat: InProcessChat, world: FakeWorld) -> None:
    """Without a reply if no pair could be loaded for it, with a broken one if it failed."""
    world.load_error = ModelFileError("No.")
    with pytest.raises(ModelFileError):
        chat.switch(chat_config("second"))
    turn = chat.ask("hello there")
    with pytest.raises(ModelFileError):
        chat.answer(turn, ignore)
    assert [node.role for node in chat.stored.path] == [Role.USER]
    world.load_error, world.reply_error = None, EngineError("It stopped.")
    with pytest.raises(EngineError):
        chat.answer(turn, ignore)
    assert turn.reply.error is world.reply_error
    world.reply_error = None
    world.pairs[-1].error = None
    chat.answer(chat.thread.again(turn), ignore)
    assert [node.role for node in chat.stored.path] == [Role.USER, Role.ASSISTANT]
    assert chat.thread.versions(chat.thread.turns[-1]) == ((1, 1), (2, 2))
