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
from localspec.base.visible import shortened, visible_line

_STDOUT, _STDERR = 1, 2
_USUAL_COLUMNS = 80


class StdoutError(OSError):
    """A failed write to standard output, as a type of its own to distinguish it from other OSErrors."""


class _ForgivingFile(io.FileIO):
    """A raw file that drops what cannot be written: no reply is lost for the want of a message."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


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
    """Make both streams accept any text; a closed one discards it, and standard error also where it cannot be written.

    On a terminal, text from elsewhere does not steer it.
    """
    _reserve_descriptors()
    sys.stdout = filtered(_settled(sys.stdout, _STDOUT, _TellingFile))
    sys.stderr = filtered(_settled(sys.stderr, _STDERR, _ForgivingFile))


def _reserve_descriptors() -> None:
    """Have the numbers of streams that are closed mean nothing, lest what native code prints land in a file of ours."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(number, True)
    os.close(number)


def _settled(stream: TextIO | None, number: int, file: type[io.FileIO]) -> TextIO:
    """A stream that accepts any text, written as a ``file`` if it is the process's original one and no terminal."""
    if stream is None:
        return _nowhere()
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="replace")
    if stream.isatty() or not _is_descriptor(stream, number):
        return stream
    stream.flush()
    return _written(stream, file(number, "wb", closefd=False))


def moved(stream: TextIO, descriptor: int) -> TextIO:
    """Standard error at another descriptor, which the stream owns."""
    return filtered(_written(stream, _ForgivingFile(descriptor, "wb")))


def _written(stream: TextIO, file: io.FileIO) -> TextIO:
    """A stream like another that writes to ``file``, by lines where that one buffers nothing (PYTHONUNBUFFERED)."""
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=bool(stream.line_buffering or getattr(stream, "write_through", False)),
    )


def _is_descriptor(stream: TextIO, number: int) -> bool:
    try:
        return stream.fileno() == number
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


def _columns() -> int:
    """The width of the terminal that standard error is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


class Status:
    """A status line on standard error that is rewritten and finally erased; nothing without a terminal."""

    def __init__(self) -> None:
        self._shown = ""
        self._enabled = wants_ansi(sys.stderr)
        self._erase = _erase(sys.stderr)

    def show(self, what: str, fraction: float) -> None:
        """Show the current step, cut short where the terminal is narrow, and its progress, 0..1. Thread-safe."""
        if not self._enabled:
            return
        share = f" {fraction * 100:.0f} %"
        # A line that goes on in the next row of the terminal could not be erased.
        line = shortened(visible_line(what), _columns() - 1 - len(share)) + share
        if line != self._shown:
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
