"""Asks ``localspec serve`` for many replies: one after the other, and more at once than it may take.

    python -m tests.endurance.requests [--in-a-row 1000] [--at-once 200] [--queue 64]

The server is a process of its own with the built-in pair. Every request in a row must be answered, and neither the
server nor its engine process may go on growing. Of those at once, as many as there are places and room in the queue
must be answered with whole replies, and the others refused with 503 and ``Retry-After``; then one more is answered.
"""

from __future__ import annotations

import argparse
import asyncio
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
PROMPTS = ("Hello", "What is a draft model?", "Count to twenty.", "Write a short poem about autumn.", "Say it again.")


def main() -> None:
    """Ask, and print what became of the requests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--in-a-row", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--queue", type=int, default=64)
    options = parser.parse_args()
    with served("--parallel", f"{PLACES_N}", "--queue", f"{options.queue}") as (process, url):
        in_a_row(url, process.pid, options.in_a_row)
        asyncio.run(at_once(url, options.at_once, PLACES_N + options.queue))


def in_a_row(url: str, server: int, count: int) -> None:
    """Ask ``count`` times, and take the memory of the server and of its engine process ten times."""
    with httpx2.Client(base_url=url, timeout=TIMEOUT_S) as client:
        ask(client, 0)
        pids = (server, *children(server))
        assert len(pids) > 1, "no engine process"
        taken: list[list[float]] = []
        began = time.perf_counter()
        for i in range(count):
            ask(client, i)
            if (i + 1) % max(1, count // 10) == 0:
                taken.append([process_mb(pid) for pid in pids])
        print(f"{count} in a row: all answered in {time.perf_counter() - began:.0f} s")
    for name, memory in zip(("server", *["engine"] * len(pids)), zip(*taken, strict=True), strict=False):
        print(f"memory of the {name}, MB: {' '.join(f'{mb:.1f}' for mb in memory)}")
        assert memory[-1] - memory[len(memory) // 2] < MOST_GROWTH_MB, f"the {name} grows"


def ask(client: httpx2.Client, number: int) -> None:
    """One reply, every third of them streamed; the prompts differ in their ends."""
    content = f"{PROMPTS[number % len(PROMPTS)]} ({number})"
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": 24, "seed": number}
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


def children(pid: int) -> list[int]:
    """The processes that a process has started, from whichever thread."""
    return [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]


if __name__ == "__main__":
    main()
