"""Text of strangers on a real terminal: every way in, and every way out."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal import Terminal

PATIENCE_S = 120.0
STEERING = re.compile(
    r"\x1b\[31337m|\x1b\]52|\x1b\]0;|\x1bP|\x07bel|\x08bs|\x0bvt|\x0cff|\x7fdel|\rcr|(?<![\u240an])forged"
    "|[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
"""What ``tests.hostile`` holds, and may not come out of any program as it is."""
PRINTED = (
    "reply progress template native path title question system thought heading cell link fence import pair "
    "cached scanned other nearly pulled moved remote build device traceback persona"
)
SAID = "title path reply question heading system template sent"
DRAWN = "question thought heading paragraph item head cell quote code bold link fence title pair failure hint long sent"
CTRL_L, CTRL_Q, CTRL_R, CTRL_S, CTRL_T, CTRL_U, ESCAPE, ALT_L, F5, F7 = (
    *("\x0c", "\x11", "\x12", "\x13", "\x14", "\x15", "\x1b", "\x1bl", "\x1b[15~", "\x1b[18~"),
)
LEAVES = "\x1b[?1049l"
"""What gives the terminal back as it was."""

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="setsid is on the path of Linux")


@pytest.fixture
def show(own_home: Path, tmp_path: Path) -> Callable[[str], Terminal]:
    """A program of ``tests.hostile`` on a terminal of its own."""

    def start(program: str) -> Terminal:
        command = [sys.executable, "-m", "tests.hostile", program, str(tmp_path)]
        return Terminal(command, {"INPUTRC": "/dev/null", "LOCALSPEC_DEBUG": "1"}, columns=120, rows=80)

    return start


def ended(terminal: Terminal) -> str:
    """All that was painted, once the program has ended."""
    while terminal.read(PATIENCE_S):
        pass
    terminal.close()
    return terminal.painted.decode()


def check(painted: str, ways: str) -> None:
    """Each way was shown, with a sign for what steers behind its mark; nothing steers."""
    assert not STEERING.findall(painted)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", painted)
    assert [way for way in ways.split() if f"{way}␛" not in bare] == []


def test_commands_print_nothing_that_steers(show: Callable[[str], Terminal]) -> None:
    """Replies, conversations, pairs, the Hub, errors: on standard output and error."""
    check(ended(show("commands")), PRINTED)


def test_the_line_mode_writes_nothing_that_steers(show: Callable[[str], Terminal]) -> None:
    """Replies, titles, what was said before, errors, and what Up brings back."""
    terminal = show("lines")
    terminal.wait_for("> ", PATIENCE_S)
    for typed, said in (
        ("\x1b[A", "sent"),
        ("\x15/list\n", "/open NUMBER"),
        ("/show all\n", "cell"),
        ("/search question\n", "/open NUMBER"),
        ("/rename\n", "The title is"),
        ("hello\n", "guesses accepted"),
        ("refuse\n", "template"),
    ):
        terminal.type(typed)
        terminal.wait_for(said, PATIENCE_S)
    terminal.type("/quit\n")
    check(ended(terminal), SAID)


def test_the_screen_draws_nothing_that_steers(show: Callable[[str], Terminal]) -> None:
    """A conversation that is opened, what is written to it, and all that is shown beside it."""
    terminal = show("screen")
    for typed, said in (
        ("", "fence"),
        (CTRL_T, "<think>thought"),
        (CTRL_T, "fence"),
        (F7, "title"),
        (ESCAPE, "heading"),
        (CTRL_S, "Search"),
        ("question", " go there"),
        (ESCAPE, "heading"),
        (CTRL_L, "pair\u241b"),
        (ESCAPE, "heading"),
        (CTRL_R, "sent\u241b"),
        ("\r", "sent\u241b"),
        (CTRL_U, "sk anything"),
        ("fail\r", "hint\u241b"),
        ("long\r", "long\u241b"),
        ("hello\r", "fence"),
        (F5, "rejection"),
        (ESCAPE, "sk anything"),
        (ALT_L, "2 links"),
        (CTRL_Q, LEAVES),
    ):
        terminal.type(typed)
        terminal.wait_for(said, PATIENCE_S)
    check(ended(terminal), DRAWN)
