"""The calls of a reply in a chat: approved, made once, stored, replied to, limited, and stopped at every moment."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.changes import Called, Change, GoesOn
from localspec.chat.pacing import Pacer
from localspec.chat.session import ChatSession
from localspec.chat.tools.approvals import Approval, Approvals
from localspec.chat.tools.chain import AT_LIMIT, NOT_MADE, REFUSED, STOPPED, CallChain, CallState
from localspec.chat.tools.toolbox import CallResult
from localspec.engine.events import Finished, FinishReason
from localspec.runtime.chat_config import ToolChoice
from localspec.runtime.messages import Message, ReplyOptions, Role, ToolCall
from localspec.runtime.worker.messages import Emitted
from tests.tui.support import LAUNCH, Clock, FakeEngine

FILES = ("read_file", "get_time")


class World:
    """A chat session over a fake engine, whose replies call tools."""

    def __init__(self, folder: Path, *, most: int = 20) -> None:
        (folder / "a.txt").write_text("secret words")
        choice = ToolChoice(tool=FILES, tool_folder=folder, max_calls=most)
        self.engine = FakeEngine()
        self.session = ChatSession(replace(LAUNCH, tools=choice), self.engine, Pacer(None, Clock()))
        self.session.tool_use.approvals = Approvals(folder / "approvals.json")
        self.engine.load()
        self.hear()

    def hear(self) -> list[Change]:
        for answer in self.engine.inbox.take():
            self.session.receive(answer)
        return self.session.advance()

    def reply(self, *calls: ToolCall, reason: FinishReason = FinishReason.STOP) -> list[Change]:
        """Let the engine end its reply, with these calls."""
        timings = self.engine.tally.timings()
        finished = Finished(reason, "", timings, calls if reason is FinishReason.STOP else ())
        self.engine.inbox.put(Emitted(self.engine.prompts[-1].request_id, finished))
        return self.hear()

    def settle(self) -> None:
        """Go on until the user is asked, or the calls are over."""
        chain = self.session.tool_use.chain
        while chain is not None and chain.asking is None:
            chain.wait(5.0)
            self.hear()
            chain = self.session.tool_use.chain

    @property
    def chain(self) -> CallChain:
        """The calls under way."""
        assert self.session.tool_use.chain is not None
        return self.session.tool_use.chain

    @property
    def prompt(self) -> tuple[Message, ...]:
        """What the engine was asked last."""
        prompt = self.engine.prompts[-1].prompt
        assert not isinstance(prompt, str)
        return prompt

    @property
    def results(self) -> list[str]:
        return [node.content for node in self.session.stored.path if node.role is Role.TOOL]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def read(number: int = 1, path: str = "a.txt") -> ToolCall:
    return ToolCall(f"c{number}", "read_file", f'{{"path": "{path}"}}')


def test_a_call_is_approved_made_and_replied_to(world: World) -> None:
    """The tools go to the engine; the result is stored with its call, and the next reply reads both."""
    session = world.session
    first = session.ask("Read it.")
    assert [tool.name for tool in world.engine.prompts[-1].options.tools] == list(FILES)
    changes = world.reply(read(), ToolCall("c2", "get_time", "{}"))
    assert any(isinstance(change, Called) for change in changes)
    assert (session.free, session.busy, len(world.engine.prompts)) == (False, False, 1)
    session.ask("And then?")
    session.decide(Approval.ONCE)
    world.settle()
    assert world.results[0] == "secret words"
    assert [node.call for node in first.results] == [read(), ToolCall("c2", "get_time", "{}")]
    assert [message.role for message in world.prompt] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL]
    world.reply()
    assert world.prompt[-1].content == "And then?"


def test_what_is_read_ahead_begins_as_the_next_prompt_will(world: World) -> None:
    """With the tools, which stand before all messages, and the reasoning, which some templates put there."""
    world.session.adopt(replace(world.session.chat_config, reply=ReplyOptions(reasoning="off")))
    world.session.ask("Hello.")
    world.reply()
    world.session.read_ahead("A long message. " * 40)
    world.hear()
    assert [tool.name for tool in world.engine.ahead[-1].tools] == list(FILES)
    assert world.engine.ahead[-1].reasoning == "off"


def test_a_refused_call_is_told_to_the_model(world: World) -> None:
    """Nothing is run, the model hears so, and never holds from then on without a question."""
    world.session.ask("Read it.")
    world.reply(read())
    world.session.decide(Approval.NEVER)
    assert any(isinstance(change, GoesOn) for change in world.hear())
    world.settle()
    world.reply(read(2), ToolCall("c3", "no_such_tool", "{}"), ToolCall("c4", "read_file", '{"path": "../x"}'))
    world.settle()
    assert world.results == [REFUSED, REFUSED, "There is no tool no_such_tool.", REFUSED]


def test_approval_lasts_for_the_conversation(world: World) -> None:
    """The second call is made without a question; in another conversation it is asked about again."""
    world.session.ask("Read it.")
    world.reply(read())
    world.session.decide(Approval.CONVERSATION)
    world.settle()
    world.reply(read(2, "gone.txt"))
    world.settle()
    assert world.results == ["secret words", "There is no file gone.txt. list_files tells what there is."]
    world.reply()
    world.session.turn_to(world.session.store.begin())
    world.session.ask("Read it.")
    world.reply(read())
    assert world.chain.asking is not None


def test_stopping_ends_the_calls_at_every_moment(world: World) -> None:
    """While the user is asked, and while a call runs: each call has a result, none is made, and nothing goes on."""
    session = world.session
    session.ask("Read it.")
    world.reply(read(), read(2))
    session.stop()
    world.hear()
    assert (world.results, session.free, len(world.engine.prompts)) == ([NOT_MADE, NOT_MADE], True, 1)
    session.ask("Again.")
    world.reply(read(3))
    world.chain.decide(Approval.ONCE)
    assert world.chain.calls[0].state is CallState.RUNNING
    session.stop()
    assert world.results[2:] == [STOPPED]
    assert (session.free, len(world.engine.prompts)) == (True, 2)


def test_stopping_ends_the_wait_for_a_call_under_way(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way: Future[CallResult] = Future()
    monkeypatch.setattr(world.session.tool_use.toolbox, "call", lambda tool, call: under_way)
    world.session.ask("Read it.")
    world.reply(read())
    world.session.decide(Approval.ONCE)
    world.session.stop()
    assert under_way.cancelled()


def test_a_tool_that_changed_since_it_was_allowed_always_is_asked_about(world: World) -> None:
    """And the question says so."""
    session = world.session
    session.ask("Read it.")
    world.reply(read())
    call = world.chain.asking
    assert call is not None
    assert call.tool is not None
    assert not call.changed
    before = replace(call.tool, tool=replace(call.tool.tool, description="Reads less."))
    session.tool_use.approvals.decide(before, "another conversation", Approval.ALWAYS)
    session.decide(Approval.ONCE)
    world.settle()
    world.reply(read(2))
    assert world.chain.asking is not None
    assert world.chain.asking.changed


def test_a_call_without_arguments_is_one_with_none(world: World) -> None:
    """As some templates write it."""
    world.session.ask("What time is it?")
    world.reply(ToolCall("c1", "get_time", ""))
    world.settle()
    assert "JSON" not in world.results[0]


def test_a_reply_that_was_cut_off_calls_nothing(world: World) -> None:
    """Its calls never reach the chat."""
    world.session.ask("Read it.")
    world.reply(read(), reason=FinishReason.LENGTH)
    assert (world.session.tool_use.chain, world.results) == (None, [])


def test_a_call_that_cannot_be_read_is_told_to_the_model(world: World) -> None:
    """As a result without a name, which counts as a call in a row, so that the model may write it again."""
    world.session.ask("Read it.")
    finished = Finished(FinishReason.STOP, "", world.engine.tally.timings(), (), "It is not JSON.")
    world.engine.inbox.put(Emitted(world.engine.prompts[-1].request_id, finished))
    world.hear()
    world.settle()
    assert (world.prompt[-1].content, world.prompt[-1].name, world.results) == (
        "It is not JSON.",
        "",
        ["It is not JSON."],
    )


def test_calls_in_a_row_have_a_limit(tmp_path: Path) -> None:
    """Then nothing is called and nothing goes on, until the user writes again."""
    world = World(tmp_path, most=2)
    world.session.ask("Go on for ever.")
    clock = ToolCall("c", "get_time", "{}")
    world.reply(clock)
    world.settle()
    world.reply(clock, clock)
    world.settle()
    assert (world.results[2:], len(world.engine.prompts)) == ([AT_LIMIT], 2)
    world.session.ask("Go on.")
    world.reply(clock)
    world.settle()
    assert world.results[3] != AT_LIMIT


def test_another_conversation_ends_the_calls(world: World) -> None:
    """They are stored as not made in the conversation that is left, and the next one is free."""
    left = world.session.stored
    world.session.ask("Read it.")
    world.reply(read())
    world.session.turn_to(world.session.store.begin())
    assert [node.content for node in left.path][-1] == NOT_MADE
    assert world.session.free
