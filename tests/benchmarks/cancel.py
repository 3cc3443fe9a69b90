"""How soon a reply ends after somebody asks it to, through the engine's process.

    python -m tests.benchmarks.cancel --target TARGET.gguf --draft DRAFT.gguf

Cancels at random moments, while a long prompt is read and while a reply is written, and takes the time from
the request to the last event.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from queue import SimpleQueue

from localspec.engine.events import Finished
from localspec.engine.settings import Sampling
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Answer, Cancel, Emitted, Failed, Generate, Load, Loaded

READING = "One word follows another. " * 70
WRITING = "<|user|>\nCount from 1 to 100<|end|>\n<|assistant|>\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    answers: SimpleQueue[Answer] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder, EngineClient(answers.put, Path(folder) / "engine.log") as client:
        client.send(Load(LoadOptions(arguments.target, arguments.draft)))
        _until(answers, Loaded)
        for what, prompt in (("reading the prompt", READING), ("writing", WRITING)):
            waits = [_cancel(client, answers, prompt, seed) for seed in range(arguments.repeats)]
            print(f"{what:20} median {statistics.median(waits):.0f} ms, max {max(waits):.0f} ms, n = {len(waits)}")


def _cancel(client: EngineClient, answers: SimpleQueue[Answer], prompt: str, seed: int) -> float:
    """Milliseconds from asking to the end. A different first word each time keeps the cache from helping."""
    source = random.Random(seed)
    client.send(Generate(seed, f"{seed} {prompt}", ReplyOptions(Sampling(temperature=0), max_tokens=400)))
    time.sleep(source.uniform(0.2, 1.2))
    begun = time.perf_counter()
    client.send(Cancel())
    while True:
        answer = answers.get()
        if isinstance(answer, Emitted) and answer.request_id == seed and isinstance(answer.event, Finished):
            return (time.perf_counter() - begun) * 1e3
        if isinstance(answer, Failed):
            raise SystemExit(answer.message)


def _until(answers: SimpleQueue[Answer], kind: type[Answer]) -> None:
    while not isinstance(answer := answers.get(), kind):
        if isinstance(answer, Failed):
            raise SystemExit(answer.message)


if __name__ == "__main__":
    main()
