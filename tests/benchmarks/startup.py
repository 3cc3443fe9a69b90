"""How soon there is something to see.

    python -m tests.benchmarks.startup [--messages 100000]

Times ``localspec --help`` as a process, and the chat from its start to the first paint of its prompt and until its pair
is ready, on a pseudo-terminal, with the built-in pair, warm, beside a bare Python and a bare Textual app. A first start
measures the pair. With ``--messages`` it times the chat alone, over an empty store and over one of so many messages, in
turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.store import fill
from tests.terminal import Terminal

BARE_TEXTUAL = "from textual.app import App\nfrom textual.widgets import Static\n" + (
    "class Bare(App):\n    def compose(self):\n        yield Static('Ask anything')\nBare().run()"
)

_READY = "tokens/s on"
"""In the status line once the pair is loaded; while it is measured, that names the steps."""
_COMPILED_ONCE = {"PYTHONDONTWRITEBYTECODE": ""}
"""An installed package is compiled when it is installed; a clone on a machine that forbids it, at every start."""


def main() -> None:
    """Measure in turns and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=0)
    messages_n = parser.parse_args().messages
    _print(_over_stores(messages_n) if messages_n else _all())


def _all() -> dict[str, list[float]]:
    rows: dict[str, list[float]] = {}
    localspec = [sys.executable, "-m", "localspec"]
    with tempfile.TemporaryDirectory() as kept:
        for _ in range(9):
            for name, seconds in (
                ("python -c pass", _process([sys.executable, "-c", "pass"])),
                ("localspec --help", _process([*localspec, "--help"])),
                ("bare Textual app, first paint", _first_paint([sys.executable, "-c", BARE_TEXTUAL], "Ask")),
                ("localspec, first paint", _first_paint(localspec, "sk anything")),
                ("localspec, ready, first start", _first_paint(localspec, _READY)),
                ("localspec, ready to answer", _painted(localspec, _READY, kept)),
            ):
                rows.setdefault(name, []).append(seconds)
    return rows


def _over_stores(messages_n: int) -> dict[str, list[float]]:
    rows: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full:
        (Path(full) / "data").mkdir()
        fill(Path(full) / "data" / "history.db", messages_n)
        localspec = [sys.executable, "-m", "localspec"]
        for _ in range(9):
            for name, home in (("empty store", empty), (f"{messages_n:,} messages", full)):
                for what, text in (("first paint", "sk anything"), ("ready to answer", _READY)):
                    rows.setdefault(f"{name}, {what}", []).append(_painted(localspec, text, home))
    return rows


def _print(rows: dict[str, list[float]]) -> None:
    for name, seconds in rows.items():
        seconds = seconds[1:]  # the first warms the file cache
        print(f"{name:32} median {statistics.median(seconds):.3f} s  ({min(seconds):.3f} to {max(seconds):.3f})")


def _process(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=True, env={**os.environ, **_COMPILED_ONCE}
    )
    return time.perf_counter() - begun


def _first_paint(command: list[str], text: str) -> float:
    with tempfile.TemporaryDirectory() as home:
        return _painted(command, text, home)


def _painted(command: list[str], text: str, home: str) -> float:
    terminal = Terminal(command, {"LOCALSPEC_HOME": home, **_COMPILED_ONCE})
    try:
        terminal.wait_for(text, 60)
        return time.perf_counter() - terminal.started
    finally:
        terminal.close()


if __name__ == "__main__":
    main()
