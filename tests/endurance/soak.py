"""Uses the app for a long time as nobody would: every action and command of the table, in an order drawn by chance.

    python -m tests.endurance.soak [--minutes 60] [--seed 0] [--rounds 200]

The real app on a pseudo-terminal over a paced engine: messages, pastes, keys, commands, other sizes of the terminal,
all without waiting for one another. Now and then a new conversation is begun and the app's memory taken, where it
should be what it was. In the end the app has to be alive, quit with 0 at its key, and have nothing of trouble in
its log. ``--rounds`` is the engine's pace: faster than models, so that more is said in the time.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command
from tests.benchmarks.long_conversation import cpu_s, resident_mb
from tests.endurance.app import KEPT_BY
from tests.endurance.kills import PATIENCE_S, QUIT_KEY, WatchedChat
from tests.endurance.paced_engine import ROUNDS_PER_S

ROOT = Path(__file__).parents[2]
LEFT_OUT = {"quit", "accept"}
"""One ends the session, the other would fetch gigabytes."""
ACTIONS_A_CONVERSATION = 60
SIZES = ((100, 30), (80, 24), (140, 45), (60, 16), (20, 5), (200, 60))
KINDS = {"key": 10, "command": 6, "message": 5, "letters": 4, "mouse": 4, "paste": 1, "size": 1}
"""What is done, and how often one in comparison with the others."""
PRESS, DRAG, MOVE, SCROLL_UP, SCROLL_DOWN = 0, 32, 35, 64, 65
F_KEYS = "OP OQ OR OS [15~ [17~ [18~ [19~ [20~ [21~ [23~ [24~"
NAMED = {
    "escape": "\x1b", "enter": "\r", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "insert": "\x1b[2~", "at": "@", "shift+tab": "\x1b[Z",
    "alt+up": "\x1b[1;3A", "alt+down": "\x1b[1;3B", "ctrl+end": "\x1b[1;5F", "shift+enter": "\n",
    **{f"f{n}": f"\x1b{code}" for n, code in enumerate(F_KEYS.split(), 1)},
}  # fmt: skip
TROUBLE = re.compile(r"traceback|error|exception|warning|critical", re.IGNORECASE)


def main() -> None:
    """Use it, and print what was done and what it came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="localspec-soak-") as folder:
        os.chdir(folder)  # exports are written where the app was started
        keep = Path(folder) / "keep"
        keep.touch()
        env = {
            KEPT_BY: str(keep),
            ROUNDS_PER_S: str(options.rounds),
            "PYTHONPATH": str(ROOT),
            "EDITOR": "true",
            "HF_HUB_OFFLINE": "1",
        }
        chat = WatchedChat(Path(folder) / "home", env=env)
        chat.wait_for("plain speed", PATIENCE_S)
        use = Use(chat, random.Random(options.seed))
        use.go_on(options.minutes * 60)
        keep.unlink()
        use.end()
        print(f"{sum(use.done.values())} things done: {dict(sorted(use.done.items()))}")
        print(f"memory after a new conversation, MB: {' '.join(f'{mb:.0f}' for mb in use.memory_mb)}")
        third = max(1, len(use.memory_mb) // 3)
        last, middle = use.memory_mb[-third:], use.memory_mb[third : 2 * third] or use.memory_mb
        medians = f"{statistics.median(middle):.0f} and {statistics.median(last):.0f}"
        print(f"medians of the middle and the last third: {medians}")
        log = (Path(folder) / "home" / "logs" / "engine.log").read_text(errors="replace")
        lines = [line for line in log.splitlines() if TROUBLE.search(line)]
        print(f"{len(log.splitlines())} lines in the log, {len(lines)} of trouble")
        assert not lines, "\n".join(lines[:20])


class Use:
    """What is done to the app, one thing after the other."""

    def __init__(self, chat: WatchedChat, rng: random.Random) -> None:
        self.done: Counter[str] = Counter()
        self.memory_mb: list[float] = []
        self._chat = chat
        self._rng = rng
        self._messages_n = 0
        self._size_now = SIZES[0]
        self._actions = [action for action in CHAT.commands if action.id not in LEFT_OUT]

    def go_on(self, seconds: float) -> None:
        """Until the time is over."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            for _ in range(ACTIONS_A_CONVERSATION):
                self._something()
            self._begin_anew()

    def end(self) -> None:
        """Quit by key; the app has to end well, and to have painted no traceback."""
        chat = self._chat
        self._quiet()
        chat.type(QUIT_KEY)
        while chat.read(PATIENCE_S):
            pass
        code = chat.process.wait(PATIENCE_S)
        assert code == 0, f"ended with {code}"
        assert b"Traceback" not in chat.painted, chat.painted[-3000:].decode(errors="replace")
        chat.close()

    def _something(self) -> None:
        """One thing, and up to a second of looking at what it does."""
        kind = self._rng.choices(tuple(KINDS), tuple(KINDS.values()))[0]
        self.done[kind] += 1
        getattr(self, f"_{kind}")()
        self._look(self._rng.expovariate(8))
        self._still_there()

    def _key(self) -> None:
        action = self._rng.choice(self._actions)
        self._chat.type(bytes_of(action.keys.split(",")[0]))

    def _command(self) -> None:
        action = self._rng.choice([action for action in self._actions if action.slash])
        self._clear()
        self._chat.type(f"/{action.slash}{self._argument(action)} ")
        self._look(0.05)
        self._chat.type("\r")

    def _argument(self, action: Command) -> str:
        given = action.argument and self._rng.random() < 0.3
        return f" {self._rng.choice(('fox', 'nothing.txt', 'zebra crossing'))}" if given else ""

    def _message(self) -> None:
        self._clear()
        self._messages_n += 1
        self._chat.type(f"Tell me story {self._messages_n % 500}\r")

    def _letters(self) -> None:
        self._chat.type("".join(self._rng.choices("abcxyz ü東🎉/@", k=self._rng.randrange(1, 12))))

    def _paste(self) -> None:
        self._chat.type(b"\x1b[200~" + b"a pasted line \xff\n" * self._rng.randrange(1, 400) + b"\x1b[201~")

    def _mouse(self) -> None:
        """A click, two of them, something marked, or a turn of the wheel."""
        at, to = self._place(), self._place()
        kind = self._rng.choice(("click", "double", "drag", "wheel"))
        if kind == "wheel":
            turn = self._rng.choice((SCROLL_UP, SCROLL_DOWN))
            self._chat.type(mouse(turn, at) * self._rng.randrange(1, 30))
        elif kind == "drag":
            self._chat.type(mouse(PRESS, at) + mouse(DRAG, to) + mouse(PRESS, to, up=True) + mouse(MOVE, at))
        else:
            self._chat.type((mouse(PRESS, at) + mouse(PRESS, at, up=True)) * (2 if kind == "double" else 1))

    def _place(self) -> tuple[int, int]:
        columns_n, rows_n = self._size_now
        return self._rng.randint(1, columns_n), self._rng.randint(1, rows_n)

    def _size(self) -> None:
        self._resize(*self._rng.choice(SIZES))

    def _resize(self, columns_n: int, rows_n: int) -> None:
        self._size_now = columns_n, rows_n
        self._chat.resize(columns_n, rows_n)

    def _begin_anew(self) -> None:
        self._quiet()
        self._chat.type("/new\r")
        self._look(0.5)
        self._still_there()
        self.memory_mb.append(resident_mb(self._chat))
        things_n = sum(self.done.values())
        print(f"{things_n} things done, {self.memory_mb[-1]:.0f} MB, {cpu_s(self._chat):.0f} s", flush=True)

    def _quiet(self) -> None:
        """Back to an empty prompt, whatever is open and under way."""
        self._resize(*SIZES[0])
        for _ in range(6):
            self._chat.type("\x1b")
            self._look(0.2)
        self._chat.type(NAMED["insert"])
        self._clear()

    def _clear(self) -> None:
        self._chat.type("\x1b")
        self._look(0.08)
        self._chat.type("\x05" + "\x15" * 3)

    def _look(self, seconds: float) -> None:
        until = time.perf_counter() + min(seconds, 1.0)
        while (left := until - time.perf_counter()) > 0:
            self._chat.read(left)
        self._chat.painted = self._chat.painted[-20_000:]

    def _still_there(self) -> None:
        code = self._chat.process.poll()
        assert code is None, f"ended with {code}\n{self._last_words()}"

    def _last_words(self) -> str:
        while self._chat.read(0.2):
            pass
        painted = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._chat.painted.decode(errors="replace"))[-6000:]
        logs = sorted(Path.cwd().glob("home/logs/localspec.log"))
        return "\n".join([painted, *(log.read_text(errors="replace")[-6000:] for log in logs)])


def bytes_of(key: str) -> str:
    """What a terminal sends for a key of the table.

    >>> bytes_of("ctrl+t"), bytes_of("alt+r"), bytes_of("f5"), bytes_of("E")
    ('\\x14', '\\x1br', '\\x1b[15~', 'E')
    """
    if key in NAMED:
        return NAMED[key]
    if key.startswith("ctrl+"):
        return chr(ord(key[-1]) & 0x1F)
    return f"\x1b{key[-1]}" if key.startswith("alt+") else key


def mouse(button: int, place: tuple[int, int], *, up: bool = False) -> str:
    """What a terminal sends for a button of the mouse at a column and row, counted from 1 (its SGR mode).

    >>> mouse(PRESS, (3, 5)), mouse(PRESS, (3, 5), up=True)
    ('\\x1b[<0;3;5M', '\\x1b[<0;3;5m')
    """
    column, row = place
    return f"\x1b[<{button};{column};{row}{'m' if up else 'M'}"


if __name__ == "__main__":
    main()
