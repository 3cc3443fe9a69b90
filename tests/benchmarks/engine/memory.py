"""The memory of both engines with the same files and context, each in a process of its own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, Role
from tests.benchmarks.engine import machine
from tests.benchmarks.engine.case import Pair
from tests.benchmarks.engine.own import OwnEngine, parse_own
from tests.benchmarks.engine.server import Server, parse_server

_QUESTION = "Count from 1 to 60."
_TOKENS = 64


def measure(pair: Pair, program: Path, own: str, server: str, threads: int | None) -> dict[str, dict[str, float]]:
    """Megabytes by engine, after a reply of 64 tokens. Call it in a fresh process, for this one is ours."""
    with tempfile.TemporaryDirectory(prefix="localspec-bench-") as folder:
        running = Server(program, pair, parse_server(server), Path(folder))
        try:
            running.complete((1,) * 16, {"n_predict": _TOKENS, "temperature": 0.0, "ignore_eos": True})
            found = {server: machine.memory_mb(running.process.pid)}
        finally:
            running.close()
    engine = OwnEngine.open(pair, threads)
    messages = [Message(Role.USER, _QUESTION)]
    options = parse_own(own, engine)
    engine.text(messages, options.reply_options(Sampling(temperature=0), 0, _TOKENS))
    found[own] = machine.memory_mb(os.getpid())
    return found


def markdown(found: dict[str, dict[str, float]]) -> str:
    """As a table."""
    lines = ["| MB | resident | its own | mapped from files | at most |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, amounts in found.items():
        lines.append(f"| {name} | " + " | ".join(f"{amount:.0f}" for amount in amounts.values()) + " |")
    return "\n".join(lines)
