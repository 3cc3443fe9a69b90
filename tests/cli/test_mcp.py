"""``localspec mcp``, and tools in ``localspec run`` and the line mode."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from localspec.base.errors import INTERRUPTED_EXIT_CODE, EngineError, NotFoundError
from localspec.chat.tools import toolbox
from localspec.config import config_file, read_config
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Started
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions, Progress
from tests.cli.calling import CALL, CallingPair, CallingWorld
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld, info_of
from tests.config.support import configure
from tests.line.test_terminal import ended
from tests.terminal import Terminal

SCRIPT = Path(__file__).parents[1] / "chat" / "tools" / "mcp_server.py"


def test_servers_are_added_listed_tried_and_removed(localspec: Localspec, tmp_path: Path) -> None:
    """In the file of settings, where comments stay; secrets are not listed."""
    added = localspec("mcp", "add", "tests", "--env", "KEY=secret", "--", sys.executable, str(SCRIPT), "plain")
    assert added.code == 0, added.err
    file = config_file()
    file.write_text("# mine\n" + file.read_text() + "[tools]\ncall_timeout = 600\n")
    again = localspec("mcp", "add", "tests", "other")
    assert (again.code, "There is a server tests already" in again.err) == (2, True)
    assert localspec("mcp").out == localspec("mcp", "list").out != ""
    spaced = localspec("mcp", "add", "spaced", "--", "sh", "-c", "exit 3")
    assert "spaced: sh -c 'exit 3'" in localspec("mcp").out, spaced.err
    assert localspec("mcp", "remove", "spaced").code == 0
    listed = localspec("mcp", "list", "--json")
    assert json.loads(listed.out)[0]["name"] == "tests"
    assert "secret" not in listed.out
    tried = localspec("mcp", "test", "tests")
    assert "echo: Say a text again." in tried.out
    assert localspec("mcp", "test", "other").code == 4
    assert localspec("mcp", "add", "ends", "--", sys.executable, "-c", "raise SystemExit(3)").code == 0
    assert localspec("mcp", "test", "ends").code == EngineError.exit_code
    assert localspec("mcp", "remove", "ends").code == 0
    assert localspec("mcp", "add", "bad name", "x").code == 2
    assert localspec("mcp", "add", "a").code == 2
    both = localspec("mcp", "add", "a", "true", "--url", "http://x")
    assert (both.code, "a: it should have a command or a url, not both." in both.err) == (2, True)
    theirs = tmp_path / "claude.json"
    web = {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer x"}}
    servers = {"tests": {"command": "x"}, "web": web, "wrong": {"command": 3}}
    theirs.write_text(json.dumps({"mcpServers": servers}))
    imported = localspec("mcp", "import", str(theirs))
    assert imported.out == "web: https://example.org/mcp\n"
    assert "tests is here already" in imported.err
    assert "wrong.command" in imported.err
    assert read_config().servers["web"].headers == {"Authorization": "Bearer x"}
    assert localspec("mcp", "remove", "tests").code == 0
    assert localspec("mcp", "remove", "web").code == 0
    assert config_file().read_text().split() == ["#", "mine", "[tools]", "call_timeout", "=", "600"]
    assert read_config().problems == ()


def test_what_a_server_writes_beside_its_messages_is_not_shown(localspec: Localspec) -> None:
    """Many programs greet on standard output; it is no message, and no trace of the SDK's about it is seen."""
    assert localspec("mcp", "add", "tests", "--", sys.executable, str(SCRIPT), "chatty").code == 0
    command = [sys.executable, "-m", "localspec", "mcp", "test", "tests"]
    tried = subprocess.run(command, capture_output=True, text=True, check=True)
    slow = r"localspec: Waiting for the MCP server tests to start, for at most 60 s\.\n"
    assert re.fullmatch(rf"({slow})?localspec: tests offers \d+ tools\.\n", tried.stderr)


def test_a_server_that_is_tried_and_hangs_is_waited_for_with_a_word(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "LATE_S", 0.0)
    assert localspec("mcp", "add", "slow", "--", sys.executable, str(SCRIPT), "hang").code == 0
    config_file().write_text(f"{config_file().read_text()}[tools]\ncall_timeout = 1\n")
    tried = localspec("mcp", "test", "slow")
    assert tried.code == EngineError.exit_code
    assert "Waiting for the MCP server slow to start, for at most 1 s." in tried.err


def test_a_file_below_the_home_of_nobody_is_not_there(localspec: Localspec) -> None:
    assert localspec("mcp", "import", "~nobody-of-this-name/x.json").code == NotFoundError.exit_code


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "Is a directory"), (b"\xff\xfe", "not a file of text"), (b"{", "not JSON"), (b'{"a": 1}', "no servers")],
)
def test_a_file_without_servers_is_told_in_a_sentence(
    content: bytes | None, said: str, localspec: Localspec, tmp_path: Path
) -> None:
    file = tmp_path
    if content is not None:
        file = tmp_path / "theirs.json"
        file.write_bytes(content)
    imported = localspec("mcp", "import", str(file))
    assert imported.code == 3
    assert said in imported.err
    assert "Errno" not in imported.err


@pytest.mark.parametrize("before", [None, "# mine\n"], ids=["a new file", "one that others can read"])
def test_settings_with_secrets_of_a_server_are_readable_by_their_owner_alone(
    localspec: Localspec, before: str | None
) -> None:
    """Variables and headers are; a program and an address are not, and change nothing."""
    if before is not None:
        configure(before)
        config_file().chmod(0o644)
        assert localspec("mcp", "add", "time", "uvx", "mcp-server-time").code == 0
        assert stat.S_IMODE(config_file().stat().st_mode) == 0o644
    assert localspec("mcp", "add", "mail", "--env", "TOKEN=abc", "uvx", "mcp-mail").code == 0
    assert stat.S_IMODE(config_file().stat().st_mode) == 0o600
    assert config_file().read_text().startswith(before or "[mcp.mail]")


def test_a_file_of_vs_code_is_imported_with_a_word_on_what_is_not_filled_in(
    localspec: Localspec, tmp_path: Path
) -> None:
    """The keys that its gallery adds are passed over, and placeholders are taken as they stand."""
    file = tmp_path / "mcp.json"
    servers = {
        "weather": {"type": "stdio", "command": "npx", "env": {"KEY": "${input:key}"}, "gallery": True},
        "time": {"command": "uvx", "args": ["mcp-server-time"], "version": "1.0.0"},
    }
    file.write_text(json.dumps({"servers": servers, "inputs": [{"id": "key", "type": "promptString"}]}))
    done = localspec("mcp", "import", file)
    assert (done.code, done.out) == (0, "weather: npx\ntime: uvx mcp-server-time\n")
    assert "weather has ${input:key}, which is not filled in here" in done.err
    assert "time has" not in done.err


@pytest.mark.parametrize("given", [("--tool", "get_time,calculate"), ("--tool", ""), ("--raw", "--tool", "get_time")])
def test_options_that_name_no_tool_are_refused(given: Sequence[str], localspec: Localspec) -> None:
    """And those that cannot be followed, before anything is loaded."""
    assert localspec("run", *given, "What time is it?", world=CallingWorld()).code == 2


@pytest.mark.parametrize(
    "table",
    [
        "command = 3",
        'url = "ftp://x"',
        'command = "x"\nurl = "https://x"',
        'nothing = "x"',
        'command = "x"\nargs = "y"',
    ],
)
def test_a_server_that_is_described_wrongly_is_left_out(table: str, localspec: Localspec) -> None:
    """With a sentence that names its line; other settings count."""
    configure(f"[mcp.one]\n{table}\n\n[reply]\nmax_tokens = 5\n")
    read = read_config()
    assert (dict(read.servers), read.values["reply.max_tokens"], len(read.problems)) == ({}, 5, 1)
    assert "mcp.one" in str(read.problems[0])


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


class ShortOfRoom(CallingPair):
    """The same in a context that has no room for a whole result."""

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        cut_n = sum(message.role is Role.TOOL for message in prompt if isinstance(message, Message)) and 1
        yield Started(9, 0, 1, cut_n=cut_n)
        yield from super().reply(prompt, options, prefix)


class ShortOfRoomWorld(FakeWorld):
    """A command line over such a pair."""

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        return ShortOfRoom(info_of(options), cancel)


def test_run_says_that_a_result_was_too_long_for_the_context(localspec: Localspec) -> None:
    """The reply was made from a part of it."""
    ran = localspec("run", "--tool", "get_time", "--tool", "list_files", "what is here?", world=ShortOfRoomWorld())
    assert ran.err.count("The context is full: the result of a tool was cut short.") == 1


def test_run_makes_the_calls_of_tools_that_the_command_line_names(localspec: Localspec, tmp_path: Path) -> None:
    """Those that only the settings name are not made where they would have to be asked about."""
    configure('[tools]\ntool = ["get_time", "list_files"]\n')
    ran = localspec("run", "--json", "what is here?", world=CallingWorld())
    kinds = [(event["event"], event.get("state")) for event in events(ran.out)]
    assert kinds == [
        ("round", None),
        ("done", None),
        ("tool_call", None),
        ("tool_result", "done"),
        ("tool_call", None),
        ("tool_result", "refused"),
        ("round", None),
        ("done", None),
    ]
    refused = next(event for event in events(ran.out) if event.get("state") == "refused")
    assert "Nobody could be asked to allow this call. --tool list_files allows it." in str(refused)
    named = localspec("run", "--tool", "list_files", "--tool-folder", str(tmp_path), "x", world=CallingWorld())
    assert named.code == 0, named.err
    assert "Call of list_files, with" in named.err
    assert "Call of get_time, without arguments" in named.err
    assert "Done: " in named.err
    assert "Failed: There is no tool get_time." in named.err
    assert named.out == "I look.\nWell then.\n"


@pytest.mark.parametrize("command", [("run", "hello"), ("chat", "--plain")], ids=" ".join)
@pytest.mark.parametrize(
    ("option", "name"), [("tool", "nosuch"), ("tool", "nosuch.echo"), ("mcp", "nosuch"), ("tool_folder", "/nosuch")]
)
def test_a_tool_of_nobody_ends_the_command_that_names_it(
    localspec: Localspec, command: tuple[str, ...], option: str, name: str
) -> None:
    """Before anything is loaded. What the file of settings names is a warning at most."""
    world = FakeWorld()
    named = localspec(*command, f"--{option.replace('_', '-')}", name, world=world)
    assert (named.code, world.loads) == (NotFoundError.exit_code, [])
    assert name.partition(".")[0] in named.err
    configure(f"[tools]\n{option} = '{name}'\n")
    assert localspec(*command, world=world, stdin=b"hello\n").code == 0


AT_TERMINAL = """
from localspec.cli import main
from tests.cli.calling import CallingWorld
main(services=CallingWorld().services())
"""


@pytest.mark.parametrize(("answer", "said"), [("what\nyes\n", "Done: "), ("\n", "Refused: "), ("\x03", "^C")])
def test_run_at_a_terminal_asks_about_a_call_that_is_not_approved(answer: str, said: str) -> None:
    """Enter allows nothing, Ctrl-C ends the command; the text of the call is not shown."""
    configure('[tools]\ntool = ["get_time", "list_files"]\ntool_folder = "/"\n')
    terminal = Terminal([sys.executable, "-c", AT_TERMINAL, "run", "what is here?"], {"TERM": "dumb"}, columns=200)
    try:
        terminal.wait_for("never: ", 60)
        terminal.type(answer)
        stopped = answer == "\x03"
        assert ended(terminal) == (INTERRUPTED_EXIT_CODE if stopped else 0)
        painted = terminal.painted.decode()
        assert said in painted
        assert ("Well then." in painted) is not stopped
        assert CALL not in painted
    finally:
        terminal.close()


def test_the_line_mode_makes_calls_and_lists_tools(localspec: Localspec) -> None:
    """Where nobody types, as ``run`` does; /tools switches a tool in the file of settings."""
    said = b"/tools get_time\nhello\n/tools\n/tools nothing\n"
    ran = localspec("chat", "--json", "--tool", "get_time", stdin=said, world=CallingWorld())
    found = events(ran.out)
    assert [event["event"] for event in found].count("tool_result") == 2
    assert read_config().values["tools.tool"] == ("get_time",)
    assert "get_time is on in the settings file; this chat has the tools" in str(found[0]["text"])
    assert found[-1]["event"] == "error"
    assert "There is no tool nothing." in str(found[-1]["message"])


def test_the_line_mode_says_that_the_last_tool_of_a_server_is_off(localspec: Localspec) -> None:
    """Its server has ended by then. The tools of a server that is switched on are listed."""
    assert localspec("mcp", "add", "tests", "--", sys.executable, str(SCRIPT), "plain").code == 0
    config_file().write_text(config_file().read_text() + '[tools]\ntool = ["tests.echo"]\n')
    said = b"/tools\n/tools tests.echo\n/tools get_time\n/tools tests\n"
    _, off, own, server = events(localspec("chat", "--json", stdin=said, world=CallingWorld()).out)
    assert (off["text"], own["text"]) == (
        "tests.echo is off from the next message on.",
        "get_time is on from the next message on.",
    )
    first, second, *_ = str(server["text"]).splitlines()
    assert (first, second.partition(":")[0]) == ("tests is on from the next message on.", "  on   tests.echo")
