"""Tools on the chat screen: the question before a call, the rows of calls, and the list with its switches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.selection import SELECT_ALL
from textual.widgets import Markdown, OptionList, Static

from localspec.base.errors import ConfigError
from localspec.chat.thread import Thread
from localspec.chat.tools.approvals import Approvals
from localspec.chat.tools.browser import ToolBrowser
from localspec.chat.tools.chain import NOT_MADE, REFUSED
from localspec.chat.tools.offered import OfferedTool, Resource, ServerPrompt
from localspec.chat.tools.toolbox import Toolbox
from localspec.chat.tools.use import ToolUse
from localspec.config import config_file, read_config
from localspec.runtime.chat_config import ToolChoice
from localspec.runtime.messages import Message, Role, Tool, ToolCall
from localspec.tui.app import ChatApp
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.approval import ApprovalScreen
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.tools import ToolsScreen
from localspec.tui.tokens.token_view import TokenView
from localspec.tui.widgets.sidebar import Sidebar
from tests.config.support import configure
from tests.store.support import open_store
from tests.tui.cells import text
from tests.tui.settings_support import settings_app
from tests.tui.support import (
    LAUNCH,
    FakeEngine,
    chat,
    drawn_n,
    make_app,
    make_round,
    notice_text,
    send,
    session,
    turns_shown,
    views,
    wait_until,
)

ARGUMENTS = '{"path": "a.txt", "more": "\x1b]0;owned\x07"}'


def results(pilot: Pilot[Any]) -> list[str]:
    return [node.content for node in session(pilot).stored.path if node.role is Role.TOOL]


@asynccontextmanager
async def asked_to_read(folder: Path, columns: int = 80) -> AsyncIterator[tuple[Pilot[None], FakeEngine, ChatApp]]:
    """A chat whose model may read files below a folder, and has been asked to."""
    engine = FakeEngine()
    app = make_app(engine, replace(LAUNCH, tools=ToolChoice(tool=("read_file",), tool_folder=folder)))
    app.session.tool_use.approvals = Approvals(folder / "approvals.json")
    async with app.run_test(size=(columns, 24)) as pilot:
        engine.load()
        await send(pilot, "Read it.")
        await wait_until(pilot, lambda: engine.prompts)
        yield pilot, engine, app


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
    async with asked_to_read(tmp_path) as (pilot, engine, app):
        wanted = ARGUMENTS if result != "words" else '{"path": "a.txt"}'
        engine.call(ToolCall("c1", "read_file", wanted))
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


async def test_what_goes_on_from_a_call_stands_above_the_messages_that_wait(tmp_path: Path) -> None:
    """It is replied to before them."""
    (tmp_path / "a.txt").write_text("words")
    async with asked_to_read(tmp_path) as (pilot, engine, app):

        async def reply(asked_n: int, text: str) -> None:
            await wait_until(pilot, lambda: len(engine.prompts) == asked_n)
            engine.reply(text)

        await send(pilot, "One more.")
        await send(pilot, "And another.")
        engine.call(ToolCall("c1", "read_file", '{"path": "a.txt"}'))
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await pilot.press("down", "enter")
        await reply(2, "These are words.")
        await reply(3, "More.")
        await reply(4, "Another.")
        await wait_until(pilot, lambda: session(pilot).free)
        assert turns_shown(pilot)[1:] == [
            ("", "These are words."),
            ("One more.", "More."),
            ("And another.", "Another."),
        ]


async def test_a_wider_terminal_shows_more_of_a_call(tmp_path: Path) -> None:
    """And a narrower one less, in one row."""
    async with asked_to_read(tmp_path, 60) as (pilot, engine, app):
        path = "garden/tomatoes.txt"
        engine.call(ToolCall("c1", "read_file", f'{{"path": "{path}"}}'))
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        rows = views(pilot)[0].calls
        await wait_until(pilot, lambda: "read_file" in str(rows.render()) and path not in str(rows.render()))
        await pilot.resize_terminal(140, 24)
        await wait_until(pilot, lambda: path in str(rows.render()))
        await pilot.resize_terminal(60, 24)
        await wait_until(pilot, lambda: path not in str(rows.render()))
        await pilot.press("escape")
        await wait_until(pilot, lambda: session(pilot).free)


async def test_a_folded_call_is_one_row_in_any_script(tmp_path: Path) -> None:
    """Also where each character takes two cells; unfolded it is all there."""
    (tmp_path / "a.txt").write_text("読" * 100)
    async with asked_to_read(tmp_path) as (pilot, engine, app):
        engine.call(ToolCall("c1", "read_file", '{"path": "a.txt"}'))
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await pilot.press("down", "enter")
        rows = views(pilot)[0].calls
        await wait_until(pilot, lambda: "→ 読" in str(rows.render()))
        await wait_until(pilot, lambda: rows.size.height == 1)
        rows.turn()
        await wait_until(pilot, lambda: rows.size.height == 4)


async def test_the_markup_of_calls_is_not_shown(tmp_path: Path) -> None:
    """Neither while it is written nor after, as tokens, as Markdown, copied or restored; the inspector has it."""
    engine, store = FakeEngine(), open_store(tmp_path / "talk.db")
    app = make_app(engine, replace(LAUNCH, tools=ToolChoice(tool=("get_time",))), store=store)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await send(pilot, "What time is it?")
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        engine.write([replace(make_round(["It", " is", " <tool"]), held_n=6)])
        turn = session(pilot).current
        await wait_until(pilot, lambda: drawn_n(pilot) == 2)
        engine.call(ToolCall("c1", "get_time", "{}"), said=" here.")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert engine.prompts[1].prompt[-2] == Message(Role.ASSISTANT, "It is <tool here.", turn.reply.calls)
        engine.reply("Noon.")
        await wait_until(pilot, lambda: session(pilot).free and len(views(pilot)) == 2)
        assert "<tool_call>" in turn.text
        view = views(pilot)[0].reply
        await wait_until(pilot, lambda: view.query(Markdown))
        assert view.query_one(Markdown).source == "It is <tool here."
        await pilot.press("ctrl+t")
        await wait_until(pilot, lambda: view.tokens.display)
        assert view.tokens.get_selection(SELECT_ALL) == ("It is <tool here.", "\n")
        await pilot.press("alt+up", "alt+up", "f5")
        await wait_until(pilot, lambda: isinstance(app.screen, InspectorScreen))
        inspected = app.screen.query_one(TokenView).get_selection(SELECT_ALL)
        assert inspected is not None
        assert "<tool_call>get_time" in inspected[0]
        turn.unload()
        assert turn.said == "It is <tool here."
    thread = Thread(store.open_conversation(store.conversations()[0].heading.id))
    assert thread.turns[0].said == "It is <tool here."


async def test_the_question_before_a_call_is_edited() -> None:
    """The reply that goes on from a call has no question of its own, so /edit and its key mean the one above."""
    engine = FakeEngine()
    app = make_app(engine, replace(LAUNCH, tools=ToolChoice(tool=("get_time",))))
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await send(pilot, "What time is it?")
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        engine.call(ToolCall("c1", "get_time", "{}"))
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        engine.reply("Noon.")
        await wait_until(pilot, lambda: session(pilot).free and len(views(pilot)) == 2)
        await send(pilot, "/edit")
        prompt = pilot.app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: prompt.area.text == "What time is it?")
        await pilot.press("end", "exclamation_mark", "enter")
        await wait_until(pilot, lambda: len(engine.prompts) == 3)
        assert engine.prompts[2].prompt[-1] == Message(Role.USER, "What time is it?!")
        assert len(views(pilot)) == 1


async def test_somebody_who_types_is_not_interrupted(tmp_path: Path) -> None:
    """The question waits for its command; the keys go on into the prompt."""
    async with asked_to_read(tmp_path) as (pilot, engine, app):
        await pilot.press("n", "o")
        engine.call(ToolCall("c1", "read_file", "{}"))
        chain = session(pilot).tool_use
        await wait_until(pilot, lambda: chain.chain is not None and chain.chain.asking is not None)
        await pilot.press("w")
        assert app.screen is chat(pilot)
        await pilot.press("alt+shift+c")
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))


@pytest.mark.parametrize("key", ["f9", "f7"])
async def test_somebody_who_is_elsewhere_is_not_interrupted_either(key: str, tmp_path: Path) -> None:
    """On the screen of settings or in the list of conversations Enter is meant for what is marked there."""
    async with asked_to_read(tmp_path, 120) as (pilot, engine, app):
        await pilot.press(key)
        await wait_until(pilot, lambda: app.screen is not chat(pilot) or chat(pilot).query(Sidebar))
        elsewhere = app.screen
        engine.call(ToolCall("c1", "read_file", "{}"))
        await wait_until(pilot, lambda: "read_file waits for your answer" in notice_text(pilot))
        assert app.screen is elsewhere
        await pilot.press("escape", "alt+shift+c")
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))


async def test_on_a_low_screen_the_list_has_its_keys() -> None:
    app = make_app(FakeEngine())
    async with app.run_test(size=(60, 15)) as pilot:
        await send(pilot, "/tools")
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen) and app.screen.query("#tools-keys"))
        await pilot.pause()
        for part in ("#tools-note", "#tools-keys"):
            assert app.screen.query_one("#tools").region.contains_region(app.screen.query_one(part).region)


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
        screen = app.screen
        assert isinstance(screen, ToolsScreen)
        screen.move(1)
        screen.switch()  # before the list has said what is marked now
        assert read_config().values["tools.tool"] == ("calculate", "count_words", "get_time")
        screen.switch()
        await pilot.press("escape")
        await send(pilot, "/tools get_time")
        await wait_until(pilot, lambda: read_config().values.get("tools.tool") == ("count_words",))


async def test_what_the_list_shows_is_what_the_next_message_offers() -> None:
    """Also if another program has changed the file since."""
    engine = FakeEngine()
    app = settings_app(engine, "")
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        configure('[tools]\ntool = ["get_time"]\n')
        await send(pilot, "/tools")
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen))
        await pilot.press("escape")
        await send(pilot, "Hello")
        await wait_until(pilot, lambda: engine.prompts)
        assert [tool.name for tool in engine.prompts[-1].options.tools] == ["get_time"]


async def test_a_long_list_of_tools_is_paged() -> None:
    """To its end and back."""
    configure("".join(f'[mcp.s{i}]\ncommand = "uvx"\n' for i in range(40)))
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await send(pilot, "/tools")
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen))
        rows = app.screen.query_one(OptionList)
        await pilot.press(*["pagedown"] * 9)
        assert rows.highlighted == rows.option_count - 1
        await pilot.press(*["pageup"] * 9)
        assert rows.highlighted == 0


class Known(Toolbox):
    """A server that was reached; it has two tools."""

    @property
    def known(self) -> tuple[OfferedTool, ...]:
        return tuple(OfferedTool(Tool(name, "", "{}"), "notes", "uvx", name) for name in ("read", "write"))


def test_a_server_says_how_many_of_its_tools_are_on() -> None:
    """Or that it has not been reached."""
    one = '[mcp.notes]\ncommand = "uvx"\n[tools]\ntool = ["notes.read"]\n'
    configure(one)
    for toolbox, note in ((Known(), "1 of 2 tools"), (Toolbox(), "not reached yet; each message tries again")):
        toolbox.choose(ToolChoice(tool=("notes.read",)), read_config().servers)
        rows = ToolBrowser(ToolUse(toolbox), read_config(), "").rows
        assert next(row.note for row in rows if row.id == "notes") == note


def test_a_switch_writes_both_of_its_settings_or_neither() -> None:
    """A server with one of its tools switched off becomes its other tools; a file that cannot take those keeps it."""
    twice = '[mcp.notes]\ncommand = "uvx"\n[tools]\nmcp = ["notes"]\ntool = ["calculate"]\ntool = ["get_time"]\n'
    configure(twice)
    with pytest.raises(ConfigError, match="not changed safely"):
        ToolBrowser(ToolUse(Known()), read_config(), "").switch("notes.read")
    assert config_file().read_text() == twice
    configure(twice.replace('tool = ["get_time"]\n', ""))
    written = ToolBrowser(ToolUse(Known()), read_config(), "").switch("notes.read")
    assert (written.values["tools.tool"], written.values.get("tools.mcp")) == (("calculate", "notes.write"), None)


def test_the_list_tells_what_the_command_line_has_switched_on() -> None:
    """The switches are those of the file."""
    notes = '[mcp.notes]\ncommand = "uvx"\n'
    for on, chosen, note in (
        (False, ("notes",), "on from the command line"),
        (False, (), ""),
        (True, ("other",), "not in this chat: the command line chose others"),
    ):
        configure(notes + '[tools]\nmcp = ["notes"]\n' * on)
        use, config = ToolUse(), read_config()
        use.toolbox.choose(ToolChoice(mcp=chosen), config.servers)
        row = ToolBrowser(use, config, "").rows[-1]
        assert (row.id, row.on, row.note) == ("notes", on, note)
    use.toolbox.choose(ToolChoice(tool=("get_time",)), config.servers)
    configure('[tools]\ntool = ["calculate"]\n')
    time, _, calculate, *_ = ToolBrowser(use, read_config(), "").rows
    assert (time.on, time.note) == (False, "on from the command line · needs no approval")
    assert (calculate.on, calculate.note.partition(" · ")[0]) == (True, note)


class Leaving(Known):
    """The same server, which has ended once none of its tools is wanted."""

    @property
    def known(self) -> tuple[OfferedTool, ...]:
        return super().known if self.wanted_servers else ()

    def prepare(self) -> None:
        """Nothing is started."""


async def test_the_last_tool_of_a_server_is_switched_off_by_its_name() -> None:
    """Though its server has ended, and its row is gone, before that is said."""
    engine = FakeEngine()
    app = settings_app(engine, '[mcp.notes]\ncommand = "uvx"\n[tools]\ntool = ["notes.read"]\n')
    use = app.session.tool_use
    use.toolbox = Leaving()
    async with app.run_test(size=(100, 24)) as pilot:
        engine.load()
        use.reach(session(pilot).chat_config)
        assert len(use.toolbox.known) == 2
        await send(pilot, "/tools notes.read")
        await wait_until(pilot, lambda: "notes.read is off from the next message on." in notice_text(pilot))
        assert use.toolbox.known == ()
        assert "tools.tool" not in read_config().values


class Wordy(Leaving):
    """The same server, with more to say about a tool than there is room for."""

    @property
    def known(self) -> tuple[OfferedTool, ...]:
        return (OfferedTool(Tool("read", "Read a note. " * 60, "{}"), "notes", "uvx", "read"),)


async def test_why_a_switch_was_refused_is_shown_however_much_a_tool_says_of_itself() -> None:
    """And what is left out of that is marked."""
    app = settings_app(FakeEngine(), '[mcp.notes]\ncommand = "uvx"\n[tools]\ntool = []\ntool = ["notes.read"]\n')
    app.session.tool_use.toolbox = Wordy()
    async with app.run_test(size=(80, 24)) as pilot:
        await send(pilot, "/tools")
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen))
        await pilot.press(*["pagedown"] * 9)
        await wait_until(pilot, lambda: " …" in text(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "safely." in text(app))


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


class Starting(Toolbox):
    """A server that starts, and another that could not be started."""

    awaited = ("slow",)
    troubles = ("The server lost could not be started.",)

    def prepare(self) -> None:
        """Nothing is started."""


async def test_the_list_opens_while_servers_start_and_names_them() -> None:
    """It says as well which have failed by then."""
    engine = FakeEngine()
    app = settings_app(engine, "")
    app.session.tool_use.toolbox = Starting()
    async with app.run_test(size=(100, 30)) as pilot:
        engine.load()
        await send(pilot, "/tools")
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen))
        note = str(app.screen.query_one("#tools-note", Static).render())
        assert note.splitlines()[1:] == ["Waiting for slow …", "The server lost could not be started."]
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, ToolsScreen))


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
