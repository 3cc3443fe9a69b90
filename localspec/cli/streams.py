"""Standard output and error: safe for any text, filtered on a terminal, with a status line."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from localspec.base.amounts import duration
from localspec.base.terminal_stream import escape_for, filtered

_STDOUT = 1


class StdoutError(OSError):
    """A failed write to standard output, as a type of its own to distinguish it from other OSErrors."""


class _TellingFile(io.FileIO):
    """A raw file that raises StdoutError for a failed write, except BrokenPipeError."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StdoutError(error.errno, error.strerror) from error


def settle_streams() -> None:
    """Make both streams accept any text; a closed one discards it.

    On a terminal, text from elsewhere does not steer it.
    """
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.stdout, sys.stderr = filtered(_telling(sys.stdout)), filtered(sys.stderr)


def _telling(stream: TextIO) -> TextIO:
    """Standard output that raises StdoutError, if it is the process's original one."""
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty() or not _is_first_output(stream):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_TellingFile(_STDOUT, "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _is_first_output(stream: TextIO) -> bool:
    try:
        return stream.fileno() == _STDOUT
    except (OSError, ValueError):
        return False


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def give_up_stdout() -> None:
    """Discard buffered output, also at exit, after the reader has gone."""
    with _nowhere() as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def wants_ansi(stream: TextIO) -> bool:
    """True if a stream is a terminal that understands escape sequences."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour() -> bool:
    """True if the environment allows colours; see no-color.org."""
    return not os.environ.get("NO_COLOR")


def _erase(stream: TextIO) -> str:
    """The escape sequence that clears the current line."""
    escape = escape_for(stream)
    return f"{escape}[G{escape}[2K"


def erase_status() -> None:
    """Clear the line that a ``Status`` of another process may have left."""
    if wants_ansi(sys.stderr):
        sys.stderr.write(_erase(sys.stderr))


class Status:
    """A status line on standard error that is rewritten and finally erased; nothing without a terminal."""

    def __init__(self) -> None:
        self._shown = ""
        self._enabled = wants_ansi(sys.stderr)
        self._erase = _erase(sys.stderr)

    def show(self, what: str, fraction: float) -> None:
        """Show the current step and its progress, 0..1. Thread-safe."""
        line = f"{what} {fraction * 100:.0f} %"
        if self._enabled and line != self._shown:
            self._shown = line
            sys.stderr.write(f"{self._erase}{line}")
            sys.stderr.flush()

    def close(self) -> None:
        """Erase the line, as ``clear``."""
        self.clear()

    def clear(self) -> None:
        """Erase the line."""
        if self._shown:
            self._shown = ""
            sys.stderr.write(self._erase)
            sys.stderr.flush()


class Remaining:
    """The estimate of the remaining time, from the time spent and the share done."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def text(self, share: float) -> str:
        """The remaining time in words; empty while unknown."""
        spent_s = time.monotonic() - self._started
        return f", {duration(spent_s * (1 - share) / share)} left" if share > 0 and spent_s > 2 else ""
