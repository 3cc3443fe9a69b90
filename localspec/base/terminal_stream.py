"""Standard output and error where they are a terminal: nothing but this program's own styles steers it.

The net lies in the stream, so that whatever prints passes it: replies, errors, tracebacks, and what libraries say.
The program's own escape sequences begin with ``escape_for(stream)`` in place of ESC. That is a word of chance, new in
each process, so that no text from elsewhere can hold it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TextIO, cast

from localspec.base.visible import visible

_ESC = "\x1b"


class TerminalStream:
    """As the stream that it writes to, but for what would steer the terminal.

    The bytes below it are out of reach: what was written there would pass the net by.
    """

    escape = f"\ufdd0{os.urandom(8).hex()}\ufdd0"
    """Stands for ESC in sequences of our own; U+FDD0 is set aside for such inner use."""

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


def netted(stream: TextIO) -> TextIO:
    """The stream, through the net if it leads to a terminal."""
    if isinstance(stream, TerminalStream) or not stream.isatty():
        return stream
    return cast("TextIO", TerminalStream(stream))


def escape_for(stream: TextIO) -> str:
    """What escape sequences of our own begin with on this stream."""
    return stream.escape if isinstance(stream, TerminalStream) else _ESC
