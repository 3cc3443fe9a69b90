"""The line mode is killed while a reply streams; every life goes on with the same conversation."""

from __future__ import annotations

import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.builtin import DRAFT, TARGET
from tests.endurance.kills import LAST, PATIENCE_S, STREAM_S, Kill, check_file, lost_by, wait_for_end

COMMAND = [sys.executable, "-m", "tests.endurance.line", "chat", "--plain", "--continue"]
FILES = ["--target", str(TARGET), "--draft", str(DRAFT)]


@dataclass
class LineLives:
    """The lives of a line mode over one home."""

    home: Path
    rng: random.Random
    kills: list[Kill] = field(default_factory=list)

    @property
    def database(self) -> Path:
        return self.home / "data" / "history.db"

    def live(self) -> Kill:
        """Ask, and kill it, or the process that watches over it, at a random moment of the reply."""
        kill = Kill(f"k{len(self.kills):02}w", "line mode")
        with self._begin() as process:
            assert process.stdin is not None
            process.stdin.write(f"{kill.question}\n".encode())
            process.stdin.flush()
            self._watch(process, kill, time.perf_counter() + PATIENCE_S, first=True)
            assert kill.painted, "no word came"
            self._watch(process, kill, time.perf_counter() + self.rng.uniform(0, STREAM_S))
            family = [process.pid, *children_of(process.pid)]
            victim = self.rng.choice(family)
            kill.at = time.perf_counter()
            os.kill(victim, signal.SIGKILL)
            process.wait(PATIENCE_S)
            for member in family[1:]:
                wait_for_end(member, lives)
        self.kills.append(kill)
        check_file(self.database)
        return kill

    def end(self) -> None:
        """A last question, answered in full; then the end of the input."""
        with self._begin() as process:
            out, _ = process.communicate(f"{LAST}\n".encode(), PATIENCE_S)
        assert process.returncode == 0
        assert b"last0004" in out

    def check(self) -> list[float]:
        """As ``lost_by``."""
        return lost_by(self.database, self.kills, LAST)

    def _begin(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*COMMAND, *FILES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LOCALSPEC_HOME": str(self.home)},
        )

    def _watch(self, process: subprocess.Popen[bytes], kill: Kill, until: float, *, first: bool = False) -> None:
        """Read until then, or until the first word has come."""
        assert process.stdout is not None
        said, number = b"", re.compile(rf"{kill.name}(\d{{4}})".encode())
        while (left := until - time.perf_counter()) > 0 and not (first and kill.painted):
            if not select.select([process.stdout], [], [], left)[0]:
                return
            if not (more := os.read(process.stdout.fileno(), 65536)):
                return
            said = said[-10:] + more
            most = max((int(each) + 1 for each in number.findall(said)), default=0)
            if most > kill.words_n:
                kill.painted.append((time.perf_counter(), most))


def children_of(pid: int) -> list[int]:
    """Processes that this one has started."""
    found: list[int] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, children.read_text().split())
    return found


def lives(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
