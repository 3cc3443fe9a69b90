"""The engine process with the real thing in it: the built-in pair, killed in the middle of a reply."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from localspec.engine.events import Finished, FinishReason, Round
from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    Emitted,
    Failed,
    Generate,
    HasRead,
    Load,
    Loaded,
    ReadAhead,
)
from tests.builtin import DRAFT, ON_GPU, TARGET
from tests.runtime.worker.test_client import Talk, signal_engine

QUESTION = (Message(Role.USER, "Tell me a story about a fox."),)
BRIEF = ReplyOptions(sampling=Sampling(temperature=0), depth=3, max_tokens=24)
RAMBLING = ReplyOptions(sampling=Sampling(temperature=1e6, top_k=0, top_p=1, min_p=0), depth=1, seed=3)
"""Pure chance, so that the end of the turn is hardly ever drawn: hundreds of rounds, whatever the model knows."""

DOOMED = 13
"""The request during whose first round the engine is killed."""


@pytest.fixture(scope="module")
def log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs") / "engine.log"


@pytest.fixture(scope="module")
def thread(log_file: Path) -> Iterator[Talk]:
    """A client with the built-in pair loaded; requests of all tests have numbers of their own."""
    arriving: SimpleQueue[Answer] = SimpleQueue()

    def deliver(answer: Answer) -> None:
        match answer:
            case Emitted(request_id=request_id, event=Round(index=0)) if request_id == DOOMED:
                signal_engine(client, signal.SIGKILL)
        arriving.put(answer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_HOME", str(log_file.parent / "home"))
        with EngineClient(deliver, log_file) as client:
            thread = Talk(client, arriving)
            thread.send(Load(LoadOptions(TARGET, DRAFT, n_ctx=1024, threads=1)))
            thread.until(Loaded)
            yield thread


def test_the_built_in_pair_killed_in_mid_reply_goes_on(thread: Talk) -> None:
    """The text so far stays; the next prompt starts an engine, loads the same pair, and says the same as ever."""
    thread.send(Generate(11, QUESTION, BRIEF))
    before = thread.reply(11)
    assert before.text

    thread.send(Generate(DOOMED, QUESTION, RAMBLING))
    broken = thread.reply(DOOMED)
    assert broken.finished is None
    assert broken.error is not None
    assert broken.tokens
    failed = thread.answers[-1]
    assert isinstance(failed, Failed)
    assert failed.died

    thread.send(Generate(12, QUESTION, BRIEF))
    thread.until(Loaded)
    assert thread.reply(12).text == before.text


def test_the_built_in_pair_stops_when_asked_and_prints_to_the_log(thread: Talk, log_file: Path) -> None:
    """A cancelled reply keeps its text, and llama.cpp's own words are where the app says they are."""
    thread.send(Generate(21, QUESTION, RAMBLING))
    thread.until_round(21, 0)
    thread.send(Cancel())
    reply = thread.reply(21)
    last = thread.answers[-1]
    assert isinstance(last, Emitted)
    assert isinstance(last.event, Finished)
    assert last.event.reason is FinishReason.CANCELLED
    assert last.event.text == reply.text
    assert "localspec.llama" in log_file.read_text()


def test_what_was_read_ahead_is_not_read_again(thread: Talk) -> None:
    """A long text before the question: the reply reads the question alone, and says the same to the letter."""
    text = "File: notes.txt\n```txt\n" + "The fox lives in the wood and counts the trees.\n" * 30 + "```\n\n"
    asked = (Message(Role.USER, f"{text}Tell me a story about a fox."),)
    thread.send(Generate(31, asked, BRIEF))
    alone = thread.reply(31)
    thread.send(Generate(32, QUESTION, BRIEF))
    thread.reply(32)
    pieces_n = 0
    while True:
        thread.send(ReadAhead((Message(Role.USER, f"{text}Tell me a st"),)))
        pieces_n += 1
        if not thread.until(HasRead).left_n:
            break
    thread.send(Generate(33, asked, BRIEF))
    ahead = thread.reply(33)
    assert pieces_n > 3
    assert ahead.text == alone.text or ON_GPU  # where a text read in other pieces rounds otherwise
    assert ahead.prompt is not None
    assert ahead.prompt.prompt_n - ahead.prompt.cache_n < 24
