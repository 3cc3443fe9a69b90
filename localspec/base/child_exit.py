"""Why a child process ended, in words: whatever llama.cpp does to it, the one that asked goes on and has a sentence."""

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
_BY_THE_FILE = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGTRAP, signal.SIGABRT}
"""A file that llama.cpp is loading can bring these about."""
_LONGEST = 200
_TELLING_LINES = 20
_TELLING = re.compile(r"assert|error|fail|abort|terminate called|what\(\)|out of memory|not permitted", re.IGNORECASE)
_PYTHON_DUMP = "Fatal Python error"
_BUILD_FOLDERS = re.compile(r"^/\S*/(?=[^/\s]+:\d+: )")
"""Before the name of a source file: they are those of the machine that compiled it."""


def is_native(status: int) -> bool:
    """Whether a process with this status, negative for a signal, was ended by what was done in it."""
    return -status in _REASONS


def why_it_ended(code: int, stderr: str) -> str:
    """From its exit code, negative for a signal, and what it wrote; no full stop at the end."""
    lines = said_lines(stderr)
    if code >= 0:
        return lines[-1] if lines else "it did not say why"
    died = next((text for name, text in _REASONS.items() if name == -code), f"it died of signal {-code}")
    # A driver says first what is wrong, and then where that was met.
    said = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return f"{died} ({said})" if said else died


def said_lines(text: str) -> list[str]:
    """The lines of what a process wrote before it ended, fit to be shown.

    Python's own dump of its stacks after a crash comes last and is left out: it says where, not why.
    """
    lines = (line.strip() for line in text.partition(_PYTHON_DUMP)[0].splitlines())
    shown = ("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line) for line in lines)
    return [_BUILD_FOLDERS.sub("", line)[:_LONGEST].rstrip(".") for line in shown if line]


def telling_line(text: str) -> str | None:
    """Of the latest lines the last that says what went wrong; None if none does."""
    return next((line for line in reversed(said_lines(text)[-_TELLING_LINES:]) if _TELLING.search(line)), None)


def files_being_loaded(what: str, target: Path, draft: Path | None) -> tuple[Path, ...]:
    """The files that ``what``, as ``runtime.options.Progress`` is told it, is done to."""
    if what.endswith("the target") or draft is None:
        return (target,)
    return (draft,) if what.endswith("the draft") else (target, draft)


def ending_error(status: int, said: str, loading: tuple[Path, ...] = (), then: str = "") -> LocalSpecError:
    """The error to tell of a process that ended while it was ``loading`` these files, or none any more.

    ``said`` is what it wrote, and ``then`` what can be done anyhow.
    """
    why = why_it_ended(status, said)
    if loading and -status in _BY_THE_FILE:
        names = " with ".join(path.name for path in loading)
        hint = "It is probably damaged, or made for a newer llama.cpp; try another file of the same model."
        return ModelFileError(f"llama.cpp cannot load {names}: {why}.", f"{hint} {then}".strip())
    hints = {
        signal.SIGILL: "localspec doctor shows the command that builds llama.cpp on this machine.",
        signal.SIGKILL: "If memory ran out, a smaller model or a smaller context (--ctx) helps.",
        signal.SIGBUS: "A model file was probably changed or cut short while it was in use; check it.",
    }
    hint = next((text for name, text in hints.items() if name == -status), "")
    return EngineError(f"The engine stopped: {why}.", f"{hint} {then}".strip())
