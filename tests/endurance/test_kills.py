"""A few bad ends of the whole program in mid-reply; ``kill_storm`` does it by the hundred."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from localspec.base.errors import HANGUP_EXIT_CODE, TERMINATED_EXIT_CODE
from localspec.store import Node, ReplyState, Store
from tests.endurance.killed_commands import ExportKills, ImportKills
from tests.endurance.killed_lines import LineLives
from tests.endurance.kills import MOST_LOST_S, PATIENCE_S, Lives, WatchedChat, wait_for_end
from tests.endurance.paced_engine import pieces_of
from tests.terminal import Terminal
from tests.tui.test_terminal import engine_of

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds the engine through /proc, and setsid on the path"
)


def test_the_engine_and_then_the_app_are_killed(own_home: Path) -> None:
    """The conversation goes on after each, and what was on screen is there again."""
    lives = Lives(own_home, random.Random(1))
    lives.live(of_app=False)
    lives.live(of_app=True)
    lives.end()
    assert len(lives.kills) == 2
    for kill, lost_s in zip(lives.kills, lives.check(), strict=True):
        assert lost_s <= MOST_LOST_S + kill.silence_s


def test_the_line_mode_is_killed(own_home: Path) -> None:
    """The conversation goes on, and what was said is in it."""
    lives = LineLives(own_home, random.Random(2))
    lives.live()
    lives.end()
    for kill, lost_s in zip(lives.kills, lives.check(), strict=True):
        assert lost_s <= MOST_LOST_S + kill.silence_s


@pytest.mark.parametrize("kills_of", [ImportKills, ExportKills])
def test_a_command_that_is_killed_leaves_nothing_half_done(
    own_home: Path, kills_of: type[ImportKills] | type[ExportKills]
) -> None:
    """All conversations or none, the whole file or none; the laws are where the kills are."""
    kills_of(own_home / "home", random.Random(1), conversations_n=40).kill()


@pytest.mark.parametrize("told", [signal.SIG_DFL, signal.SIG_IGN], ids=["told", "not told"])
def test_a_terminal_that_dies_takes_no_text_along(own_home: Path, told: signal.Handlers) -> None:
    """The window is closed in mid-reply: app and engine end, and the text is stored. Under nohup no signal says so."""
    usual = signal.signal(signal.SIGHUP, told)
    try:
        chat = WatchedChat(own_home)
    finally:
        signal.signal(signal.SIGHUP, usual)
    chat.wait_for("plain speed", PATIENCE_S)
    chat.type("count 400 w\r")
    chat.wait_for("w0060", PATIENCE_S)
    store = Store.open(own_home / "data" / "history.db")
    while last_reply(store).content.count(" ") < 15:
        chat.read(0.1)  # how soon that is says how busy the machine is
    store.close()
    engine = engine_of(chat.process.pid)
    os.close(chat._master)
    assert chat.process.wait(PATIENCE_S) in (HANGUP_EXIT_CODE, TERMINATED_EXIT_CODE)
    wait_for_end(engine)
    store = Store.open(own_home / "data" / "history.db")
    reply = last_reply(store)
    assert reply.state in (ReplyState.CUT_OFF, ReplyState.FAILED, ReplyState.DONE)
    assert "".join(pieces_of("count 400 w")).startswith(reply.content)
    assert reply.content.count(" ") >= 15
    store.close()


def test_what_is_read_together_is_waited_for_one_after_the_other() -> None:
    """The last word and the line below a reply may be painted at once, and read with one call."""
    terminal = Terminal(["printf", "word line"], {})
    terminal.wait_for("line", PATIENCE_S)
    terminal.wait_for("line", PATIENCE_S, at=terminal.painted.index(b"word"))
    with pytest.raises(TimeoutError):
        terminal.wait_for("line", PATIENCE_S)  # from now on
    terminal.close()


def last_reply(store: Store) -> Node:
    """As far as it is stored."""
    return store.open_conversation(store.conversations()[0].heading.id).path[-1]
