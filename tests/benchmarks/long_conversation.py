"""What a conversation of 200,000 tokens costs the chat: to open, in memory, and for every key.

    python -m tests.benchmarks.long_conversation [--tokens 200000] [--messages 0]

The real app on pseudo-terminals of 100x30 over a paced engine (no model: what counts is the screen), once with an
empty store and once with the conversation, opened through the list. Keys are typed and waited for while nothing goes
on; then, after the reader has scrolled back through all of it, while a reply streams at 20 rounds a second and
``--busy`` processes spin on the processor as a model's threads would. With ``--messages`` the store holds so many
more of other conversations.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localspec.store import Store
from tests.benchmarks.store import BEGUN, Writer, fill
from tests.endurance.kills import LIST_KEY, PATIENCE_S, WatchedChat

TOKENS_A_MESSAGE = 500
TYPED = "ЖЩЮЯ"  # in no control sequence and no other text on the screen
PAGE_UP, TO_END = "\x1b[5~", "\x1b[1;5F"
LAST_WORDS = "the very last words"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--messages", type=int, default=0)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--busy", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="localspec-long-") as folder:
        empty, long = Path(folder) / "empty", Path(folder) / "long"
        write(long / "data" / "history.db", options.tokens, options.messages)
        print("an empty app")
        empty_mb = measure(empty, options, opens=False)
        print(f"a conversation of {options.tokens} tokens")
        long_mb = measure(long, options, opens=True)
    for when, mb in long_mb.items():
        print(f"memory beyond the empty app, {when}: {mb - empty_mb[when]:.0f} MB")


def write(path: Path, tokens_n: int, messages_n: int) -> None:
    """A store with the conversation, the latest of all."""
    path.parent.mkdir(parents=True)
    if messages_n:
        fill(path, messages_n)
    store = Store.open(path)
    # Of a message's words the replies keep a part, and questions are half as long.
    messages_n = 2 * tokens_n // TOKENS_A_MESSAGE
    store.add([Writer().conversation(messages_n, TOKENS_A_MESSAGE, BEGUN.replace(year=2038))])
    thread = store.open_conversation(store.conversations()[0].heading.id)
    thread.rename("The long one")
    thread.ask(LAST_WORDS)
    store.close()


def measure(home: Path, options: argparse.Namespace, *, opens: bool) -> dict[str, float]:
    """Print what keys cost; megabytes of the app at several moments."""
    begun = time.perf_counter()
    chat = WatchedChat(home)
    chat.wait_for("sk anything", PATIENCE_S)
    print(f"  first paint after {time.perf_counter() - begun:.2f} s")
    chat.wait_for("plain speed", PATIENCE_S)
    settle(chat)
    if opens:
        print(f"  opened in {open_first(chat) * 1e3:.0f} ms")
    settle(chat)
    memory = {"opened": resident_mb(chat)}
    report("idle", press(chat, options.keys))
    if opens:
        before = cpu_s(chat)
        pages_n = scroll_back(chat)
        each_ms = (cpu_s(chat) - before) / max(pages_n, 1) * 1e3
        print(f"  scrolled back by {pages_n} pages, {each_ms:.0f} ms of processor time each")
    settle(chat)
    memory["scrolled back"] = resident_mb(chat)
    chat.type(TO_END)
    settle(chat)
    with spinning(options.busy):
        chat.type(f"count {options.keys * 40} r\r")
        chat.wait_for("r0000", PATIENCE_S)
        before, begun = cpu_s(chat), time.perf_counter()
        report("streaming", press(chat, options.keys))
        share = (cpu_s(chat) - before) / (time.perf_counter() - begun)
        print(f"  share of a core meanwhile: {share:.2f}")
        memory["streaming"] = resident_mb(chat)
    chat.type("\x1b")
    settle(chat)
    chat.close()
    return memory


def open_first(chat: WatchedChat) -> float:
    """Seconds from the choice in the list to the end of the conversation on screen."""
    chat.type(LIST_KEY)
    chat.wait_for("The long one", PATIENCE_S)
    settle(chat)
    chat.type("\r")
    return chat.wait_for(LAST_WORDS, PATIENCE_S)


def press(chat: WatchedChat, keys_n: int) -> list[float]:
    """Seconds from each key to its paint."""
    took, rng = [], random.Random(keys_n)
    for number in range(keys_n):
        key = TYPED[number % len(TYPED)]
        chat.type(key)
        took.append(chat.wait_for(key, PATIENCE_S))
        until = time.perf_counter() + rng.uniform(0.05, 0.4)
        while (left := until - time.perf_counter()) > 0:
            chat.read(left)
    chat.type("\x15" * 2)
    return took


def scroll_back(chat: WatchedChat, most_n: int = 2000) -> int:
    """Page by page to the very top; how many pages that took."""
    still_n = 0
    for number in range(most_n):
        chat.painted = b""
        chat.type(PAGE_UP)
        while chat.read(0.1):
            pass
        still_n = 0 if chat.painted else still_n + 1
        if still_n == 3:
            return number
    return most_n


def settle(chat: WatchedChat) -> None:
    """Until nothing has been painted for a while; the cursor blinks every half second."""
    for _ in range(20):
        chat.painted = b""
        until = time.perf_counter() + 0.4
        while (left := until - time.perf_counter()) > 0:
            chat.read(left)
        if len(chat.painted) < 500:
            return


@contextmanager
def spinning(processes_n: int) -> Iterator[None]:
    """Others that want a core each."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(processes_n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def resident_mb(chat: WatchedChat) -> float:
    """Of the app; its engine is another process."""
    return process_mb(chat.process.pid)


def process_mb(pid: int) -> float:
    """What a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1e3


def cpu_s(chat: WatchedChat) -> float:
    """Processor time that the app has taken."""
    fields = Path(f"/proc/{chat.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(when: str, took_s: Sequence[float]) -> None:
    ordered = sorted(took_s)
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    print(
        f"  key press to paint, {when}: median {statistics.median(ordered) * 1e3:.0f}, "
        f"95th percentile {p95 * 1e3:.0f}, most {ordered[-1] * 1e3:.0f} ms (n = {len(ordered)})"
    )


if __name__ == "__main__":
    main()
