"""The built-in pair with its target behind an RPC server, over a network of chosen delay and loss.

    python -m tests.benchmarks.rpc SERVER [--delay MS] [--loss SHARE] [--repeats 2] [--draft-there]
        [--target FILE --draft FILE]

SERVER is the program ggml-rpc-server; llama.cpp has to be built with RPC, and the user has to be root on Linux. The
server runs in a network namespace of its own and the pair in another; every packet between the two passes this process,
which holds it back for half of the delay and loses some at random, so that the kernel's own TCP copes with both.
Plain and automatic depth, greedy, in both orders, after the prompt was read: the reading of a prompt goes on behind a
server while the first token is waited for. Medians of the ratio of tokens a second, and the number of replies with the
same text.
"""

from __future__ import annotations

import argparse
import fcntl
import heapq
import os
import random
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished
from localspec.engine.settings import Sampling
from localspec.models.pairs import BUILTIN_ID, load_catalogue
from localspec.runtime.load import OpenPair, open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions

HERE, THERE = "10.99.0.1", "10.99.0.2"
PORT = 50052
PROMPTS = ("Count from 1 to 20.", "What is speculative decoding?", "Tell me a story about a fox")
MAX_TOKENS = 48
_TUNSETIFF, _IFF_TUN_WITHOUT_HEADER = 0x400454CA, 0x1001


def main() -> None:
    """Make the network, measure in it, and print one row of the table."""
    given = _given()
    if given.inside:
        name = f"{given.delay:g} ms" + (f", {given.loss:.1%} lost" if given.loss else "")
        files = (given.target, given.draft) if given.target else _builtin()
        measure(files, given.repeats, name, draft_there=given.draft_there)
        return
    with network(given.delay / 1000, given.loss) as (here, there):
        server = subprocess.Popen(
            ["ip", "netns", "exec", there, given.server, "-t", "1", "-H", THERE, "-p", str(PORT)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(0.5)
            command = [sys.executable, "-m", "tests.benchmarks.rpc", *sys.argv[1:], "--inside"]
            with tempfile.TemporaryDirectory() as home:
                subprocess.run(
                    ["ip", "netns", "exec", here, *command], env={**os.environ, "LOCALSPEC_HOME": home}, check=True
                )
        finally:
            server.kill()
            server.wait()


def _builtin() -> tuple[Path, Path | None]:
    files = load_catalogue().find(BUILTIN_ID).files()
    return files.target, files.draft


def measure(files: tuple[Path, Path | None], repeats: int, name: str, *, draft_there: bool) -> None:
    """Measure all prompts in turns, in the namespace of the pair."""
    target_device, draft_device = ("none", "RPC0") if draft_there else ("RPC0", "none")
    options = LoadOptions(
        *files,
        threads=1,
        rpc=f"{THERE}:{PORT}",
        device=target_device,
        draft_device=draft_device,
    )
    pair = open_pair(options, Cancellation())
    ratios: dict[str, list[float]] = {prompt: [] for prompt in PROMPTS}
    plain_speeds, lengths, same_n = [], [], 0
    for order in (((), None), (None, ())) * repeats:
        for prompt in PROMPTS:
            _reply(pair, prompt, (), 1)
            replies = {spec: _reply(pair, prompt, spec) for spec in order}
            guessing, plain = replies[None], replies[()]
            plain_speeds.append(_speed(plain))
            ratios[prompt].append(_speed(guessing) / plain_speeds[-1])
            lengths.append(guessing.timings.mean_acceptance_length or 1.0)
            same_n += guessing.text == plain.text
    pair.close()
    cells = " | ".join(f"{statistics.median(each):.2f}" for each in ratios.values())
    print(
        f"| {name} | {statistics.median(plain_speeds):.1f} | {cells} | {statistics.median(lengths):.1f} "
        f"| {same_n} of {len(lengths)} |",
        flush=True,
    )


def _reply(pair: OpenPair, prompt: str, spec: tuple[str, ...] | None, max_tokens: int = MAX_TOKENS) -> Finished:
    options = ReplyOptions(Sampling(temperature=0.0), spec, max_tokens=max_tokens)
    return next(each for each in pair.reply([Message(Role.USER, prompt)], options) if isinstance(each, Finished))


def _speed(reply: Finished) -> float:
    return reply.timings.predicted_per_second or 0.0


@contextmanager
def network(delay_s: float, loss: float) -> Iterator[tuple[str, str]]:
    """Two namespaces, by name, joined by a line that this process is."""
    names = f"localspec-here-{os.getpid()}", f"localspec-there-{os.getpid()}"
    with ExitStack() as stack:
        ends = []
        for number, (name, own, other) in enumerate(((names[0], HERE, THERE), (names[1], THERE, HERE))):
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "del", name)
            end = f"lsrpc{number}"
            ends.append(_tunnel(end))
            stack.callback(os.close, ends[-1])
            _ip("link", "set", end, "netns", name)
            _ip("-n", name, "addr", "add", own, "peer", other, "dev", end)
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", end, "up")
        threading.Thread(target=_carry_on, args=(ends, delay_s / 2, loss), daemon=True).start()
        yield names


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _tunnel(name: str) -> int:
    """The descriptor of a new network device, which gives and takes its packets."""
    descriptor = os.open(Path("/dev/net/tun"), os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN_WITHOUT_HEADER))
    return descriptor


def _carry_on(ends: list[int], half_s: float, loss: float) -> None:
    """Carry packets until the devices are closed."""
    with suppress(OSError):
        _carry(ends, half_s, loss)


def _carry(ends: list[int], half_s: float, loss: float) -> None:
    """Carry packets between two devices, each after ``half_s``, but for a share that is lost."""
    due: list[tuple[float, int, int, bytes]] = []
    chance, number = random.Random(1), 0
    while True:
        wait_s = max(0.0, due[0][0] - time.monotonic()) if due else 1.0
        readable, _, _ = select.select(ends, [], [], wait_s)
        for end in readable:
            packet = os.read(end, 65536)
            if chance.random() >= loss:
                number += 1
                heapq.heappush(due, (time.monotonic() + half_s, number, ends[1 - ends.index(end)], packet))
        while due and due[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(due)
            os.write(end, packet)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds that are added to a round trip")
    parser.add_argument("--loss", type=float, default=0.0, help="share of packets that are lost, each way")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--draft-there", action="store_true", help="the draft behind the server, the target here")
    parser.add_argument("--target", type=Path, help="another target than the built-in one; its draft too")
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
