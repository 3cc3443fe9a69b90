"""The opening of the models screen with many files known: from the key to the first drawing of the list.

Run ``python -m tests.benchmarks.models_screen``; ``--files 5000`` and ``--repeats 7`` are the defaults. The files are
single models in the user's pairs.toml. The list is in memory already, as after the first look; the time until it has
been read anew in the background is printed beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.source import LocalPairs
from localspec.doctor.native_probe import NativeReport
from localspec.models.pairs import ModelFile, Pair
from localspec.models.pairs.user_pairs import append_pairs
from localspec.tui.app import ChatApp
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.widgets.pair_list import PairList
from tests.gguf_files import write
from tests.models.pairs.support import BIG
from tests.tui.fakes import NoSettings, with_settings
from tests.tui.support import LAUNCH, FakeEngine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOCALSPEC_HOME"] = f"{folder}/home"
        os.environ["HF_HUB_CACHE"] = f"{folder}/hub"
        known(Path(folder), asked.files)
        asyncio.run(measure(asked.repeats))


def known(folder: Path, n: int) -> None:
    """Make ``n`` pairs of a single model each; the files are links to one."""
    whole = write(folder / "whole.gguf", BIG)
    pairs = []
    for number in range(n):
        path = folder / f"model-{number:04}-Q4_0.gguf"
        path.hardlink_to(whole)
        file = ModelFile(file=str(path), path=path, architecture="llama", verified=True)
        pairs.append(Pair(id=f"model-{number:04}", title=f"Model {number:04}", target=file))
    append_pairs(*pairs)


async def measure(repeats: int) -> None:
    """Print the times of opening, filtering and moving."""
    source = LocalPairs(NoSettings(LAUNCH))
    source._native = NativeReport(version="1", threads=2)
    library, engine = PairLibrary(source), FakeEngine()
    began = time.perf_counter()
    library.look()
    while not library.judged:
        await asyncio.sleep(0.05)
    print(f"read in the background: {time.perf_counter() - began:.1f} s for {len(library.pairs)} pairs")
    app = ChatApp(with_settings(LAUNCH), engine, engine.inbox, library)
    async with app.run_test(size=(120, 40)) as pilot:
        engine.load()
        await pilot.pause(0.5)
        library.look = lambda: None  # type: ignore[method-assign] # the background has its own figure
        spent: dict[str, list[float]] = {"open": [], "type a letter": [], "go down": []}
        for _ in range(repeats):
            spent["open"].append(await timed(app, app.choose_pair))
            screen = app.screen
            assert isinstance(screen, PairsScreen)
            assert screen.query_one(PairList).option_count
            spent["go down"].append(await timed(app, partial(screen.move, 1)))
            await pilot.press("7")
            spent["type a letter"].append(await timed(app, screen.show_pairs))
            await pilot.press("escape")
            await pilot.pause(0.2)
        for what, times in spent.items():
            print(
                f"{what}: {statistics.median(times) * 1000:.0f} ms ({min(times) * 1000:.0f} to {max(times) * 1000:.0f})"
            )


async def timed(app: ChatApp, act: Callable[[], object]) -> float:
    """Seconds until the screen has been drawn after an action."""
    drawn = asyncio.Event()
    began = time.perf_counter()
    act()
    app.screen.call_after_refresh(drawn.set)
    await drawn.wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
