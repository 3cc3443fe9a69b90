"""MCP servers, real ones over stdio and loopback HTTP: what they offer, and that hostile ones do no harm."""

from __future__ import annotations

import asyncio
import fcntl
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localspec.chat.tools.approvals import Approval, Approvals
from localspec.chat.tools.browser import ToolBrowser
from localspec.chat.tools.offered import OfferedTool
from localspec.chat.tools.own import OWN_TOOLS
from localspec.chat.tools.servers import ServerTrouble
from localspec.chat.tools.toolbox import MOST_RESULT, CallResult, Toolbox
from localspec.chat.tools.use import ToolUse
from localspec.chat.tools.wording import result_text
from localspec.config import Config
from localspec.config.servers import McpServer
from localspec.runtime.chat_config import ToolChoice
from localspec.runtime.images import images_in, plain_png_size
from localspec.runtime.messages import Tool, ToolCall

SCRIPT = Path(__file__).with_name("mcp_server.py")

Open = Callable[..., Toolbox]


def server(mode: str, notes: Path | None = None) -> McpServer:
    return McpServer("tests", sys.executable, (str(SCRIPT), mode, *([str(notes)] if notes else [])))


@pytest.fixture
def box() -> Iterator[Open]:
    """Makes a toolbox with one server that is reached, and closes it."""
    made: list[Toolbox] = []

    def open_box(*servers: McpServer, timeout: float = 600.0, tool: tuple[str, ...] = ()) -> Toolbox:
        toolbox = Toolbox()
        made.append(toolbox)
        named = {each.name: each for each in servers}
        toolbox.choose(ToolChoice(tool=tool, mcp=tuple(named), call_timeout=timeout), named)
        reach(toolbox)
        return toolbox

    yield open_box
    for toolbox in made:
        toolbox.close()


def reach(toolbox: Toolbox) -> None:
    """Start the servers that do not run, as before a message."""
    toolbox.prepare()
    toolbox.wait()


def begin(toolbox: Toolbox, name: str, arguments: str) -> Future[CallResult]:
    tool = toolbox.find(name)
    assert tool is not None
    return toolbox.call(tool, ToolCall("1", name, arguments))


def call(toolbox: Toolbox, name: str, **arguments: str) -> CallResult:
    return begin(toolbox, name, json.dumps(arguments)).result(60)


def test_a_server_and_our_own_tools_work_together(box: Open, tmp_path: Path) -> None:
    """Calls have results; failures, images and floods are told; sampling is refused; nothing is sent twice."""
    notes = tmp_path / "notes"
    toolbox = box(server("plain", notes), tool=("get_time", "nothing"))
    assert {"get_time", "echo", "picture"} <= {tool.name for tool in toolbox.tools}
    assert toolbox.troubles == ("There is no tool nothing; `localspec mcp list` and /tools list those there are.",)
    assert call(toolbox, "echo", text="a\x1bb") == CallResult("echo: a\x1bb")
    assert notes.read_text() == "a\x1bb\n"
    assert call(toolbox, "picture").text.startswith("[image of 204 bytes, image/png")
    (image,) = images_in(call(toolbox, "drawing").text)
    assert (image.width, image.height, plain_png_size(image.read())) == (2, 2, (2, 2))
    assert result_text(call(toolbox, "drawing").text) == "[image 1.png  image 2x2]\nDrawn."
    failed = call(toolbox, "fail")
    assert failed.failed
    assert "fail" in failed.text
    flood = call(toolbox, "flood")
    assert len(flood.text) < MOST_RESULT + 100
    assert flood.text.endswith("more characters were cut off]")
    refused = call(toolbox, "think")
    assert refused.failed
    assert "it said" not in refused.text
    for arguments in ("[]", "{", "[" * 100_000, '{"txt": 1}'):
        assert begin(toolbox, "echo", arguments).result(60).failed
    assert call(toolbox, "echo", text="still here").text == "echo: still here"


def test_a_server_that_died_between_messages_is_there_for_the_next(box: Open, tmp_path: Path) -> None:
    """Its end is noticed when its tools are listed again, and it is started at once."""
    notes = tmp_path / "notes"
    toolbox = box(server("mortal", notes))
    reach(toolbox)
    assert toolbox.troubles == ()
    assert call(toolbox, "plain").text == "plain"
    assert notes.read_text() == "begun\nbegun\n"


def test_an_odd_answer_costs_no_server(box: Open) -> None:
    """A result against its tool's schema is text as well; half a character is replaced; what is no MCP is told."""
    toolbox = box(server("odd"))
    assert toolbox.troubles == ()
    assert call(toolbox, "other") == CallResult("written")
    assert call(toolbox, "half") == CallResult("cut \ufffd and whole \U0001f600")
    told = call(toolbox, "video")
    assert told.failed
    assert "its answer is not valid MCP" in told.text
    assert begin(toolbox, "plain", '{"text": "\\ud83d"}').result(60).failed
    assert call(toolbox, "plain") == CallResult("plain")


def test_tools_that_no_model_can_call_are_counted_and_not_offered(box: Open, tmp_path: Path) -> None:
    """A name with a blank, none at all, and a second tool of one name, which stays the first's."""
    toolbox = box(server("odd"))
    assert [tool.name for tool in toolbox.tools] == ["other", "half", "video", "plain", "sleep", "die"]
    assert toolbox.left_out_n("tests") == 3
    config = Config(tmp_path / "config.toml", servers={"tests": server("odd")})
    row = next(row for row in ToolBrowser(ToolUse(toolbox), config, "").rows if row.id == "tests")
    assert row.note.endswith("6 tools, 3 left out for name, length or number")


def test_a_prompt_of_a_server_steers_no_terminal(box: Open) -> None:
    """Its text is cleaned as an attached file's is, and one without text is no message."""
    toolbox = box(server("odd"))
    coloured, empty = toolbox.prompts
    assert toolbox.write(coloured, {}).result(60) == "Read\nthis."
    with pytest.raises(ServerTrouble, match="wrote nothing for empty"):
        toolbox.write(empty, {}).result(60)


def test_a_server_that_dies_in_a_call_costs_that_call_alone(box: Open, tmp_path: Path) -> None:
    """The call fails with a sentence and is not made again; the next message starts the server anew."""
    notes = tmp_path / "notes"
    toolbox = box(server("odd", notes))
    died = call(toolbox, "die")
    assert died.failed
    assert died.text.startswith("The server tests could not run die: its program ended.")
    assert call(toolbox, "plain").text == "The server tests does not run any more."
    assert notes.read_text() == "begun\ndied\n"
    reach(toolbox)
    assert call(toolbox, "plain").text == "plain"
    assert notes.read_text() == "begun\ndied\nbegun\n"


class LateThread:
    """A thread that begins when it is waited for."""

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], **_: Any) -> None:
        self.join = lambda timeout: target(*args)

    def start(self) -> None:
        """Put it off."""


def test_the_last_words_of_a_server_are_waited_for(box: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come through a pipe of their own, which may be read after the end is known."""
    monkeypatch.setattr("localspec.chat.tools.servers.threading", SimpleNamespace(Thread=LateThread))
    (broken,) = box(server("broken")).troubles
    assert broken.endswith("no key was given.")


def test_a_server_that_writes_a_line_without_end_is_ended(box: Open) -> None:
    """Before the line fills this process's memory."""
    (endless,) = box(server("endless")).troubles
    assert endless.endswith("It said last: It wrote a line of more than 16 MB, so it was ended.")


def test_an_answer_over_http_without_end_is_not_read_to_its_end(box: Open) -> None:
    """Before it fills this process's memory."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer_without_end, args=(listening,), daemon=True).start()
        (endless,) = box(McpServer("tests", url=f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")).troubles
    assert "it is longer than 16 MB, or compressed" in endless


def answer_without_end(listening: socket.socket) -> None:
    with suppress(OSError):  # until nobody listens any more
        while True:
            with suppress(ConnectionError), listening.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                while True:
                    connection.sendall(b"x" * 65536)


@pytest.mark.parametrize(("status", "advised"), [("401 Unauthorized", True), ("500 Broken", False)])
def test_an_address_that_refuses_is_told_with_its_status(box: Open, status: str, advised: bool) -> None:
    """And where it may want a key, how it gets one."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=refuse, args=(listening, status), daemon=True).start()
        (refused,) = box(McpServer("tests", url=f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")).troubles
    assert f"(HTTP status {status[:3]})." in refused
    assert ("--header" in refused) is advised


def refuse(listening: socket.socket, status: str) -> None:
    with suppress(OSError):  # until nobody listens any more
        while True:
            with suppress(ConnectionError), listening.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())


def test_an_answer_that_is_none_is_told_in_a_sentence(box: Open) -> None:
    (nonsense,) = box(server("nonsense")).troubles
    assert re.fullmatch(
        r"The server tests could not be started: its answer is not valid MCP, at \w+: Field required\.", nonsense
    )


def test_a_server_that_runs_takes_the_time_that_is_set_meanwhile(box: Open) -> None:
    """For its next calls."""
    toolbox = box(server("odd"))
    toolbox.choose(ToolChoice(mcp=("tests",), call_timeout=0.3), {"tests": server("odd")})
    reach(toolbox)
    assert call(toolbox, "sleep").text == "The server tests could not run sleep within 0.3 s."


def test_a_server_whose_settings_changed_meanwhile_is_started_anew(box: Open, tmp_path: Path) -> None:
    """With the new ones; one whose settings did not goes on running."""
    first, second = tmp_path / "first", tmp_path / "second"
    toolbox = box(server("odd", first))
    for changed in (server("odd", second), server("odd", second)):
        toolbox.choose(ToolChoice(mcp=("tests",)), {"tests": changed})
        reach(toolbox)
    assert (first.read_text(), second.read_text()) == ("begun\n", "begun\n")


def test_a_server_that_hangs_is_given_up_on(box: Open) -> None:
    """At its start, and in a call."""
    assert "could not be started: it gave no answer in time" in box(server("hang"), timeout=0.5).troubles[0]
    toolbox = box(server("odd"))
    begin(toolbox, "sleep", "{}").cancel()
    assert call(toolbox, "plain").text == "plain"


def test_whoever_waits_for_a_server_does_not_wait_on_when_all_are_ended(tmp_path: Path) -> None:
    """Though it has not answered yet, or has not been started yet."""
    notes = tmp_path / "notes"
    for begun in (False, True):
        with closing(Toolbox()) as toolbox:
            toolbox.choose(ToolChoice(mcp=("tests",), call_timeout=600), {"tests": server("hang", notes)})
            toolbox.prepare()
            while begun and not notes.exists():
                assert not toolbox.ready
        assert toolbox.ready
        toolbox.wait()


def timeout_once(holds: Callable[[], object]) -> Callable[[float], AbstractAsyncContextManager[None]]:
    """In place of ``asyncio.timeout``: time is up as soon as something holds, however many seconds are given."""

    @asynccontextmanager
    async def timeout(seconds: float) -> AsyncIterator[None]:
        async def watch() -> None:
            while not holds():
                await asyncio.sleep(0.005)
            limit.reschedule(0)

        async with asyncio.timeout(None) as limit:
            watching = asyncio.create_task(watch())
            try:
                yield
            finally:
                watching.cancel()

    return timeout


@pytest.mark.parametrize("given_up", [False, True], ids=["while it starts", "after it was given up on"])
def test_a_server_that_will_not_end_is_ended_by_force(
    given_up: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process of it is left when the toolbox is closed."""
    notes = tmp_path / "notes"

    def begun() -> bool:
        return notes.exists() and bool(notes.read_text())

    if given_up:
        hurried = SimpleNamespace(**{**vars(asyncio), "timeout": timeout_once(begun)})
        monkeypatch.setattr("localspec.chat.tools.servers.asyncio", hurried)
        for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT"):
            monkeypatch.setattr(f"mcp.client.stdio.{name}", 0.1)
    with closing(Toolbox()) as toolbox:
        toolbox.choose(ToolChoice(mcp=("tests",), call_timeout=600.0), {"tests": server("deaf", notes)})
        toolbox.prepare()
        if given_up:
            toolbox.wait()
            assert "it gave no answer in time" in toolbox.troubles[0]
        while not begun():
            assert not toolbox.ready
    with notes.open() as held:
        deadline_s = time.monotonic() + 60
        while time.monotonic() < deadline_s:
            with suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
        pytest.fail("it holds its file still")


def test_a_server_that_is_chosen_while_another_starts_is_there_with_it() -> None:
    first, second = server("odd"), replace(server("odd"), name="others")
    both = {first.name: first, second.name: second}
    with closing(Toolbox()) as toolbox:
        for chosen in ((first.name,), tuple(both)):
            toolbox.choose(ToolChoice(mcp=chosen), both)
            toolbox.prepare()
        toolbox.wait()
        assert {each.server for each in toolbox.offered} == both.keys()


def test_a_server_that_is_switched_off_while_it_starts_is_not_waited_for(tmp_path: Path) -> None:
    """And one that is switched on again at once is started anew."""
    notes = tmp_path / "notes"
    hung, other = server("hang", notes), replace(server("odd"), name="others")
    both = {hung.name: hung, other.name: other}
    with closing(Toolbox()) as toolbox:
        toolbox.choose(ToolChoice(mcp=tuple(both), call_timeout=600), both)
        toolbox.prepare()
        while not notes.exists() or not toolbox.runs(other.name):
            assert not toolbox.ready
        toolbox.choose(ToolChoice(mcp=(other.name,), call_timeout=600), both)
        toolbox.prepare()
        toolbox.call(OWN_TOOLS["get_time"].offered, ToolCall("1", "get_time", "{}")).result(60)  # it is being ended
        toolbox.choose(ToolChoice(mcp=tuple(both), call_timeout=600), both)
        toolbox.prepare()
        while notes.read_text() != "begun\nbegun\n":
            assert not toolbox.ready
        toolbox.choose(ToolChoice(mcp=(other.name,), call_timeout=600), both)
        toolbox.prepare()
        toolbox.wait()
        assert (toolbox.troubles, {each.server for each in toolbox.offered}) == ((), {other.name})


def test_each_server_is_told_of_as_soon_as_it_answers_or_fails(tmp_path: Path) -> None:
    """Whatever another does, which is said to be awaited."""
    hung, other = server("hang"), replace(server("odd"), name="others")
    lost = McpServer("lost", "nonexistent-program")
    servers = {each.name: each for each in (hung, other, lost)}
    with closing(Toolbox()) as toolbox:
        toolbox.choose(ToolChoice(mcp=tuple(servers), call_timeout=600), servers)
        toolbox.prepare()
        while toolbox.awaited != (hung.name,):
            assert not toolbox.ready
        config = Config(tmp_path / "config.toml", servers=servers)
        rows = {row.id for row in ToolBrowser(ToolUse(toolbox), config, "").rows}
        assert {"tests", "others.plain", "lost"} <= rows
        (trouble,) = toolbox.troubles
        assert "nonexistent-program" in trouble


def test_servers_that_cannot_be_used_are_told(box: Open) -> None:
    """No such program, a program that ends at once, an address where nobody listens, a name without a server."""
    assert "could not be started" in box(McpServer("tests", "/nonexistent/program")).troubles[0]
    assert "there is no program nonexistent-program." in box(McpServer("tests", "nonexistent-program")).troubles[0]
    (broken,) = box(server("broken"), tool=("tests.echo",)).troubles
    assert broken.endswith("It said last: ␛[31mno key was given."), "and no word of a tool that it may have"
    (nobody,) = box(McpServer("tests", url="http://127.0.0.1:9/mcp")).troubles
    assert "could not be started" in nobody
    toolbox = box(tool=("lost.echo",))
    assert toolbox.troubles == ("There is no MCP server lost in the settings; `localspec mcp add` adds one.",)


def test_a_server_over_http_does_what_one_over_stdio_does(box: Open) -> None:
    """Its tools are called, resources attached and prompts written: by the names that it lists, and no others.

    Control characters are cleaned out.
    """
    with subprocess.Popen([sys.executable, SCRIPT, "http"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            use = ToolUse(box(McpServer("tests", url=f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k"})))
            toolbox = use.toolbox
            assert toolbox.troubles == ()
            assert call(toolbox, "echo", text="over http").text == "echo: over http"
            assert [(each.path, each.about) for each in toolbox.resources] == [
                ("tests:notes://today", "The notes of today.")
            ]
            attached = use.attachment("tests:notes://today")
            assert attached is not None
            assert attached.block == "File: tests:notes://today\n```\nbuy apples\n```\n"
            assert use.attachment("tests:notes://secret") is None
            (prompt,) = toolbox.prompts
            assert (prompt.full_name, prompt.about, prompt.fields) == (
                "tests.review",
                "Have a text reviewed.",
                ("text",),
            )
            assert toolbox.write(prompt, {"text": "Hm."}).result(60) == "Review this: Hm."
            with pytest.raises(ServerTrouble, match="could not write review"):
                toolbox.write(prompt, {}).result(60)
        finally:
            process.kill()


ECHO = OfferedTool(Tool("echo", "Say a text again.", "{}"), "tests", "uvx", "echo")


@pytest.mark.parametrize(
    "after",
    [
        replace(ECHO, tool=replace(ECHO.tool, description="Say a text again, and send it away.")),
        replace(ECHO, tool=replace(ECHO.tool, parameters='{"properties": {"and_send": {}}}')),
        replace(ECHO, place="another program"),
    ],
    ids=["description", "parameters", "server"],
)
def test_a_tool_that_changed_is_asked_about_again(after: OfferedTool, tmp_path: Path) -> None:
    """Always holds for the tool as it was approved: its description, its parameters and its server; never, for any."""
    path, before = tmp_path / "approvals.json", ECHO
    approvals = Approvals(path)
    assert approvals.approval(before, "one") is None
    approvals.decide(before, "one", Approval.CONVERSATION)
    assert (approvals.approval(before, "one"), approvals.approval(before, "two")) == (Approval.CONVERSATION, None)
    approvals.decide(before, "one", Approval.ALWAYS)
    again = Approvals(path)
    assert (again.approval(before, "two"), again.changed(before)) == (Approval.ALWAYS, False)
    assert (again.approval(after, "two"), again.changed(after)) == (None, True)
    again.decide(after, "two", Approval.NEVER)
    assert Approvals(path).approval(before, "one") is Approval.NEVER
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("[1")
    assert Approvals(path).approval(before, "one") is None


def test_never_lasts_for_the_conversation_where_it_cannot_be_kept(tmp_path: Path) -> None:
    """However the tool changes, and until it is to be asked about again."""
    (tmp_path / "approvals.json").mkdir()
    approvals = Approvals(tmp_path / "approvals.json")
    tool = ECHO
    changed = replace(tool, tool=replace(tool.tool, description="Say it again."))
    approvals.decide(tool, "one", Approval.ALWAYS)
    approvals.decide(tool, "one", Approval.NEVER)
    assert [approvals.approval(each, "one") for each in (tool, changed)] == [Approval.NEVER] * 2
    assert approvals.approval(changed, "two") is None
    approvals.forget(changed)
    assert approvals.approval(changed, "one") is None
