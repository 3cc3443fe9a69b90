"""One life of the engine process, seen from the app: started, spoken to, and its death explained.

Knows nothing of restarting; that is the client's part.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from localspec.base.child_exit import ending_error, files_being_loaded, telling_line
from localspec.base.errors import EngineError, LocalSpecError
from localspec.engine.events import Finished
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.codec import decode_answer, encode
from localspec.runtime.worker.log import open_log, tail
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    Emitted,
    Failed,
    Load,
    Loaded,
    LoadProgress,
    Numbered,
    Request,
    Silence,
)

END_S = 3.0
"""Seconds that an engine may take to end when asked; it ends itself within child.GRACE_S, or ``KEEP_S`` more."""

Deliver = Callable[[Answer], None]
"""Takes the next answer."""


class EngineProcess:
    """A running engine. Raises EngineError if it cannot be started."""

    def __init__(
        self, deliver: Deliver, log_file: Path, opener: str | None = None, refused: LoadOptions | None = None
    ) -> None:
        """``refused`` are the options that the process before it could not load."""
        self._deliver = deliver
        self._log_file = log_file
        self._lock = threading.RLock()
        self._open_requests: deque[Request] = deque()
        self._holds_pair = False
        self._refused = refused
        self._rpc: str | None = None
        """The RPC servers of the latest load."""
        self._loading = ""
        """The step of the load under way."""
        self._exit_error: LocalSpecError | None = None
        self._misunderstood: LocalSpecError | None = None
        """The error of an answer that cannot be read, over which it was ended."""
        self._muted = False
        self._popen, self._log_start = _start(log_file, opener)
        self._reader = threading.Thread(target=self._read, name="engine-answers", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def gone(self) -> bool:
        """True if it ended, and every open request has been answered."""
        with self._lock:
            return self._exit_error is not None

    @property
    def refused(self) -> LoadOptions | None:
        """The options of the last load, if it failed: asking for them again would change nothing."""
        with self._lock:
            return self._refused

    def lacks(self, options: LoadOptions) -> bool:
        """True if no pair is open, none is being loaded, and these options were not the last to be refused."""
        with self._lock:
            loading = any(isinstance(request, Load) for request in self._open_requests)
            return not (self._holds_pair or loading or self._refused is options)

    def send(self, request: Request) -> None:
        """Pass on a request; blocks while the pipe is full. If the engine is gone, the answer is that it died."""
        with self._lock:
            if self._exit_error is not None:
                self._pass_on(died(request, self._exit_error))
                return
            if isinstance(request, Load):
                self._rpc, self._refused = request.options.rpc, None
            if not isinstance(request, Cancel):
                self._open_requests.append(request)
        assert self._popen.stdin is not None
        with suppress(OSError, ValueError):  # it is dying, or dead and its pipe closed; the reader reports it
            self._popen.stdin.write(encode(request))
            self._popen.stdin.flush()

    def mute(self) -> None:
        """Deliver nothing any more."""
        self._muted = True

    def end(self) -> None:
        """Ask it to end, and wait until it has. Nothing is delivered after this."""
        self.mute()
        assert self._popen.stdin is not None
        with suppress(OSError):
            self._popen.stdin.close()
        self._reader.join()

    def kill(self) -> None:
        """End it now, whatever it is doing."""
        self._popen.kill()

    def _read(self) -> None:
        """The reader thread: pass on answers until the process is gone, then say why it is."""
        assert self._popen.stdout is not None
        begun = False
        with self._popen.stdout as answers:
            for line in answers:
                try:
                    answer = decode_answer(line)
                except LocalSpecError as error:
                    if begun:  # nobody knows what it answers, and somebody would wait for it for ever
                        self._misunderstood = error
                        self.kill()
                        break
                    continue  # printed by the interpreter before the engine's own code ran
                begun = True
                self._settle(answer)
                self._pass_on(answer)
        self._on_exit()

    def _pass_on(self, answer: Answer) -> None:
        if not self._muted:
            self._deliver(answer)

    def _settle(self, answer: Answer) -> None:
        """Note what ``answer`` says of the requests that are open."""
        match answer:
            case Emitted(event=event) if not isinstance(event, Finished):
                pass
            case Silence():
                pass
            case LoadProgress(what):
                self._loading = what
            case _:
                with self._lock:
                    request = self._take_answered(answer)
                    if isinstance(request, Load):
                        self._holds_pair = isinstance(answer, Loaded)
                        self._refused = request.options if isinstance(answer, Failed) else None

    def _take_answered(self, answer: Answer) -> Request | None:
        """The first open request that this can answer: those without a number are answered in order."""
        number = getattr(answer, "request_id", None)
        for request in self._open_requests:
            if (request.request_id if isinstance(request, Numbered) else None) == number:
                self._open_requests.remove(request)
                return request
        # The engine did not even understand what it could not answer.
        return self._open_requests.popleft() if number is None and self._open_requests else None

    def _on_exit(self) -> None:
        """Answer every open request with what happened, before anything newer can be received."""
        try:
            status = self._popen.wait(END_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            status = self._popen.wait()
        with self._lock:
            error = self._misunderstood or self._explained(status)
            for request in self._open_requests or (None,):
                self._pass_on(died(request, error))
            self._open_requests.clear()
            self._exit_error = error
        with suppress(OSError):
            if self._popen.stdin is not None:
                self._popen.stdin.close()

    def _explained(self, status: int) -> LocalSpecError:
        """The reason why the process ended, and what to do now."""
        log_line = telling_line(tail(self._log_file, self._log_start, self.pid)) or ""
        then = f"The next prompt starts it again. The details are in {self._log_file}."
        files: tuple[Path, ...] = ()
        if self._open_requests and isinstance(first := self._open_requests[0], Load):
            files = files_being_loaded(self._loading, first.options.target, first.options.draft)
        return ending_error(status, log_line, files, then, self._rpc)


def _start(log_file: Path, opener: str | None) -> tuple[subprocess.Popen[bytes], int]:
    """The process, and where in the log its own part begins.

    All three streams are named: inside a full-screen app the inherited ones may have no descriptor,
    and the child must never write to the terminal. In a session of its own, it does not get the
    terminal's signals either.
    """
    # "-P" keeps the current folder out of the child's path: a queue.py lying there would stop the engine.
    command = [sys.executable, "-P", "-m", "localspec.runtime.worker", "--log", str(log_file)]
    if opener is not None:
        command += ["--opener", opener]
    try:
        log = open_log(log_file)
        try:
            start = os.fstat(log).st_size
            popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(sys.path),
                start_new_session=True,
            )
        finally:
            os.close(log)
        return popen, start
    except OSError as error:
        raise EngineError(
            f"The engine process could not be started ({error.strerror or error}).",
            "Close other programs if memory is short, and try again.",
        ) from error


def _environment(search_path: Sequence[str]) -> dict[str, str]:
    """The environment of the child: it imports from where the app does."""
    folders = [folder or str(Path.cwd()) for folder in search_path]
    return {
        # llama.cpp would start a debugger on itself at an abort, which takes seconds and says little.
        "GGML_NO_BACKTRACE": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folders),
    }


def died(request: object, error: LocalSpecError) -> Failed:
    """The answer to a request, or to none, where the process has ended."""
    request_id = request.request_id if isinstance(request, Numbered) else None
    return Failed(request_id, error.exit_code, error.message, error.hint, died=True)
