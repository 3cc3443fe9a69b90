"""What the chat screen costs the model, and how quickly a key paints meanwhile.

    python -m tests.benchmarks.screen_cost --target TARGET.gguf --draft DRAFT.gguf [--truth all] [--ghosts brief]

Alternates ``localspec run --json`` without a terminal and the chat on a pseudo-terminal, same prompt,
same options, and compares the engine's own tokens per second. While the chat streams, keys are typed
at random moments, and the time until each is painted is taken. Several ways of marking tokens (``--truth all`` or
``--truth off heat``) take turns, each chat beside a ``localspec run`` of its own, now before and now after it. Run it
on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from localspec.chat.tokens.marking import GhostMode, MarkMode
from tests.benchmarks.long_reply import settings as show_tokens
from tests.terminal import Terminal

PROMPT = "Count from 1 to 100"
TYPED = "Ж"  # not in the model's vocabulary of text, so that seeing it painted means the key was


def main() -> None:
    """Measure and print."""
    arguments = _parse()
    home = tempfile.mkdtemp(prefix="localspec-bench-")
    modes = list(MarkMode) if "all" in arguments.truth else [MarkMode(mode) for mode in arguments.truth]
    without: dict[MarkMode, list[float]] = {mode: [] for mode in modes}
    beside: dict[MarkMode, list[float]] = {mode: [] for mode in modes}
    keys: dict[MarkMode, list[float]] = {mode: [] for mode in modes}
    for repeat in range(arguments.repeats):
        for mode in modes:
            show_tokens(Path(home), mode, arguments.ghosts)
            before = run_speed(arguments, home) if repeat % 2 else None
            speed, latencies = chat_speed(arguments, home)
            run = before or run_speed(arguments, home)
            without[mode].append(run)
            beside[mode].append(speed)
            keys[mode] += latencies
            ratio = f"run {run:.1f} tokens/s, chat {speed:.1f}, ratio {speed / run:.3f}"
            print(f"{repeat + 1}: {mode}, ghosts {arguments.ghosts}: {ratio}", flush=True)
    for mode in modes:
        print(f"{mode}, ghosts {arguments.ghosts}")
        report(without[mode], beside[mode], sorted(keys[mode]))
    if len(modes) > 1:
        print("all together")
        report(
            [each for mode in modes for each in without[mode]], [each for mode in modes for each in beside[mode]], []
        )


def report(without: list[float], beside: list[float], keys: list[float]) -> None:
    """Print how the two speeds compare."""
    ratios = [b / a for a, b in zip(without, beside, strict=True)]
    print(
        f"median ratio {statistics.median(ratios):.3f} (from {min(ratios):.3f} to {max(ratios):.3f}), n = {len(ratios)}"
    )
    print(f"ratio of medians {statistics.median(beside) / statistics.median(without):.3f}")
    if not keys:
        return
    p95 = keys[int(0.95 * (len(keys) - 1))]
    middle = statistics.median(keys)
    print(f"key to paint: median {middle:.0f} ms, p95 {p95:.0f} ms, max {keys[-1]:.0f} ms, n = {len(keys)}")


def run_speed(arguments: argparse.Namespace, home: str) -> float:
    """Tokens per second of ``localspec run``, by the engine's own figures."""
    command = [sys.executable, "-m", "localspec", "run", "--json", *_pair(arguments), PROMPT]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LOCALSPEC_HOME": home},
    )
    return float(json.loads(done.stdout.splitlines()[-1])["timings"]["predicted_per_second"])


def chat_speed(arguments: argparse.Namespace, home: str) -> tuple[float, list[float]]:
    """Tokens per second while the chat streams, and the milliseconds from keys to their paint."""
    figures = Path(home) / "figures.json"
    figures.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.benchmarks.watched_chat", str(figures), *_pair(arguments)]
    terminal = Terminal(command, {"LOCALSPEC_HOME": home})
    try:
        terminal.wait_for("plain speed", 120)
        terminal.type(PROMPT + "\r")
        latencies = _press_keys(terminal, figures) if arguments.keys else _watch(terminal, figures)
        return float(json.loads(figures.read_text())["predicted_per_second"]), latencies
    finally:
        terminal.close()


def _watch(terminal: Terminal, figures: Path) -> list[float]:
    while not figures.exists():
        terminal.read(0.2)
    return []


def _press_keys(terminal: Terminal, figures: Path) -> list[float]:
    latencies: list[float] = []
    source = random.Random(len(str(figures)))
    time.sleep(1.0)  # into the middle of the reply
    while not figures.exists():
        terminal.type(TYPED)
        latencies.append(terminal.wait_for(TYPED, 10) * 1e3)
        until = time.perf_counter() + source.uniform(0.2, 0.6)
        while (left := until - time.perf_counter()) > 0:
            terminal.read(left)
    return latencies[:-1] or latencies  # the last may have been typed after the end


def _pair(arguments: argparse.Namespace) -> list[str]:
    options = {
        "--target": arguments.target,
        "--draft": arguments.draft,
        "--temperature": 0,
        "--depth": 3,
        "--threads": arguments.threads,
        "--max-tokens": arguments.tokens,
    }
    return [str(word) for option in options.items() for word in option]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keys", action=argparse.BooleanOptionalAction, default=True, help="type during the reply")
    parser.add_argument("--truth", nargs="+", choices=["all", *MarkMode], default=[MarkMode.ORIGIN], metavar="MODE")
    parser.add_argument("--ghosts", choices=list(GhostMode), default=GhostMode.BRIEF)
    return parser.parse_args()


if __name__ == "__main__":
    main()
