"""The app or its engine is killed while a reply streams, again and again; ``kill_storm`` does it by the hundred.

The real app on a pseudo-terminal over a paced engine of 20 rounds a second, one to four tokens each. Every life asks
in the same conversation, so that each shows that it goes on after the kill before. What had been painted, and when, is
known from the terminal alone: every word is numbered. A word is lost if it was painted and is not in the database
afterwards; how long before the kill the first such word had been painted is what the kill cost.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from localspec.runtime.messages import Role
from localspec.store import Node, Store
from tests.builtin import DRAFT, TARGET
from tests.endurance.paced_engine import pieces_of
from tests.terminal import Terminal
from tests.tui.test_terminal import engine_of, is_engine

WORDS_N = 120
STREAM_S = 2.4
"""About as long as such a reply takes."""
MOST_LOST_S = 0.5
"""Beside what the machine kept the program waiting: see ``Kill.silence_s``."""
PATIENCE_S = 120.0
LAST = "count 5 last"
LIST_KEY = "\x1b[18~"
QUIT_KEY = "\x11"
COMMAND = [sys.executable, "-m", "tests.endurance.app", "--target", str(TARGET), "--draft", str(DRAFT)]


@dataclass
class Kill:
    """One reply that was ended, and what had been seen of it."""

    name: str
    victim: str
    """What was killed."""
    painted: list[tuple[float, int]] = field(default_factory=list)
    """When the reply was first seen to have so many words."""
    asked_at: float = 0.0
    at: float = 0.0

    @property
    def question(self) -> str:
        return f"count {WORDS_N} {self.name}"

    @property
    def words_n(self) -> int:
        """How many words had been painted."""
        return max((n for _, n in self.painted), default=0)

    @property
    def silence_s(self) -> float:
        """The longest that nothing was painted: so long, at times, something on this machine had no turn."""
        moments = [*(at for at, _ in self.painted), self.at]
        return max(after - before for before, after in pairwise(moments))

    def lost_s(self, kept_n: int) -> float:
        """How long before the kill the first word was painted that is not there any more; 0 if all are."""
        return max((self.at - at for at, n in self.painted if n > kept_n), default=0.0)


class WatchedChat(Terminal):
    """The app, with an eye on how many numbered words it has painted."""

    def __init__(self, home: Path, options: list[str] | None = None, env: Mapping[str, str] | None = None) -> None:
        super().__init__([*COMMAND, *(options or [])], {"LOCALSPEC_HOME": str(home), **(env or {})})

    def watch(self, kill: Kill, until: float) -> None:
        """Read until then."""
        number = re.compile(rf"{kill.name}(\d{{4}})".encode())
        while (left := until - time.perf_counter()) > 0:
            at = max(0, len(self.painted) - 10)
            if self.read(left) and (seen := number.findall(self.painted[at:])):
                most = max(map(int, seen)) + 1
                if most > kill.words_n:
                    kill.painted.append((time.perf_counter(), most))

    def open_latest(self, title: str, text: str) -> None:
        """Go to the conversation that was used last, and wait until ``text`` of it is there."""
        self.type(LIST_KEY)
        self.wait_for(title, PATIENCE_S)
        self.type("\r")
        self.wait_for(text, PATIENCE_S)
        while self.read(0.2):
            pass  # all of it


@dataclass
class Lives:
    """The lives of an app over one home."""

    home: Path
    rng: random.Random
    kills: list[Kill] = field(default_factory=list)
    chat: WatchedChat | None = None

    @property
    def database(self) -> Path:
        return self.home / "data" / "history.db"

    def live(self, *, of_app: bool) -> Kill:
        """Ask, and kill at a random moment of the reply."""
        chat = self._chat()
        kill = Kill(f"k{len(self.kills):02}w", "app" if of_app else "engine")
        chat.type(f"{kill.question}\r")
        kill.asked_at = time.perf_counter()
        chat.wait_for(f"{kill.name}0000", PATIENCE_S)
        kill.painted.append((time.perf_counter(), 1))
        chat.watch(kill, time.perf_counter() + self.rng.uniform(0, STREAM_S))
        victim = chat.process.pid if of_app else engine_of(chat.process.pid)
        engine = engine_of(chat.process.pid)
        kill.at = time.perf_counter()  # first, for who knows when this process gets on after the kill
        os.kill(victim, signal.SIGKILL)
        self.kills.append(kill)
        if of_app:
            chat.process.wait(PATIENCE_S)
            wait_for_end(engine)
            chat.close()
            self.chat = None
            check_file(self.database)
        else:
            chat.wait_for("The engine stopped", PATIENCE_S)
        return kill

    def end(self) -> None:
        """A last question, answered in full; then quit as people do."""
        chat = self._chat()
        asked_at = len(chat.painted)
        chat.type(f"{LAST}\r")
        chat.wait_for("last0004", PATIENCE_S)
        chat.wait_for(" tokens: ", PATIENCE_S, at=chat.painted.index(b"last0004", asked_at))  # may be read already
        chat.type(QUIT_KEY)
        while chat.read(PATIENCE_S):
            pass
        assert chat.process.wait(PATIENCE_S) == 0
        chat.close()
        self.chat = None

    def check(self) -> list[float]:
        """As ``lost_by``."""
        return lost_by(self.database, self.kills, LAST)

    def _chat(self) -> WatchedChat:
        if self.chat is None:
            self.chat = WatchedChat(self.home)
            self.chat.wait_for("plain speed", PATIENCE_S)
            if self.kills:
                self.chat.open_latest(self.kills[0].question, self.kills[-1].question)
        return self.chat


def check_file(database: Path) -> None:
    """What a dead program left is whole, without any help of ours: looked at in a copy."""
    with copied(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def copied(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a copy of a database, with what stands in its journal."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            if (file := Path(f"{database}{suffix}")).exists():
                shutil.copy(file, folder)
        with closing(sqlite3.connect(Path(folder) / database.name)) as connection:
            yield connection


def lost_by(database: Path, kills: Sequence[Kill], last: str) -> list[float]:
    """All that is stored, against all that was seen; the seconds lost by each kill. Raises AssertionError.

    ``last`` is the question that was answered in full after all of them.
    """
    check_file(database)
    store = Store.open(database)
    assert store.notice == ""
    (summary,) = store.conversations()
    path = store.open_conversation(summary.heading.id).path
    replies = {question.content: reply for question, reply in pairwise(path)}
    asked = [node.content for node in path if node.role is Role.USER]
    assert asked == [*(kill.question for kill in kills), last]
    lost = [_lost_s(kill, replies[kill.question]) for kill in kills]
    assert replies[last].content == "".join(pieces_of(last))
    store.close()
    assert not list(database.parent.glob("*-writer-*"))
    return lost


def _lost_s(kill: Kill, reply: Node) -> float:
    assert reply.role is Role.ASSISTANT, f"the reply to {kill.question} is gone"
    assert "".join(pieces_of(kill.question)).startswith(reply.content), f"{kill.question} is not right"
    return kill.lost_s(reply.content.count(" "))


def wait_for_end(pid: int, lives: Callable[[int], bool] = is_engine) -> None:
    """Whoever belongs to a dead program sees that it is gone."""
    deadline = time.perf_counter() + PATIENCE_S
    while lives(pid):
        assert time.perf_counter() < deadline, f"{pid} outlives its program"
        time.sleep(0.01)
