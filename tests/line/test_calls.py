"""Replies that call tools or are checked, in the line mode: the last turn, its versions, going on, and stopping."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from localspec.base.errors import INTERRUPTED_EXIT_CODE
from localspec.chat import active_reply
from localspec.chat.reply_check import CheckedEvents
from localspec.chat.tools import toolbox
from localspec.engine.events import Event
from tests.cli.calling import CallingWorld
from tests.cli.conftest import Localspec
from tests.cli.test_mcp import SCRIPT
from tests.config.support import configure
from tests.line.test_conversations import PLAIN, lines
from tests.line.test_terminal import PATIENCE_S, ended, path, press
from tests.terminal import Terminal


def answers(localspec: Localspec, *said: str, options: tuple[str, ...] = ()) -> list[dict[str, object]]:
    """The records of a chat whose first reply to a message calls tools, without those of rounds and calls."""
    done = localspec(
        "chat", "--json", "--tool", "get_time", *options, stdin="\n".join(said).encode(), world=CallingWorld()
    )
    records = [json.loads(line) for line in done.out.splitlines()]
    return [record for record in records if record["event"] in ("done", "note", "error")]


def test_the_last_turn_begins_with_its_question(localspec: Localspec) -> None:
    """The calls of its reply, and what these led to, are of the turn."""
    shown = str(answers(localspec, "time?", "/show")[-1]["text"])
    assert shown.startswith("You: time?\n\nReply: I look.")
    assert shown.endswith("Reply: Well then.")
    assert "You: thanks" in str(answers(localspec, "time?", "thanks", "/show")[-1]["text"]).splitlines()[0]


def test_a_version_begins_with_the_reply_that_calls(localspec: Localspec) -> None:
    """The answers before and after /regenerate can both be shown, whatever was said after one of them."""
    *_, said, first, again, other, back, none = answers(
        localspec,
        "time?",
        "more?",
        "/delete",
        "/regenerate",
        "/version",
        "/version 1",
        "/version",
        "/version 2",
        "/version",
        "/version 3",
    )
    assert (said["text"], said["versions_n"]) == ("This is reply 2 of 2.", 2)
    assert (first["text"], first["content"]) == ("Reply 1 of 2: Well then.", "Well then.")
    assert again["text"] == "This is reply 1 of 2."
    assert other["content"] == "Well then."
    assert back["text"] == "This is reply 2 of 2."
    assert none["message"] == "There is no version 3: this reply has 2 versions."


def test_a_reply_goes_on_from_results(localspec: Localspec) -> None:
    """/continue replies to what there is after the limit of calls in a row has ended the chain."""
    called, went_on = answers(localspec, "time?", "/continue", options=("--max-calls", "1"))
    assert str(called["text"]).startswith("I look.")
    assert (went_on["event"], went_on["text"]) == ("done", "Well then.")


def test_a_server_that_is_waited_for_is_named(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the reply, which then does without it."""
    monkeypatch.setattr(toolbox, "LATE_S", 0.0)
    configure(f"[mcp.slow]\ncommand = '{sys.executable}'\nargs = ['{SCRIPT}', 'hang']\n")
    done = localspec(*PLAIN, "--mcp", "slow", "--call-timeout", "0.5", stdin=lines("hello"))
    assert done.code == 0
    waiting, trouble = done.err.splitlines()[:2]
    assert waiting == "Waiting for the MCP server slow to start, for at most 0.5 s."
    assert "it gave no answer in time" in trouble


AT_TERMINAL = """
from localspec.chat.tools import toolbox
from localspec.cli import main
from tests.cli.support import FakeWorld
toolbox.LATE_S = 0.0
main(services=FakeWorld().services())
"""


def test_nobody_at_a_keyboard_is_held_up_by_a_server_that_hangs() -> None:
    """/tools lists what there is, and Ctrl-C ends the wait of a message; twice in a row at the prompt it leaves."""
    configure(f"[mcp.slow]\ncommand = '{sys.executable}'\nargs = ['{SCRIPT}', 'hang']\n")
    command = [sys.executable, "-c", AT_TERMINAL, "chat", "--plain", "--mcp", "slow", "--call-timeout", "600"]
    terminal = Terminal(command, {"TERM": "dumb"}, columns=200)
    try:
        terminal.wait_for("> ", PATIENCE_S)
        terminal.type("/tools\n")
        terminal.wait_for("Waiting for slow; /tools shows later what came of it.", PATIENCE_S)
        for said in ("hello\n", "/continue\n"):
            press(terminal, said)
            terminal.wait_for("Waiting for the MCP server slow to start", PATIENCE_S)
            terminal.type("\x03")
            terminal.wait_for("Ctrl-C once more leaves", PATIENCE_S)
        assert terminal.painted.count(b"Stopped; /continue goes on.") == 2
        press(terminal, "\x03")
        assert ended(terminal) == INTERRUPTED_EXIT_CODE
    finally:
        terminal.close()
    assert [node.content for node in path()] == ["hello"]


class Interrupted(CheckedEvents):
    """A check at which Ctrl-C comes when it is waited for."""

    def due(self, wait_s: float = 0.0) -> list[Event]:
        if wait_s:
            raise KeyboardInterrupt
        return super().due()


def never(sentence: str) -> None:
    threading.Event().wait()


def test_ctrl_c_while_a_check_is_waited_for_stops_the_reply(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while it is written: what has passed is there, and the reply can be gone on with."""
    monkeypatch.setattr(active_reply, "CheckedEvents", Interrupted)
    done = localspec(*PLAIN, "--reply-check", f"{__name__}:never", stdin=lines("hello"))
    assert done.code == 130
    assert "Stopped; /continue goes on." in done.err
