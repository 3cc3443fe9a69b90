"""The speed-up that is shown beside other programs, against plain and speculative replies in turns under the same load.

    python -m tests.benchmarks.busy [--target FILE --draft FILE] [--others 0 1 2 4] [--repeats 6] [--tokens 100]

Without files it takes the built-in pair. The other programs are processes that do nothing but count. Every prompt is
answered plainly and as LocalSpec chooses, in an order drawn anew each time, at temperature 0, so that both write the
same text. The pair is loaded, and its prices measured, under the first load.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished
from localspec.engine.settings import Sampling
from localspec.engine.timings import Timings
from localspec.runtime.load import OpenPair, open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from tests.builtin import DRAFT, TARGET

PROMPTS = (
    "Tell me a story about a fox.",
    "Count from 1 to 40.",
    "What is speculative decoding?",
    "Write a Python function for the factorial.",
    "Say the alphabet.",
    "What do the colours mean?",
)


@contextmanager
def others(n: int) -> Iterator[None]:
    """So many processes that want a core each."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def answered(pair: OpenPair, prompt: str, spec: tuple[str, ...] | None, tokens: int) -> Timings:
    options = ReplyOptions(Sampling(temperature=0), spec=spec, seed=1, max_tokens=tokens)
    *_, last = pair.reply([Message(Role.USER, prompt)], options)
    assert isinstance(last, Finished)
    return last.timings


def measure(pair: OpenPair, repeats: int, tokens: int) -> str:
    """A row of the table."""
    plain_ms: list[float] = []
    told: list[tuple[float, float, float]] = []
    busy_n = 0
    for _ in range(repeats):
        for prompt in PROMPTS:
            lanes: list[tuple[str, ...] | None] = [(), None]
            random.shuffle(lanes)
            found = {lane: answered(pair, prompt, lane, tokens) for lane in lanes}
            plain, ours = found[()], found[None]
            plain_ms.append(plain.predicted_ms)
            if ours.speedup_vs_plain is None:
                busy_n += 1
            else:
                told.append((ours.speedup_vs_plain, plain.predicted_ms, ours.predicted_ms))
    if not told:
        return f"{busy_n} of {busy_n} busy"
    shown = sum(speedup * ours for speedup, _, ours in told) / sum(ours for _, _, ours in told)
    measured = sum(plain for _, plain, _ in told) / sum(ours for _, _, ours in told)
    ratios = sorted(plain / ours for _, plain, ours in told)
    single = f"{ratios[len(ratios) // 10]:.2f} to {ratios[-1 - len(ratios) // 10]:.2f}"
    figures = sorted(speedup for speedup, _, _ in told)
    spread = f"{figures[len(figures) // 10]:.2f} to {figures[-1 - len(figures) // 10]:.2f}"
    return (
        f"{statistics.median(plain_ms) / 1e3:.2f} s | {shown:.2f} ({spread}) | {measured:.2f} ({single}) | "
        f"{shown / measured:.2f} | {busy_n} of {busy_n + len(told)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, default=TARGET)
    parser.add_argument("--draft", type=Path, default=DRAFT)
    parser.add_argument("--others", type=int, nargs="+", default=[0, 1, 2, 4])
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=100)
    given = parser.parse_args()
    random.seed(0)
    with others(given.others[0]):
        pair = open_pair(LoadOptions(given.target, given.draft), Cancellation())
    print("| others | plain reply | shown | measured | shown / measured | busy |")
    print("| ---: | ---: | --- | --- | ---: | ---: |")
    for n in given.others:
        with others(n):
            print(f"| {n} | {measure(pair, given.repeats, given.tokens)} |", flush=True)
    pair.close()


if __name__ == "__main__":
    main()
