"""The whole program on a terminal of its own: typed keys in, painted cells out, the built-in pair behind it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from localspec.base.errors import TERMINATED_EXIT_CODE
from tests.terminal import Terminal

PATIENCE_S = 120
LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049l"
SHOWS_CURSOR = b"\x1b[?25h"
MOUSE_OFF = b"\x1b[?1000l"
RAMBLING = "--temperature 1e6 --top-k 0 --top-p 1 --min-p 0 --depth 1 --seed 1"

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds the engine through /proc, and setsid on the path"
)


@contextmanager
def opened(home: Path, *options: str) -> Iterator[Terminal]:
    """``localspec``, with the built-in pair loaded."""
    terminal = Terminal([sys.executable, "-m", "localspec", *options], {"LOCALSPEC_HOME": str(home)})
    try:
        terminal.wait_for("plain speed", PATIENCE_S)
        yield terminal
    finally:
        terminal.close()


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what the pair costs here, for all of these tests: the first measures it, which takes seconds."""
    return tmp_path_factory.mktemp("costs")


@pytest.fixture
def home(own_home: Path, costs: Path) -> Path:
    (own_home / "data").mkdir()
    (own_home / "data" / "calibration").symlink_to(costs)
    return own_home


@pytest.fixture
def chat(home: Path) -> Iterator[Terminal]:
    """One that says what it means."""
    with opened(home, "--temperature", "0") as terminal:
        yield terminal


@pytest.fixture
def rambling(home: Path) -> Iterator[Terminal]:
    """One that says a thousand words by chance, whatever the model knows, so that there is time to end it."""
    with opened(home, *RAMBLING.split()) as terminal:
        yield terminal


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


def test_a_question_a_broken_paste_and_a_follow_up(chat: Terminal) -> None:
    """Typed, answered with counted tokens, asked again, answered again; then the terminal is as it was.

    Bytes that are no text, typed or pasted, become a sign that says so, and the keys go on working.
    """
    chat.type("Tell me a story about a fox\r")
    chat.wait_for(" tokens: ", PATIENCE_S)
    assert b"accepted" in chat.painted
    chat.type(b"\xff\x1b[200~a broken \xfe paste\x1b[201~")
    chat.wait_for("a broken \ufffd paste", PATIENCE_S)
    for question in ("Hello", "Another one"):
        chat.type(question + "\r")
        chat.wait_for(" tokens: ", PATIENCE_S)
    quit_cleanly(chat)


PLANTED = """
import sys
from localspec.cli import main
from localspec.tui.screens.help import HelpScreen
def fails(self):
    secret = "what was said"
    raise ZeroDivisionError("planted")
HelpScreen.compose = fails
main([])
"""


def test_a_mistake_of_ours_is_a_sentence(home: Path) -> None:
    """The terminal is given back; the details are in the log, where nobody has to read them."""
    chat = Terminal([sys.executable, "-c", PLANTED], {"LOCALSPEC_HOME": str(home)})
    chat.wait_for("plain speed", PATIENCE_S)
    chat.type("\x1bOP")
    while chat.read(PATIENCE_S):
        pass
    assert chat.process.wait(PATIENCE_S) == 1
    _, left, end = chat.painted.rpartition(LEAVES_ALTERNATE_SCREEN)
    chat.close()
    assert left
    assert b"Something unexpected went wrong (ZeroDivisionError: planted)" in end
    assert b"secret" not in chat.painted
    assert "in fails" in (home / "logs" / "localspec.log").read_text()


def test_escape_stops_a_reply(rambling: Terminal) -> None:
    """The text so far stays and the reply says that it was stopped."""
    rambling.type("Count from 1 to 100\r")
    rambling.wait_for("accepted", PATIENCE_S)
    rambling.type("\x1b")
    rambling.wait_for("stopped", PATIENCE_S)
    quit_cleanly(rambling)


def test_a_request_to_end_leaves_as_a_key_does(rambling: Terminal) -> None:
    """SIGTERM in mid-reply: the terminal is given back, and the exit code says why."""
    rambling.type("Count from 1 to 100\r")
    rambling.wait_for("accepted", PATIENCE_S)
    rambling.process.send_signal(signal.SIGTERM)
    while rambling.read(PATIENCE_S):
        pass
    assert rambling.process.wait(PATIENCE_S) == TERMINATED_EXIT_CODE
    assert LEAVES_ALTERNATE_SCREEN in rambling.painted


def test_the_engine_killed_in_mid_reply_comes_back(rambling: Terminal) -> None:
    """The app says what happened, and the next question is answered."""
    rambling.type("Count from 1 to 100\r")
    rambling.wait_for("accepted", PATIENCE_S)
    os.kill(engine_of(rambling.process.pid), signal.SIGKILL)
    rambling.wait_for("engine stopped", PATIENCE_S)
    rambling.type("/set max_tokens 8\rHello\r")
    rambling.wait_for(" tokens: ", PATIENCE_S)
    quit_cleanly(rambling)


def engine_of(pid: int) -> int:
    """The engine process among the children of ``pid``, whichever of its threads started it."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread or a child that has ended meanwhile
            for child in children.read_text().split():
                if is_engine(int(child)):
                    return int(child)
    raise AssertionError("there is no engine process")


def is_engine(pid: int) -> bool:
    """Whether this process is one, and lives."""
    try:
        return b"localspec.runtime.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
