"""What flash attention costs or saves on this machine's CPU, by batch and by length of the context.

    python -m tests.benchmarks.attention FILE [--threads 2] [--contexts 60 200 400 1000 1500]

Both contexts are made of the same model in one process, and evaluate in turns. Below the table, what reading a prompt
of the longest context takes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation

BATCHES = (1, 2, 4, 8, 16)
_SLACK = 64


def main() -> None:
    """Measure and print a table in Markdown: milliseconds fused / unfused, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--contexts", type=int, nargs="+", default=[60, 200, 400, 1000, 1500])
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    longest = max(given.contexts)
    fused, unfused = (
        LlamaModel.open(
            LoadSettings(given.file, max(BATCHES), longest + _SLACK, given.threads, flash_attn=wish), Cancellation()
        )
        for wish in (True, False)
    )
    print(f"| context | {' | '.join(f'batch of {batch}' for batch in BATCHES)} |")
    print(f"| ---: |{' ---: |' * len(BATCHES)}")
    for n in given.contexts:
        cells = [_in_turns(fused, unfused, n, batch, given.repeats) for batch in BATCHES]
        print(f"| {n} | {' | '.join(cells)} |", flush=True)
    reads = [[_reading_s(model, longest, seed) for model in (fused, unfused)] for seed in range(1, 4)]
    fused_s, unfused_s = (statistics.median(column) for column in zip(*reads, strict=True))
    print(f"\nReading {longest} tokens takes {unfused_s / fused_s:.2f} times as long unfused.")


def _in_turns(fused: LlamaModel, unfused: LlamaModel, n: int, batch: int, repeats: int) -> str:
    context = _tokens(n, 0)
    spent_s: tuple[list[float], list[float]] = ([], [])
    for model in (fused, unfused):
        model.logits(context, 1)
    for turn in range(repeats):
        more = [*context, *_tokens(batch, turn + 1)]
        for model, spent in zip((fused, unfused), spent_s, strict=True):
            started = time.perf_counter()
            model.logits(more, batch)
            spent.append(time.perf_counter() - started)
    with_s, without_s = map(statistics.median, spent_s)
    return f"{with_s * 1e3:.0f} / {without_s * 1e3:.0f} = {with_s / without_s:.2f}"


def _reading_s(model: LlamaModel, n: int, seed: int) -> float:
    started = time.perf_counter()
    model.logits(_tokens(n, 100 + seed), 1)
    return time.perf_counter() - started


def _tokens(n: int, seed: int) -> list[int]:
    """Ordinary tokens, another first one for each seed."""
    return [100 + (seed + i) % 900 for i in range(n)]


if __name__ == "__main__":
    main()
