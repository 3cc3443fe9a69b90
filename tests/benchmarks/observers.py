"""What it costs to record a reply and to have everybody follow it: microseconds a token, and the share of its time.

    python -m tests.benchmarks.observers [--tokens 2000]

A reply as in ``tests.benchmarks.store``, on disk in a folder for temporary files. The audit log is written once
without and once with rules for what to leave out, the metrics into a file. Each figure is the median of 5 replies.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from localspec.engine.events import Event, Started
from localspec.insight.observers import Observer, ObserverGroup, ReplyObserver
from localspec.insight.observers.live_watch import LiveWatch
from localspec.insight.observers.metering import Metering
from localspec.insight.observers.observers import Auditing
from localspec.insight.stats.audit import AuditLog
from localspec.insight.stats.redaction import Redaction
from localspec.store import Store
from tests.benchmarks.store import ABOUT, Writer, _finished

FAST_PER_SECOND = 100.0
"""Tokens a second of a small pair; the share is that of the time this leaves for a token."""
TIMES_N = 5


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=2000)
    writer = Writer()
    rounds = tuple(writer.rounds(writer.words(parser.parse_args().tokens)))
    events: list[Event] = [Started(100, 0, 1), *rounds, _finished(rounds)]
    tokens_n = sum(len(round_.tokens) for round_ in rounds)
    print(f"a reply of {tokens_n} tokens in {len(rounds)} rounds; shares at {FAST_PER_SECOND:.0f} tokens/s")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in contestants(Path(folder)).items():
            took = statistics.median(one_reply(Path(folder), make, events) for _ in range(TIMES_N)) / tokens_n
            print(f"{name:32} {took * 1e6:8.1f} µs a token  {took * FAST_PER_SECOND:8.2%}")


def contestants(folder: Path) -> dict[str, Callable[[Store], list[Observer]]]:
    """By what is on."""

    def metering() -> Metering:
        made = Metering()
        made.give(folder / "page")
        return made

    log = Auditing(AuditLog(folder / "audit"))
    redacting = Auditing(AuditLog(folder / "redacted", Redaction([re.compile(r"sk-\w+"), re.compile(r"\d{16}")])))
    return {
        "the store alone": lambda store: [],
        "and metrics": lambda store: [metering()],
        "and the audit log": lambda store: [log],
        "and the audit log with rules": lambda store: [redacting],
        "and the watch": lambda store: [LiveWatch(store)],
        "and all": lambda store: [metering(), log, LiveWatch(store)],
    }


def one_reply(folder: Path, make: Callable[[Store], list[Observer]], events: list[Event]) -> float:
    """Seconds that the thread which takes the events is busy with it."""
    store = Store.open(folder / "history.db")
    observers = make(store)
    thread = store.begin()
    thread.ask("?")
    recorder = thread.begin_reply(ABOUT)
    follows: ReplyObserver = ObserverGroup(observers).begin(ABOUT, recorder.node.id)
    begun = time.thread_time()
    for event in events:
        recorder.receive(event)
        follows.receive(event)
    took = time.thread_time() - begun
    for observer in observers:
        if isinstance(observer, LiveWatch):
            observer.close()
    store.close()
    return took


if __name__ == "__main__":
    main()
