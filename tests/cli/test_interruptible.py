"""Work in a thread that Ctrl-C can stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

import pytest

from localspec.base.errors import INTERRUPTED_EXIT_CODE, TERMINATED_EXIT_CODE, NotFoundError
from localspec.cli.services import Services
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.runtime.cache_notices import KEEPING_HERE, NOT_KEPT
from localspec.runtime.interruptible import InterruptibleThread, open_interruptibly
from localspec.runtime.load import OpenPair
from localspec.runtime.options import LoadOptions, Progress
from tests.cli.conftest import Localspec
from tests.cli.support import FakePair, info_of
from tests.runtime.test_cache_notices import PATIENCE_S, Heard

FILES = ("--target", "target.gguf")


def until(cancel: Cancellation, first: int = 0) -> Iterator[int]:
    """Numbers until the stop signal, and -1 as a farewell."""
    number = first
    while not cancel.is_set():
        yield number
        number += 1
    yield -1


def test_work_runs_in_order_in_one_other_thread() -> None:
    """Native memory has one owner: never the main thread, never two."""
    with InterruptibleThread() as thread:
        owners = {thread.call(threading.get_ident) for _ in range(3)}
    assert len(owners) == 1
    assert owners != {threading.get_ident()}


def test_what_the_work_raises_arrives() -> None:
    """An error in the thread is an error of the caller, after what came before it."""

    def work() -> Iterator[int]:
        yield 1
        raise NotFoundError("gone")

    with InterruptibleThread() as thread:
        stream = thread.stream(work)
        assert next(stream) == 1
        with pytest.raises(NotFoundError, match="gone"):
            next(stream)


def test_ctrl_c_stops_the_work_and_not_the_program() -> None:
    """The first Ctrl-C is the work's to answer; what it still yields arrives."""
    with InterruptibleThread() as thread:
        seen = []
        for number in thread.stream(lambda: until(thread.cancel)):
            if number == 0:
                os.kill(os.getpid(), signal.SIGINT)
            seen.append(number)
        assert seen[-1] == -1
        assert thread.interrupted
        assert thread.call(lambda: 5) == 5
        assert not thread.interrupted


def test_ctrl_c_that_does_not_wake_the_main_thread_is_answered() -> None:
    """Once in some hundred times a signal comes just before the main thread falls asleep; here, always."""
    with InterruptibleThread() as thread:

        def stopped() -> Iterator[bool]:
            # Masked in the main thread, it is taken by this one, and wakes nobody.
            os.kill(os.getpid(), signal.SIGINT)
            deadline_s = time.monotonic() + 60
            while not thread.cancel.is_set() and time.monotonic() < deadline_s:
                pass
            yield thread.cancel.is_set()

        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            assert list(thread.stream(stopped)) == [True]
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        assert thread.interrupted


def test_ctrl_c_between_pieces_of_work_is_the_usual_one() -> None:
    """With nothing under way there is nothing to stop but the program."""
    before = signal.getsignal(signal.SIGINT)
    with InterruptibleThread() as thread:
        thread.call(lambda: 1)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_abandoned_work_is_stopped_before_the_next_begins() -> None:
    """Leaving a loop early neither blocks what comes after it nor leaks into it."""
    with InterruptibleThread() as thread:
        for number in thread.stream(lambda: until(thread.cancel)):
            if number == 3:
                break
        assert next(thread.stream(lambda: until(thread.cancel, first=100))) == 100


def test_abandoned_work_that_is_closed_later_ends_no_other() -> None:
    with InterruptibleThread() as thread:
        first = thread.stream(lambda: until(thread.cancel))
        next(first)
        second = thread.stream(lambda: until(thread.cancel, first=100))
        assert next(second) == 100
        first.close()  # type: ignore[attr-defined]
        assert next(second) == 101


def test_after_abandoned_work_ctrl_c_is_the_usual_one() -> None:
    """As where a check has stopped a reply: nothing is under way that it could end."""
    with InterruptibleThread() as thread:
        for number in thread.stream(lambda: until(thread.cancel)):
            if number == 3:
                break
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("refuses", [True, False])
def test_ctrl_c_while_loading_leaves(refuses: bool) -> None:
    """Whether the load gives up or comes through at the last moment, nothing is left open."""
    opened: list[FakePair] = []

    def opener(options: LoadOptions, cancel: Cancellation, progress: Progress | None) -> OpenPair:
        os.kill(os.getpid(), signal.SIGINT)
        while not cancel.is_set():
            pass
        if refuses:
            raise Cancelled
        opened.append(FakePair(info_of(options), cancel))
        return opened[-1]

    options = LoadOptions(Path("target.gguf"))
    with pytest.raises(KeyboardInterrupt), open_interruptibly(opener, options, None):
        pytest.fail("the pair was handed out")
    assert [pair.closed for pair in opened] == ([] if refuses else [True])


@dataclass(slots=True)
class Keeping(FakePair):
    """Keeps what it holds until somebody does not want to wait any more."""

    begun: Callable[[], object] = lambda: None

    def close(self, cancel: Cancellation | None = None) -> None:
        self.closed = True
        self.begun()
        deadline_s = time.monotonic() + PATIENCE_S
        while not (cancel is None or cancel.is_set()):
            assert time.monotonic() < deadline_s, "nobody's Ctrl-C was heard"
        raise Cancelled


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_while_a_cache_is_kept_goes_on_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    """It says what is not there now, and is no error."""
    opened: list[Keeping] = []

    def opener(options: LoadOptions, cancel: Cancellation, progress: Progress | None) -> OpenPair:
        opened.append(Keeping(info_of(options), cancel, begun=interrupt))
        return opened[-1]

    with open_interruptibly(opener, LoadOptions(Path("target.gguf")), None) as pair:
        assert not pair.interrupted
    assert pair.interrupted
    assert opened[0].closed
    assert capsys.readouterr().err == f"{NOT_KEPT}\n"


def test_nobody_waits_for_a_cache_without_a_word() -> None:
    """Before anybody presses Ctrl-C, what takes so long is said, and that Ctrl-C ends it."""

    def opener(options: LoadOptions, cancel: Cancellation, progress: Progress | None) -> OpenPair:
        def begun() -> None:
            assert heard.said.wait(PATIENCE_S)
            interrupt()

        return Keeping(info_of(options), cancel, begun=begun)

    with redirect_stderr(Heard()) as heard, open_interruptibly(opener, LoadOptions(Path("target.gguf")), None):
        pass
    assert heard.getvalue() == f"{KEEPING_HERE}\n\n{NOT_KEPT}\n"


def test_a_reply_whose_cache_nobody_waited_for_is_whole(localspec: Localspec) -> None:
    """And its exit code says that Ctrl-C came, as ever."""

    def opener(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        return Keeping(info_of(options), cancel, begun=interrupt)

    plain = localspec("run", *FILES, "hello", "--json")
    done = localspec(
        "run", *FILES, "hello", "--json", services=Services(opener, lambda chat_config: None, lambda: False)
    )
    assert (plain.code, done.code) == (0, 130)
    assert [json.loads(line)["event"] for line in done.out.splitlines()][-1] == "done"
    assert done.err.splitlines()[-1] == NOT_KEPT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_stops_the_work_and_then_the_program(number: signal.Signals) -> None:
    """What the work still yields arrives, and the exit code is the signal's; nothing is begun after it."""
    before = signal.getsignal(number)
    seen: list[int] = []

    def work() -> None:
        with InterruptibleThread() as thread:
            for value in thread.stream(lambda: until(thread.cancel)):
                if value == 0:
                    os.kill(os.getpid(), number)
                    os.kill(os.getpid(), number)  # as from a terminal, and from whoever watches
                seen.append(value)

    with pytest.raises(SystemExit, match=str(128 + number)):
        work()
    assert seen[-1] == -1
    assert signal.getsignal(number) is before


def test_a_request_to_end_with_nothing_under_way_leaves_at_once() -> None:
    """Somebody may be at the prompt meanwhile."""

    def idle() -> None:
        with InterruptibleThread() as thread:
            thread.call(lambda: 1)
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit, match=str(TERMINATED_EXIT_CODE)):
        idle()


def test_a_request_to_end_while_loading_leaves_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    """It is no Ctrl-C, of which something would be said."""

    def opener(options: LoadOptions, cancel: Cancellation, progress: Progress | None) -> OpenPair:
        os.kill(os.getpid(), signal.SIGTERM)
        while not cancel.is_set():
            pass
        raise Cancelled

    with (
        pytest.raises(SystemExit, match=str(TERMINATED_EXIT_CODE)),
        open_interruptibly(opener, LoadOptions(Path("target.gguf")), None),
    ):
        pytest.fail("the pair was handed out")
    assert capsys.readouterr() == ("", "")


SECOND_CTRL_C = """
import os, signal, threading
from localspec.runtime.interruptible import InterruptibleThread
def stubborn():
    yield 1
    threading.Event().wait()
with InterruptibleThread() as thread:
    for _ in thread.stream(stubborn):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
"""


def test_the_second_ctrl_c_ends_the_process_at_once() -> None:
    """Work that does not answer cannot keep anyone waiting."""
    done = subprocess.run([sys.executable, "-c", SECOND_CTRL_C], timeout=120, capture_output=True, text=True)
    assert done.returncode == INTERRUPTED_EXIT_CODE
    assert done.stderr == ""
