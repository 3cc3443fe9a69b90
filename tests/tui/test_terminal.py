"""The whole program on a terminal of its own: typed keys in, painted cells out, the built-in pair behind it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import Terminal

PATIENCE_S = 60
LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049l"
SHOWS_CURSOR = b"\x1b[?25h"
MOUSE_OFF = b"\x1b[?1000l"

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds the engine through /proc, and setsid on the path"
)


@pytest.fixture
def chat(own_home: Path) -> Iterator[Terminal]:
    """``localspec``, with the built-in pair loaded."""
    terminal = Terminal([sys.executable, "-m", "localspec", "--temperature", "0"], {"LOCALSPEC_HOME": str(own_home)})
    terminal.wait_for("plain speed", PATIENCE_S)
    yield terminal
    terminal.close()


def quit_cleanly(chat: Terminal) -> None:
    """Ctrl+Q ends the program with 0 and gives the terminal back as it was."""
    chat.type("\x11")
    while chat.read(PATIENCE_S):
        pass
    assert chat.process.wait(PATIENCE_S) == 0
    end = chat.painted[-4000:]
    assert LEAVES_ALTERNATE_SCREEN in end
    assert SHOWS_CURSOR in end
    assert MOUSE_OFF in end


def test_a_question_and_a_follow_up(chat: Terminal) -> None:
    """Typed, answered with counted tokens, asked again, answered again; then the terminal is as it was."""
    for question in ("Tell me a story about a fox", "Another one"):
        chat.type(question + "\r")
        chat.wait_for(" tokens: ", PATIENCE_S)
    assert b"accepted" in chat.painted
    quit_cleanly(chat)


def test_escape_stops_a_reply(chat: Terminal) -> None:
    """The text so far stays and the reply says that it was stopped."""
    chat.type("Count from 1 to 100\r")
    chat.wait_for("accepted", PATIENCE_S)
    chat.type("\x1b")
    chat.wait_for("stopped", PATIENCE_S)
    quit_cleanly(chat)


def test_the_engine_killed_in_mid_reply_comes_back(chat: Terminal) -> None:
    """The app says what happened, and the next question is answered."""
    chat.type("Count from 1 to 100\r")
    chat.wait_for("accepted", PATIENCE_S)
    os.kill(engine_of(chat.process.pid), signal.SIGKILL)
    chat.wait_for("engine stopped", PATIENCE_S)
    chat.type("Hello\r")
    chat.wait_for(" tokens: ", PATIENCE_S)
    quit_cleanly(chat)


def test_bytes_that_are_no_text_do_no_harm(chat: Terminal) -> None:
    """Typed or pasted, they become a sign that says so, and the keys go on working."""
    chat.type(b"\xff\x1b[200~a broken \xfe paste\x1b[201~")
    chat.wait_for("a broken \ufffd paste", PATIENCE_S)
    chat.type("Hello\r")
    chat.wait_for(" tokens: ", PATIENCE_S)
    quit_cleanly(chat)


def engine_of(pid: int) -> int:
    """The engine process among the children of ``pid``, whichever of its threads started it."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            if b"localspec.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    raise AssertionError("there is no engine process")
