"""The speed beside other programs, with a governed number of threads and with a fixed one, in turns.

    python -m tests.benchmarks.threads [--target FILE --draft FILE] [--others 0 1 2] [--threads 1 2] [--tokens 100]

The same pair is loaded once as it is by default, which has as many threads as there are free processors, and once for
each number of ``--threads``. Every prompt is answered by each in an order drawn anew. Tokens a second over all prompts,
with guesses, and the median of the ratio to the default.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Mapping
from pathlib import Path

from localspec.engine.cancel import Cancellation
from localspec.runtime.load import OpenPair, open_pair
from localspec.runtime.options import LoadOptions
from tests.benchmarks.busy import PROMPTS, answered, others
from tests.builtin import DRAFT, TARGET

_SETTLED_S = 0.5


def measure(pairs: Mapping[str, OpenPair], repeats: int, tokens: int) -> str:
    """A cell of the table for each pair."""
    speeds: dict[str, list[float]] = {name: [] for name in pairs}
    for _ in range(repeats):
        for prompt in PROMPTS:
            for name in random.sample(list(pairs), len(pairs)):
                time.sleep(_SETTLED_S)  # in a chat a reply does not follow right upon another
                speeds[name].append(answered(pairs[name], prompt, None, tokens).predicted_per_second or 0.0)
    return " | ".join(_cell(found, speeds["default"]) for found in speeds.values())


def _cell(speeds: list[float], default: list[float]) -> str:
    ratios = sorted(mine / theirs for mine, theirs in zip(speeds, default, strict=True) if theirs)
    spread = "" if speeds is default else f" {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return f"{statistics.median(speeds):.0f}{spread}"


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, default=TARGET)
    parser.add_argument("--draft", type=Path, default=DRAFT)
    parser.add_argument("--others", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=100)
    given = parser.parse_args()
    random.seed(0)
    numbers: dict[str, int | None] = {"default": None, **{str(n): n for n in given.threads}}
    pairs = {
        name: open_pair(LoadOptions(given.target, given.draft, threads=n), Cancellation())
        for name, n in numbers.items()
    }
    print(f"| others | {' | '.join(name if name == 'default' else f'threads {name}' for name in pairs)} |")
    print(f"| ---: |{' --- |' * len(pairs)}")
    for n in given.others:
        with others(n):
            print(f"| {n} | {measure(pairs, given.repeats, given.tokens)} |", flush=True)
    for pair in pairs.values():
        pair.close()


if __name__ == "__main__":
    main()
