"""Several clients at once: ``localspec serve`` beside llama.cpp's own server, with the same files and requests.

    python -m tests.benchmarks.serving --target T.gguf --draft D.gguf --server /path/to/llama-server --clients 1 2 4 8

Each client asks for replies of different lengths, one after another; ``--schedule`` says when, and for what. Measured
are tokens a second of all, and the slowest client's share of the mean. Contestants take turns, in an order drawn anew
each time; each is a server of its own with a place for each client, and only one computes at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from localspec.engine.backends.llama.cores import physical_cores
from tests.benchmarks.engine.case import Pair
from tests.benchmarks.engine.server import Server, parse_server

PROMPTS = (
    "Tell me a story about a fox.",
    "What is speculative decoding?",
    "Count from 1 to 40.",
    "Write a Python function for the factorial.",
    "Tell me a story about a dragon.",
    "Why does a guess never change the text?",
    "Write the times table of 7.",
    "How do I get a real pair?",
)
LENGTHS = (40, 120, 80)
"""The longest replies that a client asks for, in turn."""
LISTED_N = 60
"""Questions that a long prompt lists: some 800 tokens of the built-in vocabulary."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times at which clients ask, and what they ask."""

    later_s: float = 0.0
    """Between the beginnings of two clients."""
    pause_s: float = 0.0
    """Between the end of a reply and the client's next request."""
    together: bool = False
    """True if all ask at the same time, for replies of one length, and again when all have their replies."""
    long: bool = False
    """True if every other prompt is long."""

    def prompt(self, client: int, turn: int) -> str:
        asked = PROMPTS[(client + 3 * turn) % len(PROMPTS)]
        if not self.long or (client + turn) % 2:
            return asked
        # The beginning is another for each, so that none is shared.
        listed = "\n".join(f"{i}. {PROMPTS[i % len(PROMPTS)]}" for i in range(LISTED_N))
        return f"List {turn} of client {client}:\n{listed}\n{asked}"

    def length(self, client: int, turn: int) -> int:
        return LENGTHS[-1] if self.together else LENGTHS[(client + turn) % len(LENGTHS)]


SCHEDULES = {
    "staggered": Schedule(later_s=0.3),
    "lockstep": Schedule(together=True),
    "late": Schedule(later_s=2.0, pause_s=1.0),
    "mixed": Schedule(later_s=0.3, long=True),
}
OWN = {
    "auto": (),
    "plain": ("--spec", "off"),
    "fused": ("--flash-attn", "on"),
    "f16": ("--cache-type-v", "f16"),
    "1": ("--depth", "1"),
    "3": ("--depth", "3"),
}
"""Options of our server by their names, which a + joins."""
LEAST = 4
"""Replies at once that our server is prepared for unless more are asked for, as it is by default."""
TIMEOUT_S = 600
READY = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True)
class Result:
    """One contest of all clients."""

    per_second: float
    """Tokens of all, from the first request to the last answer."""
    fairness: float
    """The slowest client's tokens a second, as a share of the mean."""
    first_s: float
    """Seconds until the first token, the median of all requests."""


class OwnServer:
    """``localspec serve`` with settings of its own."""

    def __init__(self, pair: Pair, replies: int, options: Sequence[str], home: Path) -> None:
        draft = ["--draft", str(pair.draft)] if pair.draft else []
        command = [sys.executable, "-m", "localspec", "serve", "--port", "0", "--target", str(pair.target), *draft]
        command += ["--ctx", str(pair.n_ctx), "--parallel", str(replies), *options]
        environment = {**os.environ, "LOCALSPEC_HOME": str(home)}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        assert self.process.stderr
        for line in self.process.stderr:
            if found := READY.search(line):
                self.address = f"http://127.0.0.1:{found[1]}"
                break
        else:
            raise SystemExit("localspec serve did not start.")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@dataclass
class Client:
    """Asks one request after another, and measures."""

    address: str
    number: int
    requests_n: int
    temperature: float
    schedule: Schedule
    all_ready: threading.Barrier
    tokens_n: int = 0
    busy_s: float = 0.0
    first_s: tuple[float, ...] = ()

    def run(self) -> None:
        time.sleep(self.number * self.schedule.later_s)
        for turn in range(self.requests_n):
            if turn:
                time.sleep(self.schedule.pause_s)
            if self.schedule.together:
                self.all_ready.wait(TIMEOUT_S)
            started = time.perf_counter()
            first_s, tokens_n = self._ask(turn, started)
            self.busy_s += time.perf_counter() - started
            self.tokens_n += tokens_n
            self.first_s += (first_s,)

    def _ask(self, turn: int, started: float) -> tuple[float, int]:
        body = {
            "messages": [{"role": "user", "content": self.schedule.prompt(self.number, turn)}],
            "max_tokens": self.schedule.length(self.number, turn),
            "temperature": self.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/v1/chat/completions", json.dumps(body).encode(), headers)
        first_s, tokens_n = 0.0, 0
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            for line in answer:
                if not line.startswith(b"data: {"):
                    continue
                chunk: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
                if not first_s and chunk.get("choices") and chunk["choices"][0]["delta"].get("content"):
                    first_s = time.perf_counter() - started
                if usage := chunk.get("usage"):
                    tokens_n = usage["completion_tokens"]
        return first_s, tokens_n


def contest(address: str, clients_n: int, requests_n: int, temperature: float, schedule: Schedule) -> Result:
    ready = threading.Barrier(clients_n)
    clients = [Client(address, number, requests_n, temperature, schedule, ready) for number in range(clients_n)]
    threads = [threading.Thread(target=client.run) for client in clients]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent_s = time.perf_counter() - started
    speeds = [client.tokens_n / client.busy_s for client in clients]
    firsts = [first_s for client in clients for first_s in client.first_s]
    return Result(sum(client.tokens_n for client in clients) / spent_s, min(speeds) / fmean(speeds), median(firsts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--server", type=Path, help="llama-server; needed unless --servers names none")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--own", nargs="+", default=["auto", "plain"], help=f"of {', '.join(OWN)}, joined by +")
    parser.add_argument(
        "--servers", nargs="*", default=["plain", "3", "7:0.5"], help="as tests.benchmarks.engine has them"
    )
    parser.add_argument(
        *("--temperature", "--temperatures"),
        type=float,
        nargs="+",
        default=[0.0, 0.8],
        dest="temperatures",
        metavar="T",
    )
    parser.add_argument(
        "--schedule",
        choices=SCHEDULES,
        default="staggered",
        help="clients begin 0.3 s apart; all ask at once; 2 s apart, with pauses; or every other prompt is long",
    )
    parser.add_argument("--requests", type=int, default=3, help="of each client")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ctx", type=int, default=1024)
    options = parser.parse_args()
    threads = physical_cores()
    pair = Pair(options.target, options.draft, options.ctx, threads, threads)
    print(f"schedule: {options.schedule}\n")
    print("| clients | temperature | contestant | tokens a second (all repeats) | slowest / mean | first token, s |")
    print("| ---: | ---: | --- | ---: | ---: | ---: |")
    for clients_n in options.clients:
        _compare(options, pair, clients_n)


def _compare(options: argparse.Namespace, pair: Pair, clients_n: int) -> None:
    schedule = SCHEDULES[options.schedule]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        addresses: dict[str, str] = {}
        for name in options.own:
            words = [word for part in name.split("+") for word in OWN[part]]
            own = OwnServer(pair, max(clients_n, LEAST), words, folder / "home")
            stack.callback(own.close)
            addresses[f"own:{name}"] = own.address
        for name in options.servers:
            config = parse_server(name)
            server = Server(options.server, pair, config, folder, parallel=clients_n)
            stack.callback(server.close)
            addresses[config.name] = server.address
        results: dict[tuple[float, str], list[Result]] = {}
        for address in addresses.values():
            contest(address, clients_n, 1, 0.0, schedule)
        for _ in range(options.repeats):
            for temperature in options.temperatures:
                for name in random.sample(sorted(addresses), len(addresses)):
                    result = contest(addresses[name], clients_n, options.requests, temperature, schedule)
                    results.setdefault((temperature, name), []).append(result)
        for (temperature, name), found in sorted(results.items()):
            speeds = sorted(result.per_second for result in found)
            told = f"{median(speeds):.1f} ({', '.join(f'{speed:.1f}' for speed in speeds)})"
            fairness, first_s = (median(getattr(result, each) for result in found) for each in ("fairness", "first_s"))
            print(f"| {clients_n} | {temperature:g} | {name} | {told} | {fairness:.2f} | {first_s:.2f} |", flush=True)


if __name__ == "__main__":
    main()
