"""A command that loads models runs in a child of the process that was started, which only waits for it.

llama.cpp ends its process where a file or a device is not as it expects. The parent then says so in a sentence, with
a documented exit code; otherwise it exits as the child does. Both stand in one process group, so that the terminal
reaches both: Ctrl-Z stops both, and Ctrl-C is the child's to answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from localspec.cli.services import Services
from localspec.cli.streams import erase_status, moved

if TYPE_CHECKING:
    from localspec.engine.cancel import Cancellation
    from localspec.runtime.interruptible import Opener
    from localspec.runtime.load import OpenPair
    from localspec.runtime.options import LoadOptions, Progress

_CHILD_VARIABLE = "LOCALSPEC_WATCHED_CHILD"
"""The environment variable that marks a re-executed process as the child: the descriptors of its ``ChildWatch``."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ChildWatch:
    """The child's side: descriptors for messages to the parent, and for noticing the parent's end."""

    last_words: int
    """An unnamed file for the output of native code."""
    note: int
    """An unnamed file with the name of the file that is being loaded."""
    parent: int
    """A pipe that ends with the parent."""

    def begin(self) -> None:
        """Redirect the output of native code, and end this process with its parent."""
        # llama.cpp would start a debugger on itself at an abort, which takes seconds and says little.
        os.environ.setdefault("GGML_NO_BACKTRACE", "1")
        sys.stderr = _apart_from_native(sys.stderr, self.last_words)
        threading.Thread(target=self._end_with_parent, name="localspec-parent", daemon=True).start()

    def opener(self, opener: Opener) -> Opener:
        """Wrap ``opener`` so that it notes the file that is being loaded."""

        def open_noting(options: LoadOptions, cancel: Cancellation, progress: Progress | None) -> OpenPair:
            files = {"target": str(options.target), "draft": str(options.draft) if options.draft else None}
            noted, rpc = "", {"rpc": options.rpc}

            def report(what: str, fraction: float) -> None:
                nonlocal noted
                if what != noted:
                    noted = what
                    self._note({"what": what, **files, **rpc})
                if progress is not None:
                    progress(what, fraction)

            try:
                return opener(options, cancel, report)
            finally:
                self._note(rpc)

        return open_noting

    def _note(self, note: dict[str, str | None]) -> None:
        with suppress(OSError):  # without room a crash is explained without the names of the files
            os.ftruncate(self.note, 0)
            os.pwrite(self.note, json.dumps(note).encode(), 0)

    def _end_with_parent(self) -> None:
        os.read(self.parent, 1)
        os.kill(os.getpid(), signal.SIGTERM)


def watched(services: Services, *, anew: bool = sys.platform == "darwin") -> Services:
    """Continue in a child process with its ``ChildWatch``; the parent never returns.

    With ``anew`` the child begins again from its command line: what some systems bring does not survive a fork alone.
    """
    if (descriptors := os.environ.pop(_CHILD_VARIABLE, None)) is not None:
        watch = ChildWatch(*map(int, descriptors.split(",")))
    else:
        try:
            watch = _fork()
        except OSError:
            return services  # no room for another process: unwatched is better than not at all
        if anew:
            _begin_anew(watch)
    watch.begin()
    return replace(services, open_pair=watch.opener(services.open_pair))


def _fork() -> ChildWatch:
    """Fork; returns in the child only."""
    last_words, note, (parent, alive) = _unnamed_file(), _unnamed_file(), os.pipe()
    heard = {number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN}
    _flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*heard, signal.SIGCHLD})
    try:
        child = os.fork()
        if child:
            os.close(parent)
            os._exit(_exit_code(_wait(child, heard), last_words, note))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(alive)
    return ChildWatch(last_words, note, parent)


def _unnamed_file() -> int:
    """The descriptor of an unnamed file, or of the null device if there is no room for one."""
    try:
        if sys.platform == "linux":
            return os.memfd_create("localspec")
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError:
        return os.open(os.devnull, os.O_RDWR)


def _begin_anew(watch: ChildWatch) -> None:
    """Re-execute this process with the same command line. Does not return."""
    descriptors = (watch.last_words, watch.note, watch.parent)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, True)
    os.environ[_CHILD_VARIABLE] = ",".join(map(str, descriptors))
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 -- as it was started


def _flush() -> None:
    """Flush the streams, so that no output is written twice."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _wait(child: int, heard: set[signal.Signals]) -> int:
    """The exit status of the child, negative for a signal; signals are passed on to it meanwhile."""
    # Ignored, as it is unless it has a handler, some systems would not tell of it.
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    while True:
        number, by_terminal = _next_signal({*heard, signal.SIGCHLD})
        if number == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif number != signal.SIGINT or not by_terminal:
            # Ctrl-C at a terminal has reached the child as well, and a second one would end it at once.
            os.kill(child, number)


def _next_signal(numbers: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for the next signal; returns it, and True if the terminal sent it."""
    if sys.platform != "darwin":
        info = signal.sigwaitinfo(numbers)
        return info.si_signo, info.si_code > 0
    return signal.sigwait(numbers), _in_foreground()


def _in_foreground() -> bool:
    """True if keys of the terminal send signals to this process."""
    try:
        with Path(os.ctermid()).open("rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _exit_code(status: int, last_words: int, note: int) -> int:
    """The exit code after the child's end; prints the reason if native code ended it."""
    from localspec.base.child_exit import ending_error, is_native
    from localspec.cli import report

    if status >= 0:
        return status
    if not is_native(status):
        return 128 - status
    erase_status()
    noted = json.loads(_all_of(note) or "{}")
    code = report.show(ending_error(status, _all_of(last_words), _noted_files(noted), rpc=noted.get("rpc")))
    _flush()
    return code


def _noted_files(noted: dict[str, Any]) -> tuple[Path, ...]:
    """The files that the child was loading."""
    from localspec.base.child_exit import files_being_loaded

    if "what" not in noted:
        return ()
    return files_being_loaded(noted["what"], Path(noted["target"]), Path(noted["draft"]) if noted["draft"] else None)


def _all_of(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb") as file:
        return file.read().decode("utf-8", errors="replace")


def _apart_from_native(stream: TextIO, descriptor: int) -> TextIO:
    """Keep Python's output to ``stream``, and send native code's output there to ``descriptor``."""
    own = os.dup(2)
    os.dup2(descriptor, 2)
    if stream.fileno() != 2:
        os.close(own)
        return stream
    return moved(stream, own)
