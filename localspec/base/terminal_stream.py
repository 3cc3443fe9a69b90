"""A filter for standard output and error on a terminal: it makes every control character visible but our own.

The filter is the stream itself, so that all output passes it: replies, errors, tracebacks and the messages of
libraries. The program's own escape sequences begin with ``escape_for(stream)`` in place of ESC: a random word, new in
each process, that no text from elsewhere can contain.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TextIO, cast

from localspec.base.visible import visible

_ESC = "\x1b"


class TerminalStream:
    """A text stream that replaces control characters and passes everything else on.

    Its binary layer (``buffer``) cannot be reached: bytes written there would bypass the filter.
    """

    escape = f"\ufdd0{os.urandom(8).hex()}\ufdd0"
    """Stands for ESC in our own sequences; U+FDD0 is a noncharacter, reserved for internal use."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(visible(text).replace(self.escape, _ESC))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach"):
            raise AttributeError(name)
        return getattr(self._stream, name)


def filtered(stream: TextIO) -> TextIO:
    """The stream with the filter around it if it is a terminal."""
    if isinstance(stream, TerminalStream) or not stream.isatty():
        return stream
    return cast("TextIO", TerminalStream(stream))


def is_utf8(stream: TextIO) -> bool:
    """True if the stream can take every character; where not, JSON and charts are written in ASCII."""
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def escape_for(stream: TextIO) -> str:
    """The text that begins our own escape sequences on this stream."""
    return stream.escape if isinstance(stream, TerminalStream) else _ESC
