"""Time to the first token of a question about an attached text, read ahead for some seconds before and not.

    python -m tests.benchmarks.read_ahead [--target FILE] [--draft FILE] [--typing S] [--rounds N]

Both in turns in the engine's own process, with another conversation between them, so that nothing is kept. Then the
time from giving a piece up, at random moments, until the engine is free.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from queue import SimpleQueue

from localspec.base.paths import shipped
from localspec.engine.events import Round
from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Answer, Cancel, Emitted, Generate, HasRead, Load, Loaded, ReadAhead
from tests.runtime.worker.test_client import Talk

SENTENCE = "The fox lives in the wood, counts the trees and tells the birds a story about the sea. "
OPTIONS = ReplyOptions(sampling=Sampling(temperature=0), max_tokens=8)


def said(text: str) -> tuple[Message, ...]:
    return (Message(Role.USER, text),)


def first_token_s(talk: Talk, request_id: int, text: str) -> tuple[float, int]:
    """Seconds until the first round, and the tokens read for it."""
    started = time.perf_counter()
    talk.send(Generate(request_id, said(text), OPTIONS))
    talk.until(Emitted, lambda answer: answer.request_id == request_id and isinstance(answer.event, Round))
    taken_s = time.perf_counter() - started
    prompt = talk.reply(request_id).prompt
    assert prompt is not None
    return taken_s, prompt.prompt_n - prompt.cache_n


def read_ahead(talk: Talk, text: str, typing_s: float) -> float:
    """Read for so long at most; the seconds that it took."""
    started = time.perf_counter()
    while time.perf_counter() - started < typing_s:
        talk.send(ReadAhead(said(text)))
        if not talk.until(HasRead).left_n:
            break
    return time.perf_counter() - started


def given_up_s(talk: Talk, request_id: int, text: str) -> float:
    """Seconds from the cancellation of a piece that is being read until the engine has let go of it."""
    first_token_s(talk, request_id, "Hello")
    for _ in range(random.randrange(1, 8)):
        talk.send(ReadAhead(said(text)))
        talk.until(HasRead)
    talk.send(ReadAhead(said(text)))
    time.sleep(random.uniform(0.001, 0.05))
    started = time.perf_counter()
    talk.send(Cancel())
    talk.until(HasRead)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=shipped("assets/builtin-target.gguf"))
    parser.add_argument("--draft", type=Path, default=shipped("assets/builtin-draft.gguf"))
    parser.add_argument("--typing", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=75)
    arguments = parser.parse_args()
    file = f"File: notes.txt\n```txt\n{SENTENCE * arguments.sentences}\n```\n\n"
    arriving: SimpleQueue[Answer] = SimpleQueue()
    without: list[float] = []
    with_it: list[float] = []
    with tempfile.TemporaryDirectory() as folder, EngineClient(arriving.put, Path(folder) / "log") as client:
        talk = Talk(client, arriving)
        talk.send(Load(LoadOptions(arguments.target, arguments.draft, n_ctx=4096)))
        talk.until(Loaded)
        for number in range(arguments.rounds):
            for ahead in (False, True):
                first_token_s(talk, 100 * number + 10 * ahead + 1, "Hello")
                reading_s = read_ahead(talk, file, arguments.typing) if ahead else 0.0
                taken_s, read_n = first_token_s(talk, 100 * number + 10 * ahead + 2, f"{file}What does the fox do?")
                (with_it if ahead else without).append(taken_s)
                print(f"{'ahead' if ahead else 'plain'}  {taken_s:.3f} s, {read_n} tokens; ahead in {reading_s:.1f} s")
        ended_ms = [1e3 * given_up_s(talk, 10_000 + 10 * n, f"{n} {file}") for n in range(4 * arguments.rounds)]
    print(f"given up in {statistics.median(ended_ms):.1f} ms, at most {max(ended_ms):.1f}, n = {len(ended_ms)}")
    plain_s, ahead_s = statistics.median(without), statistics.median(with_it)
    print(f"first token: {plain_s:.3f} s plain, {ahead_s:.3f} s read ahead: {ahead_s / plain_s:.3f}")


if __name__ == "__main__":
    main()
