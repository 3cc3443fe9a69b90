"""Tools on the chat screen: the question before a call, the rows of calls, and the list with its switches."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from localspec.chat.tools.approvals import Approvals
from localspec.chat.tools.chain import NOT_MADE, REFUSED
from localspec.chat.tools.offered import Resource, ServerPrompt
from localspec.chat.tools.toolbox import Toolbox
from localspec.config import read_config
from localspec.engine.events import Finished, FinishReason
from localspec.runtime.chat_config import ToolChoice
from localspec.runtime.messages import Role, ToolCall
from localspec.runtime.worker.messages import Emitted
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.approval import ApprovalScreen
from localspec.tui.screens.tools import ToolsScreen
from tests.tui.support import LAUNCH, FakeEngine, chat, make_app, notice_text, send, session, views, wait_until

ARGUMENTS = '{"path": "a.txt", "more": "\x1b]0;owned\x07"}'


def call(engine: FakeEngine, *calls: ToolCall) -> None:
    """End the reply under way with these calls."""
    finished = Finished(FinishReason.STOP, "", engine.tally.timings(), calls)
    engine.inbox.put(Emitted(engine.prompts[-1].request_id, finished))


def results(pilot: Pilot[Any]) -> list[str]:
    return [node.content for node in session(pilot).stored.path if node.role is Role.TOOL]


@pytest.mark.parametrize(
    ("keys", "result", "goes_on"),
    [
        (("enter",), REFUSED, True),
        (("down", "enter"), "words", True),
        (("escape",), NOT_MADE, False),
    ],
)
async def test_a_call_is_made_if_the_user_says_so(
    keys: tuple[str, ...], result: str, goes_on: bool, tmp_path: Path
) -> None:
    """The first answer allows nothing; the arguments are shown harmlessly; the row has the result, folded."""
    (tmp_path / "a.txt").write_text("words")
    engine = FakeEngine()
    choice = ToolChoice(tool=("read_file",), tool_folder=tmp_path)
    app = make_app(engine, replace(LAUNCH, tools=choice))
    app.session.tool_use.approvals = Approvals(tmp_path / "approvals.json")
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await send(pilot, "Read it.")
        await wait_until(pilot, lambda: engine.prompts)
        wanted = ARGUMENTS if result != "words" else '{"path": "a.txt"}'
        call(engine, ToolCall("c1", "read_file", wanted))
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        shown = " ".join(str(each.render()) for each in app.screen.query(Static))
        assert "read_file" in shown
        assert "\x1b" not in shown
        await pilot.press(*keys)
        await wait_until(pilot, lambda: results(pilot) == [result] and session(pilot).free is not goes_on)
        rows = views(pilot)[0].calls
        await wait_until(pilot, lambda: rows.display and result in str(rows.render()))
        assert len(engine.prompts) == (2 if goes_on else 1)
        if goes_on:
            engine.reply("Done.")
            await wait_until(pilot, lambda: session(pilot).free and len(views(pilot)) == 2)
        await send(pilot, "/calls")
        await wait_until(pilot, lambda: "▾" in str(rows.render()))


async def test_somebody_who_types_is_not_interrupted(tmp_path: Path) -> None:
    """The question waits for its command; the keys go on into the prompt."""
    engine = FakeEngine()
    app = make_app(engine, replace(LAUNCH, tools=ToolChoice(tool=("read_file",), tool_folder=tmp_path)))
    app.session.tool_use.approvals = Approvals(tmp_path / "approvals.json")
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await send(pilot, "Read it.")
        await wait_until(pilot, lambda: engine.prompts)
        await pilot.press("n", "o")
        call(engine, ToolCall("c1", "read_file", "{}"))
        chain = session(pilot).tool_use
        await wait_until(pilot, lambda: chain.chain is not None and chain.chain.asking is not None)
        await pilot.press("w")
        assert app.screen is chat(pilot)
        await pilot.press("alt+shift+c")
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))


async def test_tools_are_switched_in_their_list() -> None:
    """Each switch is in the file of settings at once; /tools and a name does the same."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await send(pilot, "/tools")
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen))
        assert app.screen.query_one(OptionList).option_count == 5
        await pilot.press("space", "down", "enter")
        assert read_config().values["tools.tool"] == ("count_words", "get_time")
        await pilot.press("escape")
        await send(pilot, "/tools get_time")
        await wait_until(pilot, lambda: read_config().values.get("tools.tool") == ("count_words",))


async def test_a_server_that_cannot_be_reached_is_told() -> None:
    """The message is answered without its tools."""
    engine = FakeEngine()
    app = make_app(engine, replace(LAUNCH, tools=ToolChoice(mcp=("lost",))))
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await send(pilot, "Hello")
        await wait_until(pilot, lambda: engine.prompts)
        await wait_until(pilot, lambda: "no MCP server lost" in notice_text(pilot))
        assert engine.prompts[-1].options.tools == ()


class Box(Toolbox):
    """A server with a resource and a prompt."""

    @property
    def resources(self) -> tuple[Resource, ...]:
        return (Resource("tests", "notes://today", "The notes of today."),)

    @property
    def prompts(self) -> tuple[ServerPrompt, ...]:
        return (ServerPrompt("tests", "greet", "A greeting."),)

    def read(self, resource: Resource) -> Future[str]:
        return done("buy apples")

    def write(self, prompt: ServerPrompt, values: Mapping[str, str]) -> Future[str]:
        return done("Hello there.")


def done(text: str) -> Future[str]:
    future: Future[str] = Future()
    future.set_result(text)
    return future


async def test_resources_are_mentioned_and_prompts_are_commands() -> None:
    """A resource is offered behind an @, and goes along as a file does; a prompt is put into the prompt."""
    engine = FakeEngine()
    app = make_app(engine)
    app.session.tool_use.toolbox = Box()
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        prompt = chat(pilot).query_one(Prompt)
        await pilot.press(*"What is in @tests:no")
        await wait_until(pilot, lambda: "tests:notes://today" in str(prompt.query_one(CompletionList).choice))
        await pilot.press("enter")
        await wait_until(pilot, lambda: prompt.enclosures.knows("tests:notes://today"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.prompts)
        assert "File: tests:notes://today" in str(engine.prompts[-1].prompt[-1])
        await send(pilot, "/prompt")
        await wait_until(pilot, lambda: "tests.greet" in notice_text(pilot))
        await send(pilot, "/prompt tests.greet")
        await wait_until(pilot, lambda: prompt.area.text == "Hello there.")
