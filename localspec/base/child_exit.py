"""The end of a child process in words: its exit status and last output become an error with a hint."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from localspec.base.errors import EngineError, LocalSpecError, ModelFileError

_REASONS = {
    signal.SIGILL: "it was built for another processor and executes an instruction this one does not have",
    signal.SIGSEGV: "it crashed",
    signal.SIGBUS: "it crashed",
    signal.SIGFPE: "it divided by zero",
    signal.SIGTRAP: "it gave up",
    signal.SIGABRT: "it gave up",
    signal.SIGKILL: "the system killed it, mostly for want of memory",
}
_FROM_A_FILE = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGTRAP, signal.SIGABRT}
"""Signals that a damaged file causes while llama.cpp loads it."""
RPC_SILENT = "no answer came from the RPC server"
"""The last words of a process that gave up waiting for an RPC server."""
_RPC_ENDED = re.compile(r"Remote RPC server crashed|Failed to connect to \S+:\d+|RPC handshake failed")
"""llama.cpp's last words when a connection to an RPC server ends."""
_RPC_HINT = "See whether it runs there, and start it again if it does not."
BUILD_HINT = "`localspec doctor` shows the command that builds llama.cpp on this machine."
"""The next step where llama.cpp does not run here."""
_LONGEST = 200
_TELLING_LINES = 20
_TELLING = re.compile(
    r"assert|RPC server|error|fail|abort|terminate called|what\(\)|out of memory|not permitted", re.IGNORECASE
)
_PYTHON_DUMP = "Fatal Python error"
_BUILD_FOLDERS = re.compile(r"^/\S*/(?=[^/\s]+:\d+: )")
"""The folders before the name of a source file, which are those of the machine that compiled it."""


def is_native(status: int) -> bool:
    """True if a process with this exit status (negative: a signal) was ended by native code or for want of memory."""
    return -status in _REASONS


def why_it_ended(code: int, stderr: str) -> str:
    """The reason for an exit code (negative: a signal), with the last error that was written; without a full stop."""
    lines = output_lines(stderr)
    if code >= 0:
        return lines[-1] if lines else "it gave no reason"
    reason = next((text for name, text in _REASONS.items() if name == -code), f"signal {-code} ended it")
    # A driver writes first what is wrong, and then where it was noticed.
    detail = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return f"{reason} ({detail})" if detail else reason


def output_lines(text: str) -> list[str]:
    """The lines that a process wrote before it ended, safe to show.

    Python's dump of its stacks after a crash is left out: it gives the place, not the reason.
    """
    lines = (line.strip() for line in text.partition(_PYTHON_DUMP)[0].splitlines())
    shown = ("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line) for line in lines)
    return [_BUILD_FOLDERS.sub("", line)[:_LONGEST].rstrip(".") for line in shown if line]


def telling_line(text: str) -> str | None:
    """The last line that names an error, among the latest ones; None if there is none."""
    return next((line for line in reversed(output_lines(text)[-_TELLING_LINES:]) if _TELLING.search(line)), None)


def files_being_loaded(step: str, target: Path, draft: Path | None) -> tuple[Path, ...]:
    """The model files that a loading step, as ``runtime.options.Progress`` reports it, works on."""
    if step.endswith("the target") or draft is None:
        return (target,)
    return (draft,) if step.endswith("the draft") else (target, draft)


def ending_error(
    status: int, output: str, loading: tuple[Path, ...] = (), next_step: str = "", rpc: str | None = None
) -> LocalSpecError:
    """The error for an engine process that ended with ``output``, while ``loading`` these files if any.

    ``next_step`` is a hint that holds for every reason; ``rpc`` are the addresses of the RPC servers it computed with.
    """
    if rpc and (lost := _rpc_loss(output, " or ".join(address.strip() for address in rpc.split(",")))):
        return EngineError(f"The engine stopped: {lost}.", f"{_RPC_HINT} {next_step}".strip())
    why = why_it_ended(status, output)
    if loading and -status in _FROM_A_FILE:
        names = " with ".join(path.name for path in loading)
        hint = "It is probably damaged, or made for a newer llama.cpp; try another file of the same model."
        return ModelFileError(f"llama.cpp cannot load {names}: {why}.", f"{hint} {next_step}".strip())
    hints = {
        signal.SIGILL: BUILD_HINT,
        signal.SIGKILL: "If memory ran out, a smaller model or a smaller context (--ctx) helps.",
        signal.SIGBUS: "A model file was probably changed or truncated while it was in use; check it.",
    }
    hint = next((text for name, text in hints.items() if name == -status), "")
    return EngineError(f"The engine stopped: {why}.", f"{hint} {next_step}".strip())


def _rpc_loss(output: str, names: str) -> str:
    """The way in which a process lost an RPC server; empty if its last output tells of none."""
    if RPC_SILENT in output:
        return f"the RPC server {names} did not answer"
    return f"the RPC server {names} ended the connection, or cannot be reached" if _RPC_ENDED.search(output) else ""
