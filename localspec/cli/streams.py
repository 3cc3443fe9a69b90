"""Standard output and error: writable with any text, netted on a terminal, and one line of passing status."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from localspec.base.terminal_stream import escape_for, filtered

_STDOUT = 1


class StdoutError(OSError):
    """Standard output takes no more; an error of its own, for any other looks the same."""


class _TellingFile(io.FileIO):
    """A file that raises StdoutError where nobody but its reader has gone."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StdoutError(error.errno, error.strerror) from error


def settle_streams() -> None:
    """Make both streams writable with any text; one that is closed swallows what is written.

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
    """Standard output that raises StdoutError, where it is what the process was started with."""
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
    """Nobody takes it any more: let what is still buffered go nowhere, at exit too."""
    with _nowhere() as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def wants_ansi(stream: TextIO) -> bool:
    """Whether a stream is a terminal that understands escape sequences."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour() -> bool:
    """Whether the environment leaves colours on; see no-color.org."""
    return not os.environ.get("NO_COLOR")


def _erase(stream: TextIO) -> str:
    """What removes the line that the cursor stands in."""
    escape = escape_for(stream)
    return f"{escape}[G{escape}[2K"


def erase_status() -> None:
    """Remove the line that a ``Status`` of another process may have left."""
    if wants_ansi(sys.stderr):
        sys.stderr.write(_erase(sys.stderr))


class Status:
    """One line on standard error that is rewritten and at last erased; nothing at all without a terminal."""

    def __init__(self) -> None:
        self._shown = ""
        self._enabled = wants_ansi(sys.stderr)
        self._erase = _erase(sys.stderr)

    def show(self, what: str, fraction: float) -> None:
        """Say what is being done and how far it has come, 0..1. Callable from any thread."""
        line = f"{what} {fraction * 100:.0f} %"
        if self._enabled and line != self._shown:
            self._shown = line
            sys.stderr.write(f"{self._erase}{line}")
            sys.stderr.flush()

    def close(self) -> None:
        """Leave no trace. As ``clear``, for whoever closes what they used."""
        self.clear()

    def clear(self) -> None:
        """Leave no trace."""
        if self._shown:
            self._shown = ""
            sys.stderr.write(self._erase)
            sys.stderr.flush()
