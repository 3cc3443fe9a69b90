"""Asks ``localspec serve`` for many replies: one after the other, and more at once than it may take.

    python -m tests.endurance.requests [--in-a-row 1000] [--at-once 200] [--queue 64]

The server is a process of its own with the built-in pair. Every request in a row must be answered, and neither the
server nor its engine process may go on growing: told are the memory that each has of the system, and what of it is in
use after a garbage collection, by malloc and by Python. Of those at once, as many as there are places and room in the
queue must be answered with whole replies, and the others refused with 503 and ``Retry-After``; then one more is
answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx2

from tests.benchmarks.long_conversation import process_mb
from tests.server.test_serve import served

PLACES_N = 4
TIMEOUT_S = 120.0
MOST_GROWTH_MB = 8.0
"""From the half to the end: the first half fills caches that have a bound."""
MOST_KEPT_BYTES, MOST_KEPT_BLOCKS = 200_000, 2_000
"""Likewise of what is in use: in malloc's heap, and in Python's own."""
PROBE = Path(__file__).with_name("memory_probe")
PROMPTS = ("Hello", "What is a draft model?", "Count to twenty.", "Write a short poem about autumn.", "Say it again.")


def main() -> None:
    """Ask, and print what became of the requests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--in-a-row", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=24, help="of each reply in a row, at most")
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--queue", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join((str(PROBE), *filter(None, [os.environ.get("PYTHONPATH")])))
        env = {**os.environ, "MEMORY_PROBE": folder, "PYTHONPATH": path}
        with served("--parallel", f"{PLACES_N}", "--queue", f"{options.queue}", env=env) as (process, url):
            in_a_row(url, process.pid, options.in_a_row, options.tokens, Path(folder))
            asyncio.run(at_once(url, options.at_once, PLACES_N + options.queue))


def in_a_row(url: str, server: int, count: int, tokens_n: int, folder: Path) -> None:
    """Ask ``count`` times, and take the memory of the server and of its engine process ten times."""
    with httpx2.Client(base_url=url, timeout=TIMEOUT_S) as client:
        ask(client, 0, tokens_n)
        pids = (server, *engines_of(server))
        assert len(pids) > 1, "no engine process"
        taken: list[list[tuple[float, int, int]]] = []
        began = time.perf_counter()
        for i in range(count):
            ask(client, i, tokens_n)
            if (i + 1) % max(1, count // 10) == 0:
                taken.append([memory_of(pid, folder) for pid in pids])
        print(f"{count} in a row: all answered in {time.perf_counter() - began:.0f} s")
    for name, memory in zip(("server", *["engine"] * len(pids)), zip(*taken, strict=True), strict=False):
        resident, malloced, blocks = zip(*memory, strict=True)
        print(f"memory of the {name}, MB: {' '.join(f'{mb:.1f}' for mb in resident)}")
        print(f"  in use by malloc, kB: {' '.join(f'{n / 1e3:.0f}' for n in malloced)}")
        print(f"  blocks in use by Python: {' '.join(map(str, blocks))}")
        half = len(memory) // 2
        assert resident[-1] - resident[half] < MOST_GROWTH_MB, f"the {name} grows"
        assert malloced[-1] - malloced[half] < MOST_KEPT_BYTES, f"the {name} keeps memory"
        assert blocks[-1] - blocks[half] < MOST_KEPT_BLOCKS, f"the {name} keeps objects"


def memory_of(pid: int, folder: Path) -> tuple[float, int, int]:
    """The megabytes that a process has of the system, then the bytes and the blocks that are in use."""
    resident_mb, told = process_mb(pid), folder / f"{pid}.json"
    told.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR2)
    deadline = time.monotonic() + TIMEOUT_S
    while not told.exists():
        assert time.monotonic() < deadline, "the process does not tell its memory"
        time.sleep(0.01)
    in_use = json.loads(told.read_text())
    return resident_mb, in_use["malloc"], in_use["blocks"]


def ask(client: httpx2.Client, number: int, tokens_n: int) -> None:
    """One reply, every third of them streamed; the prompts differ in their ends."""
    content = f"{PROMPTS[number % len(PROMPTS)]} ({number})"
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": tokens_n, "seed": number}
    answer = client.post("/v1/chat/completions", json={**body, "stream": number % 3 == 0})
    assert answer.status_code == 200, answer.text
    assert answer.text.rstrip().endswith("[DONE]") if number % 3 == 0 else answer.json()["choices"]


async def at_once(url: str, count: int, most: int) -> None:
    """Ask for ``count`` replies at the same time, where the server takes ``most``."""
    limits = httpx2.Limits(max_connections=count)
    async with httpx2.AsyncClient(base_url=url, timeout=TIMEOUT_S, limits=limits) as client:

        async def one(number: int) -> int:
            body = {"prompt": f"Number {number}:", "max_tokens": 96, "seed": number}
            answer = await client.post("/v1/completions", json=body)
            if answer.status_code == 200:
                assert answer.json()["choices"][0]["finish_reason"] in ("stop", "length")
            else:
                assert answer.headers["retry-after"], answer.text
            return answer.status_code

        statuses = Counter(await asyncio.gather(*(one(i) for i in range(count))))
        print(f"{count} at once, of which {most} are taken: {dict(sorted(statuses.items()))}")
        assert set(statuses) <= {200, 503}, statuses
        assert statuses[200] >= min(count, most), statuses
        assert await one(count) == 200


def engines_of(pid: int) -> list[int]:
    """The engine processes that a server has started, from whichever thread."""
    children = [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]
    return [child for child in children if b"localspec.runtime.worker" in Path(f"/proc/{child}/cmdline").read_bytes()]


if __name__ == "__main__":
    main()
