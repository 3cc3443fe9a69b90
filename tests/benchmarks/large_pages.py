"""What large pages are worth on this machine.

    python -m tests.benchmarks.large_pages FILE [--threads 2] [--repeats 7]

Loads the model in a fresh process each time, with and without asking for large pages in turns, and times plain decoding
and a verification of eight: where a process's memory lies decides as much as how it is asked for, so one process says
little.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation

_PLAIN_N, _VERIFY_N, _BATCH = 24, 8, 8


def main() -> None:
    """Measure in turns and print medians; or, for a turn, one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--turn", choices=("large", "small"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.turn:
        print(json.dumps(_turn(given.file, given.threads, large=given.turn == "large")))
        return
    command = [sys.executable, "-m", "tests.benchmarks.large_pages", str(given.file), "--threads", str(given.threads)]
    turns: dict[str, list[tuple[float, float]]] = {"large": [], "small": []}
    for _ in range(given.repeats):
        for kind, spent in turns.items():
            said = subprocess.run([*command, "--turn", kind], capture_output=True, text=True, check=True).stdout
            spent.append(tuple(json.loads(said)))
    for number, what in enumerate(("plain decoding", f"a verification of {_BATCH}")):
        large, small = ([spent[number] for spent in turns[kind]] for kind in ("large", "small"))
        ratio = statistics.median(small) / statistics.median(large)
        print(f"{what}: {_spread(small)} ms with small pages, {_spread(large)} ms with large ones; {ratio:.2f} x")


def _turn(file: Path, threads: int, *, large: bool) -> tuple[float, float]:
    """Milliseconds for a token and for a verification, medians."""
    settings = LoadSettings(file, _BATCH, 1024, threads, flash_attn=False, large_pages=large)
    model = LlamaModel.open(settings, Cancellation())
    context = list(range(100, 130))
    model.logits(context, 1)
    plain_s = []
    for i in range(_PLAIN_N):
        context.append(200 + i)
        plain_s.append(_timed(model, context, 1))
    verify_s = [_timed(model, [*context, *range(300 + i, 300 + i + _BATCH)], _BATCH) for i in range(_VERIFY_N)]
    return statistics.median(plain_s) * 1e3, statistics.median(verify_s) * 1e3


def _timed(model: LlamaModel, context: list[int], last: int) -> float:
    started = time.perf_counter()
    model.logits(context, last)
    return time.perf_counter() - started


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


if __name__ == "__main__":
    main()
