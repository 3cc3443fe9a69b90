"""Models in this process, with Ctrl-C ending the reply instead of the program.

Everything that touches a model runs in one thread. The main thread waits for it, and so is free to take a signal. The
first Ctrl-C asks the work under way to stop; the second ends the process at once. SIGTERM and SIGHUP stop the work,
too, and then end the program.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Generic, TypeVar

from localspec.base.errors import INTERRUPTED_EXIT_CODE
from localspec.base.signal_wakeup import SignalWakeup
from localspec.base.signals import discard_terminal_output, ending_signals
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.events import Event
from localspec.runtime.cache_notices import KEEPING_HERE, tell_not_kept, told_if_long
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.rpc_watch import rpc_watched

T = TypeVar("T")

GRACE_S = 5.0
"""Seconds that the work under way may take to end after SIGTERM."""

Opener = Callable[[LoadOptions, Cancellation, Progress | None], OpenPair]
"""``load.open_pair``, or a stand-in for it."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """The work is done; ``error`` is what it raised."""

    error: BaseException | None = None


@dataclass(slots=True)
class _Job(Generic[T]):
    """Work for the thread, and the queue of its results."""

    work: Callable[[], Iterator[T]]
    results: SimpleQueue[T | _Ended]

    def do(self) -> None:
        try:
            for result in self.work():
                self.results.put(result)
        except BaseException as error:  # noqa: BLE001 -- it is raised again in the thread that waits
            self.results.put(_Ended(error))
        else:
            self.results.put(_Ended())


class InterruptibleThread:
    """A thread that does one piece of work after another. A context, entered from the main thread."""

    def __init__(self) -> None:
        self.cancel = Cancellation()
        """The cancellation of the work; set by Ctrl-C, cleared before each piece of work."""
        self.interrupted = False
        """True if Ctrl-C came during the latest piece of work."""
        self.leaving: int | None = None
        """The exit code to leave with, once SIGTERM or SIGHUP came."""
        self._since: float | None = None
        """The moment of the latest result of the work under way; None while there is none."""
        self._told_since: float | None = None
        self._watches = ExitStack()
        self._force: threading.Timer | None = None
        """Ends the process if the work does not."""
        self._previous_handlers: dict[int, Any] = {}
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._current: _Job[Any] | None = None
        self._wakeup = SignalWakeup()
        self._thread = threading.Thread(target=self._serve, name="localspec-engine", daemon=True)

    def __enter__(self) -> InterruptibleThread:
        self._previous_handlers = {signal.SIGINT: signal.signal(signal.SIGINT, self._on_interrupt)}
        for number in ending_signals():
            self._previous_handlers[number] = signal.signal(number, self._on_end)
        self._wakeup.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._abandon()
        self._jobs.put(None)
        self._thread.join()
        self._watches.close()
        self._wakeup.__exit__(kind, error, trace)
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        if self._force is not None:
            self._force.cancel()

    def call(self, work: Callable[[], T]) -> T:
        """The result of ``work``; raises what it raises."""

        def once() -> Iterator[T]:
            yield work()

        (result,) = self.stream(once)
        return result

    def open(self, opener: Opener, options: LoadOptions, progress: Progress | None) -> OpenPair:
        """Open a pair. Its connections to RPC servers are watched as long as this thread lives."""
        self._watches.enter_context(rpc_watched(options.rpc, lambda: self._since, self.cancel.is_set, self._say_silent))
        return self.call(lambda: opener(options, self.cancel, progress))

    def stream(self, work: Callable[[], Iterator[T]]) -> Iterator[T]:
        """The results that ``work`` yields, as they come; raises what it raises.

        Closing it stops the work, and so does the next piece of work. Raises SystemExit at the end of work that SIGTERM
        or SIGHUP stopped.
        """
        self._abandon()
        if self.leaving is None:
            self.cancel.clear()
        self.interrupted = False
        job = _Job(work, SimpleQueue())
        self._current = job
        self._since = time.monotonic()
        self._jobs.put(job)
        try:
            while not isinstance(result := job.results.get(), _Ended):
                yield result
                self._since = time.monotonic()
        except GeneratorExit:
            if self._current is job:
                self._abandon()
            raise
        self._current = self._since = None
        if self.leaving is not None:
            raise SystemExit(self.leaving) from result.error
        if result.error is not None:
            raise result.error

    def _abandon(self) -> None:
        """Stop work that was abandoned half-way, and wait until it has stopped."""
        if self._current is None:
            return
        self.cancel.set()
        while not isinstance(self._current.results.get(), _Ended):
            pass
        self._current = self._since = None

    def _say_silent(self, what: str) -> None:
        """Tell once of each wait in vain."""
        if self._told_since != self._since:
            self._told_since = self._since
            sys.stderr.write(f"localspec: {what}; Ctrl-C gives up waiting.\n")

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.do()

    def _on_interrupt(self, signal_number: int, frame: FrameType | None) -> None:
        if self._current is None:
            signal.default_int_handler(signal_number, frame)
        if self.interrupted:
            # No clean-up: the thread may be deep in native code, and the person has asked twice.
            os._exit(INTERRUPTED_EXIT_CODE)
        self.interrupted = True
        self.cancel.set()

    def _on_end(self, signal_number: int, frame: FrameType | None) -> None:
        if signal_number != signal.SIGTERM:
            discard_terminal_output()
        if self.leaving is None:
            self.leaving = 128 + signal_number
            self._force = threading.Timer(GRACE_S, os._exit, (self.leaving,))
            self._force.daemon = True
            self._force.start()
        self.cancel.set()
        if self._current is None:
            raise SystemExit(self.leaving)


@dataclass(frozen=True, slots=True)
class InterruptiblePair:
    """An open pair whose replies Ctrl-C ends."""

    info: PairInfo
    _pair: OpenPair
    _thread: InterruptibleThread

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C came during the latest reply."""
        return self._thread.interrupted

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """As ``OpenPair.reply``; after Ctrl-C it ends with ``Finished(CANCELLED)``."""
        return self._thread.stream(lambda: self._pair.reply(prompt, options, prefix))


def _close(pair: OpenPair, thread: InterruptibleThread) -> None:
    """Close a pair. Ctrl-C leaves out keeping its caches on disk."""
    with told_if_long(KEEPING_HERE):
        try:
            thread.call(lambda: pair.close(thread.cancel))
        except Cancelled:
            if thread.leaving is None:
                tell_not_kept()


@contextmanager
def open_interruptibly(opener: Opener, options: LoadOptions, progress: Progress | None) -> Iterator[InterruptiblePair]:
    """An open pair for the length of a ``with``. Raises KeyboardInterrupt if Ctrl-C ends the loading."""
    with InterruptibleThread() as thread:
        try:
            pair = thread.open(opener, options, progress)
        except Cancelled:
            raise KeyboardInterrupt from None
        try:
            if thread.interrupted:
                raise KeyboardInterrupt
            yield InterruptiblePair(pair.info, pair, thread)
        finally:
            _close(pair, thread)
