"""Uses the app in tmux as people do, one thing after the other, for as long as you say: the same round again and again.

    python -m tests.endurance.day [--minutes 60]

The real app on its built-in pair, at the pace of somebody who reads: a question, its reply, the ways of marking, the
inspector, another version, an edited question, a search, settings and back, another conversation. The next
key waits until the screen is still. The memory of the app and of its engine is taken after each round, where it should
be what it was; in the end the app has to quit with 0, and no log may have a line of trouble.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.long_conversation import process_mb
from tests.endurance.soak import TROUBLE

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
STILL_S = 0.6
"""A screen that has not changed for so long is done."""
QUESTIONS = (
    "What is a draft model?",
    "Count from 1 to 20",
    "Write some Python code",
    "Show me a table",
    "Tell me a story",
)


def main() -> None:
    """Use it, and print what the rounds came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60)
    minutes: float = parser.parse_args().minutes
    with tempfile.TemporaryDirectory(prefix="localspec-day-") as folder:
        home = Path(folder) / "home"
        tmux = Tmux(Path(folder), home)
        tmux.wait_for("plain speed")
        memory_mb: list[list[float]] = []
        until = time.monotonic() + minutes * 60
        while time.monotonic() < until:
            go_round(tmux, len(memory_mb))
            memory_mb.append([process_mb(pid) for pid in tmux.pids()])
            told = " and ".join(f"{mb:.0f} MB" for mb in memory_mb[-1])
            print(f"round {len(memory_mb)}: {told}", flush=True)
        tmux.press("C-q")
        code = tmux.exit_code()
        third = max(1, len(memory_mb) // 3)
        for name, column in zip(("app", "engine"), zip(*memory_mb, strict=True), strict=True):
            thirds = [part or column for part in (column[:third], column[third : 2 * third], column[2 * third :])]
            print(f"{name}, medians of the thirds, MB: {' '.join(f'{statistics.median(part):.0f}' for part in thirds)}")
        lines = [line for log in home.rglob("*.log") for line in log.read_text(errors="replace").splitlines()]
        trouble = [line for line in lines if TROUBLE.search(line)]
        print(f"ended with {code}; {len(lines)} lines in the logs, {len(trouble)} of trouble")
        assert code == 0
        assert not trouble, "\n".join(trouble[:20])


def go_round(tmux: Tmux, round_n: int) -> None:
    """A conversation of five questions, read in every way."""
    for question in QUESTIONS:
        tmux.type(f"{question} {round_n}")
        tmux.press("Enter")
        tmux.press("F2")
    for keys in (
        ("C-t", "F4", "C-t"),
        ("F5", "Right", "Right", "Down", "Escape"),
        ("M-Up", "M-Up", "M-r", "Left", "Right", "Escape"),
        ("M-Up", "M-Up", "e", "e", " again", "Enter"),
        ("PageUp", "PageUp", "C-End"),
        ("C-s", "draft", "Escape"),
        ("F9", "temp", "Escape", "Escape"),
        ("C-l", "Down", "Escape"),
        ("M-s", "Tab", "Escape"),
        ("F1", "PageDown", "Escape"),
        ("C-p", "them", "Escape"),
        ("F7", "Down", "F7"),
    ):
        for key in keys:
            tmux.press(key)
    tmux.resize(*((80, 24), (140, 45), (100, 30))[round_n % 3])
    tmux.press("C-n")


class Tmux:
    """One window of a server of its own, in which the app is the only program."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._socket = folder / "tmux"
        self._code = folder / "code"
        chat = f"{shlex.quote(sys.executable)} -m localspec; echo $? > {self._code}"
        env = {**os.environ, "LOCALSPEC_HOME": str(home), "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", chat, env=env)

    def _run(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = ["tmux", "-S", str(self._socket), *arguments]
        return subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    def type(self, text: str) -> None:
        """Letter by letter, as it is."""
        self._run("send-keys", "-l", text)
        self._settle()

    def press(self, key: str) -> None:
        """A key by tmux's name of it, or a word."""
        self._run("send-keys", key)
        self._settle()

    def resize(self, columns_n: int, rows_n: int) -> None:
        self._run("resize-window", "-x", str(columns_n), "-y", str(rows_n))
        self._settle()

    def wait_for(self, text: str) -> None:
        """Until this stands on the screen."""
        until = time.monotonic() + PATIENCE_S
        while text not in (screen := self._screen()):
            assert time.monotonic() < until, screen
            time.sleep(0.1)

    def _screen(self) -> str:
        return self._run("capture-pane", "-p")

    def _settle(self) -> None:
        """Until nothing changes on the screen any more; a reply has been written then."""
        until = time.monotonic() + PATIENCE_S
        before, since = "", time.monotonic()
        while time.monotonic() - since < STILL_S:
            if self._code.exists():
                return
            screen = self._screen()
            if screen != before:
                before, since = screen, time.monotonic()
            assert time.monotonic() < until, screen
            time.sleep(0.1)

    def pids(self) -> tuple[int, int]:
        """Of the app and of its engine."""
        shell = int(self._run("display-message", "-p", "#{pane_pid}"))
        app = next(iter(children(shell)))
        return app, next(pid for pid in children(app) if process_mb(pid) > 30)

    def exit_code(self) -> int:
        """Of the app, which has been told to quit."""
        until = time.monotonic() + PATIENCE_S
        while not self._code.exists() or not self._code.read_text().strip():
            assert time.monotonic() < until, self._screen()
            time.sleep(0.1)
        return int(self._code.read_text())


def children(pid: int) -> list[int]:
    """The processes that a process has begun."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


if __name__ == "__main__":
    main()
