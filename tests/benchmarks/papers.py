"""Time to take in a PDF of 300 pages, and how long the screen keeps a key waiting meanwhile.

    python -m tests.benchmarks.papers [--pages N] [--rounds N]

The prompt of the chat attaches the file while a letter is typed every 50 ms. A key's time is from its event until the
screen has been drawn with it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from textual.events import Key

from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.papers.passages import found_for, index_of
from tests.chat.papers.documents import pdf_of_lines
from tests.tui.prompt_app import PromptApp

WORDS = ("fox", "tree", "engine", "token", "reads", "guesses", "while", "person", "machine", "answers", "the", "of")
KEY_EVERY_S = 0.05


def write_pdf(path: Path, pages_n: int) -> None:
    """Pages of 45 lines with 12 words each, set as typesetters do: pairs of letters with their distances."""
    source = random.Random(0)
    page = [[" ".join(source.choices(WORDS, k=12)) for _ in range(45)] for _ in range(pages_n)]
    path.write_bytes(pdf_of_lines(page, set_in_pairs))


def set_in_pairs(line: str) -> str:
    """The operators that show a line, with a distance after every second letter."""
    return f"[{' -12 '.join(f'({line[at : at + 2]})' for at in range(0, len(line), 2))}] TJ"


async def keys_ms(path: Path, folder: Path) -> tuple[float, list[float]]:
    """Seconds until the file is attached, and milliseconds of each key pressed meanwhile."""
    app = PromptApp(folder)
    waits: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        app.prompt.fit(8192)
        await pilot.pause()
        started = time.perf_counter()
        app.prompt.begin_attaching(str(path))
        while not app.prompt.enclosures.knows(str(path)) or len(waits) < 20:
            pressed = time.perf_counter()
            length = len(app.prompt.text)
            app.post_message(Key("x", "x"))
            while len(app.prompt.text) == length:
                await asyncio.sleep(0)
            drawn = asyncio.Event()
            app.call_after_refresh(drawn.set)
            await drawn.wait()
            waits.append((time.perf_counter() - pressed) * 1e3)
            if not app.prompt.enclosures.knows(str(path)):
                taken_s = time.perf_counter() - started
            await asyncio.sleep(KEY_EVERY_S)
    return taken_s, waits


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["LOCALSPEC_HOME"] = name
        path = Path(name) / "long.pdf"
        write_pdf(path, arguments.pages)
        for number in range(arguments.rounds):
            started = time.perf_counter()
            attachment = read_attachment(path, path.name, 8192)
            alone_s = time.perf_counter() - started
            started = time.perf_counter()
            found_for(f"Which fox guesses {number}?", (index_of(attachment.files),), 6000)
            found_ms = (time.perf_counter() - started) * 1e3
            taken_s, waits = asyncio.run(keys_ms(path, Path(name) / "data"))
            print(
                f"{path.stat().st_size / 1e6:.1f} MB, {attachment.size_bytes / 1e6:.1f} MB of text: {alone_s:.1f} s "
                f"alone, {taken_s:.1f} s in the prompt; searched in {found_ms:.0f} ms; a key median "
                f"{statistics.median(waits):.0f} ms, max {max(waits):.0f} ms of {len(waits)}"
            )


if __name__ == "__main__":
    main()
