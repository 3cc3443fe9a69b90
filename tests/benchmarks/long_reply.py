"""What the screen has to do for a token of a reply, the longer it gets: a block of code that is never closed.

    python -m tests.benchmarks.long_reply [--tokens 20000] [--rounds 150] [--marks rounds] [--ghosts keep]

The real app on a pseudo-terminal of 100x30 over a paced engine. Processor time of the app's own process, taken whenever
another thousand tokens have been painted: on a busy machine it says more than the clock.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from pathlib import Path

from localspec.chat.tokens.marking import GhostMode, MarkMode
from tests.benchmarks.long_conversation import cpu_s, report, settle
from tests.endurance.kills import PATIENCE_S, WatchedChat
from tests.endurance.paced_engine import ROUNDS_PER_S

STEP_N = 1000
NUMBER = re.compile(rb"x(\d{5})")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=150, help="rounds a second")
    parser.add_argument("--marks", choices=list(MarkMode), default=MarkMode.ORIGIN)
    parser.add_argument("--ghosts", choices=list(GhostMode), default=GhostMode.BRIEF)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="localspec-reply-") as folder:
        settings(Path(folder), options.marks, options.ghosts)
        chat = WatchedChat(Path(folder), env={ROUNDS_PER_S: str(options.rounds)})
        chat.wait_for("plain speed", PATIENCE_S)
        settle(chat)
        chat.type(f"fence {options.tokens}\r")
        steps = watch(chat, options.tokens)
        before = cpu_s(chat)
        settle(chat)
        end_s = cpu_s(chat) - before
        keys = press_a_few(chat)
        chat.close()
    print(f"marks {options.marks}, ghosts {options.ghosts}: milliseconds of processor time for a thousand tokens")
    print("  " + " ".join(f"{step_s * 1e3:.0f}" for step_s in steps))
    half = len(steps) // 2
    first, second = statistics.median(steps[:half]), statistics.median(steps[half:])
    print(f"  second half over the first, medians: {second / first:.2f}; the end of the reply: {end_s * 1e3:.0f} ms")
    report("after it", keys)


def settings(home: Path, marks: str, ghosts: str) -> None:
    """Have replies shown so from the start."""
    file = home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[screen]\ntruth = "{marks}"\nghosts = "{ghosts}"\n')


def watch(chat: WatchedChat, tokens_n: int) -> list[float]:
    """Processor seconds of each thousand tokens, from the first painted to the last."""
    steps: list[float] = []
    at, last_s = 0, cpu_s(chat)
    while at + STEP_N <= tokens_n:
        chat.painted = chat.painted[-20:]
        if not chat.read(PATIENCE_S):
            raise TimeoutError(f"nothing was painted after {at} tokens")
        if (seen := NUMBER.findall(chat.painted)) and max(map(int, seen)) + 1 >= at + STEP_N:
            at += STEP_N
            now_s = cpu_s(chat)
            steps.append(now_s - last_s)
            last_s = now_s
    return steps


def press_a_few(chat: WatchedChat) -> list[float]:
    """Seconds from keys to their paint, the long reply above."""
    took = []
    for key in "ЖЩЮЯ" * 5:
        chat.painted = b""
        chat.type(key)
        took.append(chat.wait_for(key, PATIENCE_S))
    return took


if __name__ == "__main__":
    main()
