"""Inside the engine process: read requests, do them one after another, end with the app.

Two threads. The reader takes requests from the pipe and sets the cancellation at once; the main
thread owns the models. Descriptor 1 stops being the pipe before anything else happens, so nothing
that llama.cpp, numpy or Python prints can reach the protocol.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, NoReturn

from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.base.gc_scheduler import GcScheduler, give_back
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.events import Event, Finished, FinishReason
from localspec.engine.tally import Tally
from localspec.runtime.load import ConcurrentPair, InspectablePair
from localspec.runtime.messages import Listener
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.rpc_watch import rpc_watched
from localspec.runtime.worker.codec import decode_request, encode
from localspec.runtime.worker.log import FORM
from localspec.runtime.worker.messages import (
    KEEP_S,
    AboutText,
    Answer,
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
    Look,
    Numbered,
    ReadAhead,
    Render,
    Rendered,
    Score,
    Scored,
    Silence,
    Tokenize,
    Tokenized,
    TokensCounted,
    Unloaded,
    Weigh,
    Weighed,
    Write,
)
from localspec.runtime.worker.request_queue import RequestQueue, Work

logger = logging.getLogger("localspec.runtime.worker")

GRACE_S = 1.0
"""Seconds that the work under way may take to end once the app is gone; closing the pair may take ``KEEP_S``."""

Opener = Callable[[LoadOptions, Cancellation, Progress | None], InspectablePair]
"""``load.open_pair``, or what stands in for it."""


def main() -> NoReturn:
    """Serve the app at the other end of the standard streams until it closes them."""
    arguments = _parse()
    requests, answers = _take_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the app
    _keep_log()
    logger.info("engine process %d started", os.getpid())
    inbox, outbox, ending = RequestQueue(), Outbox(answers), Ending()
    threading.Thread(target=_read, args=(requests, inbox, outbox, ending), name="requests", daemon=True).start()
    # The libraries load while the app still makes up its mind; what it asks for meanwhile waits in the inbox.
    EngineServer(inbox, outbox, _opener(arguments.opener), arguments.log, ending).serve()
    ending.finished.set()
    # No interpreter shutdown: some GPU back ends of llama.cpp abort in their destructors.
    os._exit(0)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m localspec.runtime.worker", description="The engine process of LocalSpec."
    )
    parser.add_argument("--log", type=Path, required=True, help="where standard error goes, to be named in errors")
    parser.add_argument(
        "--opener", help='for tests: what opens a pair instead of localspec.runtime.load, as "module:function"'
    )
    return parser.parse_args()


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes to the app, under new descriptors; 0 becomes empty and 1 becomes standard error, the log."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    return requests, answers


def _keep_log() -> None:
    """Standard error is the log: Python's crashes and everybody's loggers, llama.cpp's among them, write there."""
    faulthandler.enable(file=2)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=FORM)


@dataclass(frozen=True, slots=True)
class Ending:
    """The progress of the main thread with its last work."""

    closing: threading.Event = field(default_factory=threading.Event)
    """Set while a pair is being closed."""
    finished: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> bool:
        """Wait for it as long as it may take; returns whether it is finished."""
        return self.finished.wait(GRACE_S) or (self.closing.is_set() and self.finished.wait(KEEP_S))


def _read(requests: BinaryIO, inbox: RequestQueue, outbox: Outbox, ending: Ending) -> None:
    """The reader thread: take requests until the app is gone, then see to it that the process ends."""
    for line in requests:
        try:
            inbox.put(decode_request(line))
        except LocalSpecError as error:
            outbox.send(Failed(None, error.exit_code, error.message, error.hint))
    inbox.close()
    if not ending.wait():
        logger.info("the app is gone; ending in the middle of the work")
        os._exit(0)


def _opener(name: str | None) -> Opener:
    """The function that opens a pair. All that it needs is loaded now rather than at the first request."""
    if name is not None:
        module_name, _, function_name = name.partition(":")
        named: Opener = getattr(import_module(module_name), function_name)
        return named
    from localspec.engine.backends.llama.native import native
    from localspec.runtime.load import open_pair

    try:
        import_module("localspec.runtime.loaded_pair")  # what open_pair imports when it is called
        native()
    except Exception:  # the first load will meet it again, and then there is somebody to tell
        logger.exception("llama.cpp cannot be loaded")
    return open_pair


class Outbox:
    """Answers on their way to the app; any thread may send."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self.sent_s = 0.0
        """The moment of the latest answer."""
        self._write(b"\n")  # ends whatever the interpreter's own start may have printed into the pipe

    def send(self, answer: Answer) -> None:
        if not isinstance(answer, Silence):
            self.sent_s = time.monotonic()
        self._write(encode(answer))

    def _write(self, line: bytes) -> None:
        with self._lock:
            try:
                self._pipe.write(line)
                self._pipe.flush()
            except BrokenPipeError:
                pass  # the app is gone; the reader sees it too, and ends the process


class EngineServer:
    """Does the work of the main thread: at most one pair open, one request at a time."""

    def __init__(self, inbox: RequestQueue, outbox: Outbox, opener: Opener, log_file: Path, ending: Ending) -> None:
        self._inbox = inbox
        self._send = outbox.send
        self._outbox = outbox
        self._watch = ExitStack()
        """The watch over the connections to RPC servers."""
        self._opener = opener
        self._log_file = log_file
        self._ending = ending
        self._scheduler = GcScheduler(time.monotonic)
        self._pair: InspectablePair | None = None
        self._absent: LocalSpecError = _nothing_loaded()
        """The error to answer with while no pair is open."""

    def serve(self) -> None:
        """Work until the inbox is closed."""
        while (work := self._next()) is not None:
            self._do(work)
            self._inbox.done()
        self._close_pair()

    def _next(self) -> Work | None:
        """The next work; until there is some, replies under way go on. None when there will be no more."""
        while isinstance(self._pair, ConcurrentPair) and not self._inbox.closed and self._pair.step():
            if (work := self._inbox.poll(self._may_begin)) is not None:
                return work
        if self._scheduler.due(busy=False):
            give_back()
        return self._inbox.take()

    def _may_begin(self, work: Work) -> bool:
        """False for a reply that has to wait until another is over."""
        return not (isinstance(work, Write) and isinstance(self._pair, ConcurrentPair) and not self._pair.room_n)

    def _do(self, work: Work) -> None:
        request_id = work.request_id if isinstance(work, Numbered) else None
        try:
            match work:
                case Load(options):
                    self._load(options)
                case Generate() | Complete():
                    self._generate(work)
                case Inspect() | Weigh() | Score() | Tokenize() | Detokenize() | Render():
                    self._answer(work)
                case CountTokens(text):
                    self._send(TokensCounted(self._count(text)))
                case ReadAhead():
                    self._send(HasRead(self._read_ahead(work)))
        except Exception as error:  # noqa: BLE001 -- the worker's edge: whatever it is, the app must hear of it
            failure = self._fail(request_id, error)
            if isinstance(work, Load):
                self._absent = failure

    def _load(self, options: LoadOptions) -> None:
        self._close_pair()
        self._watch.close()
        watched = rpc_watched(
            options.rpc, self._waiting_since, lambda: self._inbox.abandoned, lambda what: self._send(Silence(what))
        )
        self._watch.enter_context(watched)
        cancellation = self._inbox.cancellation
        try:
            if not cancellation.is_set():
                self._pair = self._opener(options, cancellation, lambda *step: self._send(LoadProgress(*step)))
        except Exception:
            # A load that is cancelled fails somewhere, in one way or another; what matters is that it ended.
            if not cancellation.is_set():
                raise
        if cancellation.is_set():
            self._close_pair()
        self._send(Loaded(self._pair.info) if self._pair else Unloaded())

    def _waiting_since(self) -> float | None:
        """The moment since which the app has waited for an answer; None while it does not."""
        since_s = self._inbox.busy_since
        return None if since_s is None else max(since_s, self._outbox.sent_s)

    def _generate(self, work: Write) -> None:
        if self._inbox.cancelled:
            self._send(Emitted(work.request_id, Finished(FinishReason.CANCELLED, "", Tally().timings())))
            return
        if self._pair is None:
            raise self._absent
        if isinstance(self._pair, ConcurrentPair):
            self._begin(self._pair, work)
            return
        for event in self._pair.reply(work.prompt, work.options, work.prefix):
            self._send(Emitted(work.request_id, event))

    def _begin(self, pair: ConcurrentPair, work: Write) -> None:
        """Begin a reply beside others."""
        number = work.request_id

        def event(event: Event) -> None:
            if isinstance(event, Finished):
                self._inbox.forget(number)
            self._send(Emitted(number, event))

        def failed(error: Exception) -> None:
            self._fail(number, error)

        cancel = self._inbox.follow(number)
        pair.begin(work.prompt, work.options, work.prefix, Listener(event, failed), cancel)

    def _fail(self, number: int | None, error: Exception) -> LocalSpecError:
        if number is not None:
            self._inbox.forget(number)
        failure = self._as_localspec_error(error)
        self._send(Failed(number, failure.exit_code, failure.message, failure.hint))
        return failure

    def _count(self, text: str) -> int | None:
        try:
            return None if self._pair is None else self._pair.count_tokens(text)
        except Exception:  # a count is a courtesy
            logger.exception("a text cannot be counted")
            return None

    def _read_ahead(self, work: ReadAhead) -> int:
        """The tokens left to read; 0 to leave it at that."""
        if self._pair is None or self._inbox.cancellation.is_set():
            return 0
        try:
            return self._pair.read_ahead(work.messages, work.tools, work.reasoning)
        except (Cancelled, LocalSpecError):  # the reply to these messages says it
            return 0
        except Exception:  # likewise
            logger.exception("a prompt cannot be read ahead")
            return 0

    def _answer(self, work: Look | AboutText) -> None:
        """Answer a question about a reply or a text."""
        try:
            if self._inbox.cancelled:
                raise Cancelled
            if self._pair is None:
                raise self._absent
            self._send(_answer_of(self._pair, work))
        except Cancelled:
            self._send(Dropped(work.request_id))

    def _close_pair(self) -> None:
        pair, self._pair = self._pair, None
        self._absent = _nothing_loaded()
        if pair is not None:
            self._ending.closing.set()
            try:
                pair.close()
            finally:
                self._ending.closing.clear()

    def _as_localspec_error(self, error: Exception) -> LocalSpecError:
        if isinstance(error, LocalSpecError):
            return error
        logger.error("the engine failed", exc_info=error)
        return LocalSpecError(
            f"Something went wrong inside the engine ({type(error).__name__}: {error}).",
            f"The details are in {self._log_file}; please report them. You can go on.",
        )


def _answer_of(pair: InspectablePair, work: Look | AboutText) -> Answer:
    """Raises Cancelled or LocalSpecError."""
    match work:
        case Inspect(request_id, prompt, options, reply, position):
            return Inspected(request_id, pair.inspector.inspect(prompt, options, reply, position))
        case Weigh(request_id, prompt, options, reply, start, stop):
            return Weighed(request_id, pair.inspector.probs(prompt, options, reply, start, stop))
        case Score(request_id, ids, start, stop, top_n):
            return Scored(request_id, pair.inspector.logprobs(ids, start, stop, top_n))
        case Tokenize(request_id, text, special, bos):
            return Tokenized(request_id, *pair.prompter.tokenize(text, special=special, bos=bos))
        case Detokenize(request_id, ids):
            return Detokenized(request_id, pair.prompter.detokenize(ids))
        case Render(request_id, messages, tools, prefix, reasoning):
            return Rendered(request_id, *pair.prompter.rendered(messages, tools, prefix, reasoning))


def _nothing_loaded() -> LocalSpecError:
    return NotFoundError("No model is loaded.", "Choose a pair first.")
