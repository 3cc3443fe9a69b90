"""What drawing costs the model, found within single replies.

    python -m tests.benchmarks.drawing --target TARGET.gguf --draft DRAFT.gguf [--truth all] [--replies 8]

Two runs of a program differ by more than the screen costs. So in each reply the real chat, on a pseudo-terminal,
draws for a second and a half as ever and then not at all for as long, in an order drawn anew for each such pair, and
the rounds that lie wholly within one stretch are compared with those of the other: seconds a token. The share of a
core that the screen may take is counted over the stretches with drawing, as if they were one reply. Run it on an
otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from localspec.base.paths import user_paths
from localspec.chat.frame_rate import FrameRate
from localspec.chat.tokens.marking import GhostMode, MarkMode
from localspec.cli import main as localspec
from localspec.cli.services import Services
from localspec.engine.events import Finished, Round
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Answer, Emitted
from localspec.tui.app import Client, run_app
from localspec.tui.screens import chat
from tests.benchmarks.long_reply import settings as show_tokens
from tests.terminal import Terminal

STRETCH_S = 1.5
PROMPT = "Count from 1 to 1000"


class Stretches:
    """Whether to draw at a moment of the reply, and the rounds so far."""

    def __init__(self) -> None:
        self.began_s: float | None = None
        self.rounds: list[tuple[int, bool, float]] = []
        """The pair of stretches, whether there was drawing, seconds a token."""
        self.frames_n = 0
        self._draws: list[bool] = []
        self._source = random.Random()

    def draws(self, now_s: float) -> bool:
        """Before the first round, always."""
        return self.began_s is None or self._drawn(self._number(now_s))

    def add(self, round_: Round, now_s: float) -> None:
        """Keep a round that has just ended, if it lies within one stretch."""
        if self.began_s is None:
            self.began_s = now_s
        number = self._number(now_s)
        if now_s - round_.total_s >= self.began_s and self._number(now_s - round_.total_s) == number:
            self.rounds.append((number // 2, self._drawn(number), round_.total_s / len(round_.tokens)))

    def _number(self, now_s: float) -> int:
        assert self.began_s is not None
        return int((now_s - self.began_s) / STRETCH_S)

    def _drawn(self, number: int) -> bool:
        while len(self._draws) <= number:
            first = self._source.random() < 0.5
            self._draws += [first, not first]
        return self._draws[number]


class RateInStretches(FrameRate):
    """As ever in every other stretch, and no frame in those between, which do not count."""

    def __init__(self, stretches: Stretches) -> None:
        super().__init__()
        self._stretches = stretches
        self._left: tuple[float, float] | None = None
        """Time and processor time at which drawing stopped."""

    def due(self) -> bool:
        if not self._stretches.draws(time.monotonic()):
            self._left = self._left or (time.monotonic(), time.process_time())
            return False
        if self._left is not None:
            self._began_s += time.monotonic() - self._left[0]
            self._spent_before_s += time.process_time() - self._left[1]
            self._left = None
        due = super().due()
        self._stretches.frames_n += due and self._stretches.began_s is not None
        return due


def open_screen(found: Path, chat_config: ChatConfig) -> None:
    """The real screen over the real engine; what was found in a reply is written to a file."""
    stretches = Stretches()
    setattr(chat, "FrameRate", partial(RateInStretches, stretches))  # noqa: B010 -- a name that the module only imports

    def make_client(deliver: Callable[[Answer], None]) -> Client:
        def watch(answer: Answer) -> None:
            deliver(answer)
            if isinstance(answer, Emitted) and isinstance(answer.event, Round):
                stretches.add(answer.event, time.monotonic())
            if isinstance(answer, Emitted) and isinstance(answer.event, Finished):
                stretches.began_s = None
                part = found.with_suffix(".part")
                part.write_text(json.dumps([stretches.frames_n, stretches.rounds]))
                part.rename(found)

        return EngineClient(watch, user_paths().engine_log)

    run_app(chat_config, make_client)


def one_reply(arguments: argparse.Namespace, home: Path) -> tuple[list[float], float]:
    """Speed with drawing over speed without, for each pair of stretches; and frames a second of drawing."""
    found = home / "found.json"
    found.unlink(missing_ok=True)
    options = ("--target", arguments.target, "--draft", arguments.draft, "--temperature", 0, "--depth", 3)
    limits = ("--threads", arguments.threads, "--max-tokens", arguments.tokens)
    command = [sys.executable, "-m", "tests.benchmarks.drawing", "--in-terminal", found, *options, *limits]
    terminal = Terminal([str(word) for word in command], {"LOCALSPEC_HOME": str(home)})
    try:
        terminal.wait_for("plain speed", 120)
        terminal.type(PROMPT + "\r")
        while not found.exists():
            terminal.read(0.2)
        frames_n, rounds = json.loads(found.read_text())
    finally:
        terminal.close()
    pairs: dict[int, dict[bool, list[float]]] = defaultdict(lambda: defaultdict(list))
    for pair, drawn, seconds in rounds:
        pairs[pair][drawn].append(seconds)
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    ratios = [statistics.mean(pair[False]) / statistics.mean(pair[True]) for pair in whole]
    return ratios, frames_n / (STRETCH_S * max(1, len(whole)))


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--in-terminal"]:
        services = Services(open_screen=partial(open_screen, Path(sys.argv[2])), has_terminal=lambda: True)
        localspec(["chat", *sys.argv[3:]], services=services)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=800)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--replies", type=int, default=8)
    parser.add_argument("--truth", nargs="+", choices=["all", *MarkMode], default=[MarkMode.ORIGIN], metavar="MODE")
    arguments = parser.parse_args()
    modes = list(MarkMode) if "all" in arguments.truth else [MarkMode(mode) for mode in arguments.truth]
    ratios: dict[MarkMode, list[float]] = {mode: [] for mode in modes}
    for number in range(1, arguments.replies + 1):
        for mode in random.sample(modes, len(modes)):
            with tempfile.TemporaryDirectory(prefix="localspec-bench-") as home:
                show_tokens(Path(home), mode, GhostMode.KEEP)
                found, frames_hz = one_reply(arguments, Path(home))
            ratios[mode] += found
            speeds = ", ".join(f"{ratio:.3f}" for ratio in found)
            print(f"{number}: {mode}, {frames_hz:.1f} frames/s, speed {speeds}", flush=True)
    for mode in modes:
        report(mode, ratios[mode])
    if len(modes) > 1:
        report("all together", [ratio for mode in modes for ratio in ratios[mode]])


def report(what: str, ratios: list[float]) -> None:
    """Print the middle of them."""
    quarters = statistics.quantiles(ratios, n=4)
    middle = f"median {quarters[1]:.3f}, quartiles {quarters[0]:.3f} to {quarters[2]:.3f}"
    print(f"{what}: with drawing over without: {middle}, n = {len(ratios)}")


if __name__ == "__main__":
    main()
