"""The engine in its own process: asked, stopped, killed, and there again."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

import pytest

from localspec.base.errors import EngineError, ModelFileError, NotFoundError
from localspec.engine.events import Finished, FinishReason, Round, TokenLogprobs
from localspec.runtime.messages import Infill, Message, Reply, ReplyOptions, Role, TokenIds
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker import codec, process
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    Complete,
    CountTokens,
    Detokenize,
    Detokenized,
    Dropped,
    Emitted,
    Failed,
    Generate,
    HasRead,
    Inspect,
    Inspected,
    Load,
    Loaded,
    LoadProgress,
    ReadAhead,
    Render,
    Rendered,
    Request,
    Score,
    Scored,
    Tokenize,
    Tokenized,
    TokensCounted,
    Unloaded,
    Weigh,
    Weighed,
)
from tests.runtime.worker.scripted_engine import LAST_WORDS, NOISE, counted

OPENER = "tests.runtime.worker.scripted_engine:open_pair"
PATIENCE_S = 120.0
"""When a test gives up; nothing here takes a second."""

LAST = 999
"""The number of no other request."""

A = TypeVar("A")


def load(target: str = "fine", n_ctx: int | None = None) -> Load:
    return Load(LoadOptions(target=Path(f"/models/{target}.gguf"), n_ctx=n_ctx))


def ask(request_id: int, prompt: str) -> Generate:
    return Generate(request_id, prompt, ReplyOptions())


def signal_engine(client: EngineClient, number: signal.Signals) -> None:
    """To the process that runs now; where none does, to nobody, as 0 would mean all of ours."""
    pid = client.pid
    assert pid is not None, "no engine runs"
    os.kill(pid, number)


@dataclass
class Talk:
    """A client, and everything it has delivered."""

    client: EngineClient
    arriving: SimpleQueue[Answer]
    answers: list[Answer] = field(default_factory=list)

    def send(self, *requests: Request) -> None:
        for request in requests:
            self.client.send(request)

    def until(self, kind: type[A], matches: Callable[[A], bool] = lambda answer: True) -> A:
        """The next answer of this kind that matches, all before it read too."""
        while True:
            try:
                answer = self.arriving.get(timeout=PATIENCE_S)
            except Empty:
                raise AssertionError(f"no {kind.__name__} after {self.answers}") from None
            self.answers.append(answer)
            if isinstance(answer, kind) and matches(answer):
                return answer

    def reply(self, request_id: int) -> Reply:
        """The reply, once it has ended in one way or the other."""
        self.until(Emitted | Failed, lambda answer: answer.request_id == request_id and is_last(answer))  # type: ignore[arg-type]
        return self.reply_so_far(request_id)

    def reply_so_far(self, request_id: int) -> Reply:
        reply = Reply()
        for answer in self.answers:
            match answer:
                case Emitted(id, event) if id == request_id:
                    reply.receive(event)
                case Failed(id, _, message, hint) if id == request_id:
                    reply.fail(EngineError(message, hint))
        return reply

    def until_round(self, request_id: int, index: int) -> None:
        """Wait until the reply has come this far."""
        self.until(
            Emitted, lambda a: a.request_id == request_id and isinstance(a.event, Round) and a.event.index == index
        )


def is_last(answer: Emitted | Failed) -> bool:
    return isinstance(answer, Failed) or isinstance(answer.event, Finished)


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "engine.log"


@contextmanager
def talking(log_file: Path, opener: str | None = OPENER) -> Iterator[Talk]:
    arriving: SimpleQueue[Answer] = SimpleQueue()
    with EngineClient(arriving.put, log_file, opener=opener) as client:
        yield Talk(client, arriving)


@pytest.fixture
def own(log_file: Path) -> Iterator[Talk]:
    """A client that was asked nothing yet."""
    with talking(log_file) as thread:
        yield thread


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with talking(tmp_path_factory.mktemp("logs") / "engine.log") as thread:
        yield thread


@pytest.fixture
def thread(shared: Talk) -> Iterator[Talk]:
    """A client with nothing loaded and nothing under way."""
    yield Talk(shared.client, shared.arriving)
    shared.send(Cancel(), load("refuse"), Detokenize(LAST, ()))
    shared.until(Failed, lambda failed: failed.request_id == LAST)
    shared.answers.clear()


def test_a_pair_is_loaded_and_replies(thread: Talk) -> None:
    """Load, then Generate: progress, the pair's facts, and a whole reply whose parts make its text."""
    thread.send(load(n_ctx=99), ask(1, "count 3"))
    loaded = thread.until(Loaded)
    reply = thread.reply(1)
    assert (loaded.info.target, loaded.info.n_ctx) == (Path("/models/fine.gguf"), 99)
    assert [answer.fraction for answer in thread.answers if isinstance(answer, LoadProgress)] == [0.0, 1.0]
    assert (reply.text, reply.finished) == (counted(3), FinishReason.STOP)
    assert reply.timings.predicted_n == 3


def test_a_conversation_travels_like_a_text(thread: Talk) -> None:
    """Messages reach the engine as messages."""
    said = (Message(Role.SYSTEM, "be brief"), Message(Role.USER, "count 2"))
    thread.send(load(), Generate(1, said, ReplyOptions()))
    assert thread.reply(1).text == counted(2)


def test_replies_follow_each_other(thread: Talk) -> None:
    """Requests are done in the order they were sent, and answers carry their number."""
    thread.send(load(), ask(1, "count 2"), ask(2, "count 4"))
    thread.reply(2)
    assert [thread.reply_so_far(n).text for n in (1, 2)] == [counted(2), counted(4)]
    ids = [answer.request_id for answer in thread.answers if isinstance(answer, Emitted)]
    assert ids == sorted(ids)


def test_cancel_ends_a_reply_and_keeps_its_text(thread: Talk) -> None:
    """The reply finishes as cancelled, and the next one is not touched by it."""
    thread.send(load(), ask(1, "count 3 then wait"))
    thread.until_round(1, 2)
    thread.send(Cancel(), ask(2, "count 1"))
    assert thread.reply(1).finished is FinishReason.CANCELLED
    assert thread.reply_so_far(1).text == counted(3)
    assert thread.reply(2).finished is FinishReason.STOP


def test_cancel_ends_what_waits_as_well(thread: Talk) -> None:
    """A reply and a load queued behind a running reply end too; what is sent after the Cancel does not."""
    thread.send(load(), ask(1, "count 1 then wait"))
    thread.until_round(1, 0)
    thread.send(ask(2, "count 5"), load("other"), Cancel(), load("third"), ask(3, "count 2"))
    thread.reply(3)
    first, second, third = (thread.reply_so_far(n) for n in (1, 2, 3))
    assert (first.text, first.finished) == (counted(1), FinishReason.CANCELLED)
    assert (second.text, second.finished) == ("", FinishReason.CANCELLED)
    assert (third.text, third.finished) == (counted(2), FinishReason.STOP)
    loaded = [answer.info.target_name for answer in thread.answers if isinstance(answer, Loaded)]
    assert loaded == ["fine", "third"]


def test_a_cancelled_load_is_no_failure_and_is_made_up_for(thread: Talk) -> None:
    """It ends with nothing loaded; the next prompt asks for the same pair again."""
    thread.send(load("wait"))
    thread.until(LoadProgress)
    thread.send(Cancel())
    thread.until(Unloaded)
    thread.send(ask(1, "count 1"))
    thread.until(LoadProgress)
    thread.send(Cancel())
    assert thread.reply(1).finished is FinishReason.CANCELLED
    assert not any(isinstance(answer, Failed) for answer in thread.answers)


def test_cancel_with_nothing_to_cancel_does_nothing(thread: Talk) -> None:
    """A Cancel that comes too late has no effect on what comes after it."""
    thread.send(Cancel(), load(), Cancel(), load("again"), ask(1, "count 2"))
    assert thread.reply(1).finished is FinishReason.STOP
    thread.send(Cancel(), ask(2, "count 2"))
    assert thread.reply(2).finished is FinishReason.STOP


def test_without_a_pair_a_prompt_fails_with_a_sentence(own: Talk) -> None:
    """A load mends it, in the same process."""
    own.send(ask(1, "count 1"))
    failed = own.until(Failed)
    assert (failed.request_id, failed.exit_code, failed.died) == (1, NotFoundError.exit_code, False)
    assert "No model is loaded" in failed.message
    pid = own.client.pid
    own.send(load(), ask(2, "count 1"))
    assert own.reply(2).finished is FinishReason.STOP
    assert own.client.pid == pid


def test_a_refused_prompt_fails_with_its_own_words(thread: Talk) -> None:
    """An error people can act on crosses the pipe whole, and the engine lives on."""
    thread.send(load(), ask(1, "count 0 then refuse"), ask(2, "count 1"))
    failed = thread.until(Failed)
    assert failed == Failed(1, 3, "That cannot be read.", "Ask for something else.")
    assert thread.reply(2).finished is FinishReason.STOP


def test_a_refused_load_is_reported_and_not_tried_again(thread: Talk) -> None:
    """The prompt that follows fails for the same reason instead of loading the same bad file once more."""
    thread.send(load("refuse"), ask(1, "count 1"))
    assert thread.until(Failed) == Failed(None, 3, "That cannot be read.", "Ask for something else.")
    assert thread.until(Failed) == Failed(1, 3, "That cannot be read.", "Ask for something else.")
    progress_n = sum(isinstance(answer, LoadProgress) for answer in thread.answers)
    thread.send(ask(2, "count 1"))
    thread.until(Failed)
    assert sum(isinstance(answer, LoadProgress) for answer in thread.answers) == progress_n


def test_a_refusal_counts_for_prompts_sent_before_it(log_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt that waits while the load is refused does not have the same file loaded once more."""
    refused = threading.Event()

    class Slow(process.EngineProcess):
        """Takes the next request once the load has been refused."""

        def send(self, request: Request) -> None:
            super().send(request)
            refused.wait(PATIENCE_S)

    def deliver(answer: Answer) -> None:
        arriving.put(answer)
        if isinstance(answer, Failed):
            refused.set()

    monkeypatch.setattr("localspec.runtime.worker.client.EngineProcess", Slow)
    arriving: SimpleQueue[Answer] = SimpleQueue()
    with EngineClient(deliver, log_file, opener=OPENER) as client:
        talk = Talk(client, arriving)
        talk.send(load("refuse"), ask(1, "count 1"), Detokenize(LAST, ()))
        talk.until(Failed, lambda failed: failed.request_id == LAST)
    assert [answer.request_id for answer in talk.answers if isinstance(answer, Failed)] == [None, 1, LAST]


def test_a_refusal_outlives_its_process(own: Talk) -> None:
    """A prompt to the process that follows does not have the same file loaded once more; a load does."""
    options = load("refuse")
    own.send(options)
    own.until(Failed)
    signal_engine(own.client, signal.SIGKILL)
    assert own.until(Failed).died
    own.send(ask(1, "count 1"))
    assert own.until(Failed).exit_code == NotFoundError.exit_code
    own.send(options)
    assert own.until(Failed) == Failed(None, 3, "That cannot be read.", "Ask for something else.")


def test_the_unforeseen_is_logged_and_survived(own: Talk, log_file: Path) -> None:
    """A bug in the engine says where its traceback is, and the next reply works."""
    own.send(load(), ask(1, "count 1 then break"), ask(2, "count 1"))
    failed = own.until(Failed)
    assert (failed.request_id, failed.exit_code, failed.died) == (1, 1, False)
    assert "scripted break" in failed.message
    assert str(log_file) in failed.hint
    assert own.reply(2).finished is FinishReason.STOP
    assert "Traceback" in log_file.read_text()


def test_a_failure_after_the_end_of_a_reply_costs_no_load(thread: Talk) -> None:
    thread.send(load(), ask(1, "count 1 then stumble"))
    assert thread.reply(1).finished is FinishReason.STOP
    assert thread.until(Failed).request_id == 1
    thread.send(ask(2, "count 1"))
    assert thread.reply(2).finished is FinishReason.STOP
    assert sum(isinstance(answer, Loaded) for answer in thread.answers) == 1


def test_noise_goes_to_the_log_and_not_into_the_protocol(
    own: Talk, log_file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever is printed in the engine, by Python or beneath it, neither the answers nor the terminal see it."""
    own.send(load("chatter"), ask(1, "count 2 then chatter"), ask(2, "count 2"))
    own.reply(2)
    assert [own.reply_so_far(n).text for n in (1, 2)] == [counted(2), counted(2)]
    own.client.close()
    assert log_file.read_text().count(NOISE) == 10
    assert capfd.readouterr() == ("", "")


def test_an_abort_costs_the_engine_and_not_the_reply(own: Talk, log_file: Path) -> None:
    """The text so far stays, the error says what happened, and the next prompt loads the pair and goes on."""
    own.send(load(n_ctx=77), ask(1, "count 3 then abort"))
    broken = own.reply(1)
    pid = own.client.pid
    failed = own.answers[-1]
    assert isinstance(failed, Failed)
    assert (failed.died, failed.exit_code) == (True, EngineError.exit_code)
    assert f"it gave up ({LAST_WORDS})" in failed.message
    assert str(log_file) in failed.hint
    assert broken.text == counted(3)
    assert pid is None

    own.send(ask(2, "count 2"))
    assert own.until(Loaded).info.n_ctx == 77
    assert own.reply(2).text == counted(2)
    assert "Fatal Python error: Aborted" in log_file.read_text()


def test_a_kill_from_outside_is_survived(thread: Talk) -> None:
    """Killed while it replies, with another prompt waiting: both are told, once each, and the next works."""
    thread.send(load(), ask(1, "count 3 then hang"), ask(2, "count 1"))
    thread.until_round(1, 2)
    signal_engine(thread.client, signal.SIGKILL)
    failures = [thread.until(Failed), thread.until(Failed)]
    assert [(failed.request_id, failed.died) for failed in failures] == [(1, True), (2, True)]
    assert "the system killed it" in failures[0].message
    assert "memory" in failures[0].hint
    thread.send(ask(3, "count 1"))
    assert thread.reply(3).finished is FinishReason.STOP
    assert sum(isinstance(answer, Failed) for answer in thread.answers) == 2


def test_a_death_while_nothing_is_asked_is_told_once(thread: Talk) -> None:
    """An idle engine that dies is reported without a request, and a Cancel does not bring it back."""
    thread.send(load())
    thread.until(Loaded)
    signal_engine(thread.client, signal.SIGKILL)
    failed = thread.until(Failed)
    assert (failed.request_id, failed.died) == (None, True)
    thread.send(Cancel())
    assert thread.client.pid is None
    thread.send(ask(1, "count 1"))
    assert thread.reply(1).finished is FinishReason.STOP


def test_a_load_that_kills_the_engine_is_tried_once_for_every_request(thread: Talk) -> None:
    """No restart without somebody asking for it."""
    thread.send(load("abort"))
    failed = thread.until(Failed)
    assert (failed.request_id, failed.died, failed.exit_code) == (None, True, ModelFileError.exit_code)
    assert "abort" in failed.message  # the name of the file
    thread.send(ask(1, "count 1"))
    assert [thread.until(Failed).request_id for _ in range(2)] == [None, 1]
    thread.send(load("fine"), ask(2, "count 1"))
    assert thread.reply(2).finished is FinishReason.STOP
    assert sum(isinstance(answer, Failed) for answer in thread.answers) == 3


def test_an_engine_that_cannot_start_says_why(log_file: Path) -> None:
    """The interpreter's last line is in the message, and every request gets an answer."""
    with talking(log_file, "no_such_module:open_pair") as thread:
        failed = thread.until(Failed)
        assert (failed.request_id, failed.died) == (None, True)
        assert "The engine stopped: ModuleNotFoundError: No module named 'no_such_module'" in failed.message
        thread.send(ask(1, "count 1"))
        thread.until(Failed, lambda failed: failed.request_id == 1)  # after its own end, if it was begun anew first


def test_an_engine_that_is_not_understood_is_ended(log_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was started after an update, by an app of before: whoever waits for its answer is told."""
    monkeypatch.delitem(codec._KINDS, "Loaded")
    with talking(log_file) as thread:
        thread.send(load(), ask(1, "count 1"))
        failures = [thread.until(Failed), thread.until(Failed)]
        assert [(failed.request_id, failed.died) for failed in failures] == [(None, True), (1, True)]
        assert "do not understand each other" in failures[0].message
        assert "Was LocalSpec updated while it ran?" in failures[0].hint


def test_without_an_interpreter_a_request_fails_and_nothing_is_raised(
    log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that cannot be made is one more answer."""
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with talking(log_file, None) as thread:
        thread.send(ask(1, "count 1"))
        assert "could not be started" in thread.until(Failed, lambda failed: failed.request_id == 1).message


@pytest.mark.parametrize("doing", ["wait", "hang"])
def test_closing_while_it_replies_leaves_nothing_behind(log_file: Path, doing: str) -> None:
    """No process, no zombie, no thread; closing again and sending afterwards do nothing."""
    before = set(threading.enumerate())
    arriving: SimpleQueue[Answer] = SimpleQueue()
    client = EngineClient(arriving.put, log_file, opener=OPENER)
    thread = Talk(client, arriving)
    thread.send(load(), ask(1, f"count 1 then {doing}"))
    thread.until_round(1, 0)
    pid = client.pid
    assert pid is not None
    client.close()
    client.close()
    client.send(ask(2, "count 1"))
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    assert set(threading.enumerate()) <= before
    assert arriving.empty()


def test_closing_waits_for_what_is_being_kept(own: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than for anything else: a large model's cache takes many seconds to write."""
    monkeypatch.setattr("localspec.runtime.worker.client.END_S", 0.0)
    own.send(Load(LoadOptions(target=tmp_path / "fine.gguf", keep_caches=True)))
    own.until(Loaded)
    own.client.close()
    assert (tmp_path / "fine.kept").exists()


@pytest.mark.parametrize("prompt", ["count 1", "count 1 " + "x" * 1_000_000], ids=["idle", "full pipe"])
def test_closing_gets_past_an_engine_that_reads_nothing(
    own: Talk, monkeypatch: pytest.MonkeyPatch, prompt: str
) -> None:
    """A stopped process, its pipe full or not, neither holds up ``send`` nor, after a while, ``close``."""
    monkeypatch.setattr("localspec.runtime.worker.client.END_S", 0.1)
    own.send(load())
    own.until(Loaded)
    signal_engine(own.client, signal.SIGSTOP)
    own.send(ask(1, prompt), ask(2, "count 1"))
    own.client.close()
    assert own.client.pid is None


def test_it_starts_when_the_standard_streams_have_no_descriptor(
    log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As inside a full-screen app, which replaces them by its own."""

    class Screen(io.StringIO):
        def fileno(self) -> int:
            return -1

    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, Screen())
    with talking(log_file) as thread:
        thread.send(load(), ask(1, "count 1"))
        assert thread.reply(1).text == counted(1)


def test_closing_before_starting_is_fine(log_file: Path) -> None:
    """A client nobody used has nothing to close."""
    client = EngineClient(lambda answer: None, log_file)
    client.close()
    assert client.pid is None


def test_a_long_prompt_arrives_whole(thread: Talk) -> None:
    """More than a pipe holds at once."""
    thread.send(load(), ask(1, "count 1 " + "long " * 200_000))
    thread.reply(1)
    started = next(a.event for a in thread.answers if isinstance(a, Emitted))
    assert started.prompt_n == 200_002  # type: ignore[union-attr]


APP = """
import os, sys
from pathlib import Path
from queue import SimpleQueue
from localspec.runtime.worker import process
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Emitted
from tests.runtime.worker.test_client import ask, load, OPENER

answers = SimpleQueue()
client = EngineClient(answers.put, Path(sys.argv[1]), opener=OPENER)
client.send(load())
client.send(ask(1, "count 1 then hang"))
while not isinstance(answer := answers.get(), Emitted):
    pass
print(client.pid, flush=True)
answers.get(timeout=600)
while True:
    answers.get()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="waits for the process with Linux's pidfd")
def test_when_the_app_is_killed_the_engine_ends(log_file: Path) -> None:
    """Even in the middle of a reply that is deaf to cancelling."""
    app = subprocess.Popen(
        [sys.executable, "-c", APP, str(log_file)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with app:
        assert app.stdout is not None
        engine = os.pidfd_open(int(app.stdout.readline()))
        try:
            app.kill()
            ended, _, _ = select.select([engine], [], [], PATIENCE_S)
            assert ended, "the engine outlived its app"
        finally:
            os.close(engine)


def test_tokens_are_counted_by_the_pair_that_is_open(thread: Talk) -> None:
    """In order, between replies; a count that fails is no failure of the engine."""
    thread.send(load(), CountTokens("one two three"), ask(1, "count 1"), CountTokens("break"), CountTokens("four"))
    assert [thread.until(TokensCounted).token_n for _ in range(3)] == [3, None, 1]
    assert thread.reply_so_far(1).finished is FinishReason.STOP
    thread.send(ask(2, "count 2"))
    assert thread.reply(2).text == counted(2)


def test_counting_loads_nothing_and_starts_nothing(thread: Talk) -> None:
    """Without a pair there is no count; without an engine none is started for it."""
    thread.send(CountTokens("one"), load("refuse"), CountTokens("one"))
    assert [thread.until(TokensCounted).token_n for _ in range(2)] == [None, None]
    signal_engine(thread.client, signal.SIGKILL)
    thread.until(Failed)
    thread.send(CountTokens("one"))
    assert thread.until(TokensCounted).token_n is None
    assert thread.client.pid is None


def test_what_was_written_can_be_asked_about(thread: Talk) -> None:
    """Answers carry the number of the request, in order, among replies."""
    weigh = Weigh(2, "count 3", ReplyOptions(), (0, 1, 3), 1, 3)
    thread.send(
        load(),
        ask(1, "count 3"),
        Score(9, (97, 98), 1, 2),
        weigh,
        Inspect(3, "count 3", ReplyOptions(), (0, 1, 3), 2),
        ask(4, "count 1"),
    )
    assert thread.until(Scored) == Scored(9, (TokenLogprobs(b"b", -98.0),))
    assert thread.until(Weighed) == Weighed(2, (0.5, 0.25))
    inspected = thread.until(Inspected)
    assert (inspected.request_id, inspected.inspection.token, inspected.inspection.target.prob) == (3, 3, 0.25)
    assert thread.reply(4).text == counted(1)


def test_cancel_drops_what_was_asked_about_a_reply(thread: Talk) -> None:
    """Under way or waiting; the reply that comes after is not touched."""
    looks = [Weigh(n, "count 1 then wait", ReplyOptions(), (0,), 0, 1) for n in (1, 2)]
    thread.send(load(), *looks)
    thread.until(Loaded)
    thread.send(Cancel(), ask(3, "count 2"))
    assert [thread.until(Dropped).request_id for _ in looks] == [1, 2]
    assert thread.reply(3).finished is FinishReason.STOP


@pytest.mark.parametrize(("what", "code"), [("refuse", 3), ("break", 1)])
def test_a_look_that_fails_is_a_sentence(thread: Talk, what: str, code: int) -> None:
    """With the request's number, and the engine lives on."""
    thread.send(load(), Inspect(1, f"count 1 then {what}", ReplyOptions(), (0,), 0), ask(2, "count 1"))
    failed = thread.until(Failed)
    assert (failed.request_id, failed.exit_code, failed.died) == (1, code, False)
    assert thread.reply(2).text == counted(1)


def test_a_look_after_a_death_loads_the_pair_again(thread: Talk) -> None:
    """As a reply would; and one during which the engine dies says so."""
    thread.send(load(), Inspect(1, "count 1 then abort", ReplyOptions(), (0,), 0))
    failed = thread.until(Failed)
    assert (failed.request_id, failed.died) == (1, True)
    thread.send(Inspect(2, "count 1", ReplyOptions(), (0,), 0))
    thread.until(Loaded)
    assert thread.until(Inspected).request_id == 2


def test_questions_about_text_are_answered_by_number(thread: Talk) -> None:
    """They need a pair, and one that fails or is cancelled takes nothing else with it."""
    thread.send(Tokenize(1, "a"), load(), Tokenize(2, "hi", bos=True), Detokenize(3, (104, 105)))
    assert thread.until(Failed).request_id == 1
    assert thread.until(Tokenized) == Tokenized(2, (94, 104, 105), (b"^", b"h", b"i"))
    assert thread.until(Detokenized) == Detokenized(3, "hi")
    thread.send(Render(4, (Message(Role.USER, "hi"),), prefix="So"), Tokenize(5, "refuse"), Tokenize(6, "wait"))
    assert thread.until(Rendered) == Rendered(4, "user: hi\nSo", 11)
    assert thread.until(Failed).request_id == 5
    thread.send(Cancel(), ask(7, "count 1"))
    assert thread.until(Dropped).request_id == 6
    assert thread.reply(7).text == counted(1)


def test_tokens_are_gone_on_with_and_gaps_filled_as_texts_are(thread: Talk) -> None:
    """Beside what is asked in words, in order."""
    ids = TokenIds(tuple(map(ord, "count 2")))
    thread.send(load(), Complete(1, ids, ReplyOptions()), ask(2, "count 1"))
    thread.send(Complete(3, Infill("count 3", ""), ReplyOptions()))
    assert [thread.reply(number).text for number in (1, 2, 3)] == [counted(2), counted(1), counted(3)]


def ahead(text: str) -> ReadAhead:
    return ReadAhead((Message(Role.USER, text),))


def test_reading_ahead_is_given_up_at_once_and_never_fails(thread: Talk) -> None:
    """It answers how much is left; nothing is left of what was cancelled, refused or asked for without a pair."""
    thread.send(ahead("no pair"), load(), ahead("one two"))
    assert [thread.until(HasRead).left_n for _ in range(2)] == [0, 2]
    thread.send(ahead("wait"), Cancel(), ahead("refuse"), ahead("break"), ask(1, "count 1"))
    assert [thread.until(HasRead).left_n for _ in range(3)] == [0, 0, 0]
    assert thread.reply(1).text == counted(1)
    signal_engine(thread.client, signal.SIGKILL)
    thread.until(Failed)
    thread.send(ahead("no engine"))
    assert thread.until(HasRead).left_n == 0
    assert thread.client.pid is None


def test_an_engine_that_dies_before_it_is_written_to_is_started_again(
    thread: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long prompt takes a while to encode, and the pipe may be closed by then."""
    encode = codec.encode

    def encode_late(request: Request) -> bytes:
        if isinstance(request, Generate) and request.request_id == 1:
            signal_engine(thread.client, signal.SIGKILL)
            while thread.client.pid is not None:
                threading.Event().wait(0.001)
        return encode(request)

    monkeypatch.setattr(process, "encode", encode_late)
    thread.send(load(), ask(1, "count 1"), ask(2, "count 1"))
    assert thread.reply(2).text == counted(1)


def several(replies: int) -> Load:
    return Load(LoadOptions(target=Path("/models/fine.gguf"), replies=replies))


def test_several_replies_go_on_beside_each_other(thread: Talk) -> None:
    """One ends by its number while another waits, and questions are answered in between."""
    thread.send(several(2), ask(1, "count 1 then wait"), ask(2, "count 3 then stop"))
    assert thread.reply(2).text == counted(3)
    thread.send(ask(3, "count 2 then wait"), ask(4, "count 3 then stop"), CountTokens("two words"))
    thread.until_round(3, 0)
    thread.send(Cancel(4))  # there is no room for it yet
    assert thread.reply(4).finished is FinishReason.CANCELLED
    thread.until(TokensCounted, lambda answer: answer.token_n == 2)
    thread.send(Cancel(3))
    assert thread.reply(3).finished is FinishReason.CANCELLED
    thread.send(ask(5, "count 2 then refuse"), ask(6, "count 4 then stop"))
    assert isinstance(thread.reply(5).error, EngineError)
    assert thread.reply(6).text == counted(4)
    thread.send(Cancel())
    assert thread.reply(1).finished is FinishReason.CANCELLED


def test_a_cancel_that_comes_too_late_ends_no_other_reply(thread: Talk) -> None:
    thread.send(several(2), ask(1, "count 1 then wait"), ask(2, "count 1 then stop"))
    thread.reply(2)
    thread.send(Cancel(2))
    for _ in range(1000):
        thread.until(Emitted)
    thread.send(Cancel(1))
    assert thread.reply(1).text == counted(1)


def test_a_number_ends_the_only_reply_too(thread: Talk) -> None:
    thread.send(load(), ask(1, "count 1 then wait"), ask(2, "count 1 then stop"), ask(3, "count 1 then stop"))
    thread.until_round(1, 0)
    thread.send(Cancel(2), Cancel(1), Cancel(99))
    assert thread.reply(1).finished is FinishReason.CANCELLED
    assert thread.reply(2).finished is FinishReason.CANCELLED
    assert thread.reply(3).finished is FinishReason.STOP


def test_another_pair_ends_all_replies(thread: Talk) -> None:
    thread.send(several(2), ask(1, "count 1 then wait"), ask(2, "count 1 then wait"))
    thread.until_round(2, 0)
    thread.send(load("other"))
    thread.until(Loaded, lambda loaded: loaded.info.target_name == "other")
    assert [thread.reply_so_far(number).finished for number in (1, 2)] == [FinishReason.CANCELLED] * 2
