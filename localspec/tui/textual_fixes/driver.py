"""A driver for Unix terminals: survives bytes that are not UTF-8, takes a long paste whole, writes a frame at once.

Needed with Textual 8.2.8. Corrects: the input loop decodes strictly, so that one invalid byte ends the app; a paste is
parsed character by character; a frame goes to the writing thread in three parts, which may wake it three times; a
terminal that is gone ends the writing thread and leaves the app waiting for it. Not reported upstream yet.
"""

from __future__ import annotations

import os
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from selectors import EVENT_READ, SelectSelector
from typing import IO, Any, TypeAlias, cast

from textual import events
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from localspec.base.signals import discard_terminal_output
from localspec.tui.textual_fixes.paste_gate import Pasted, PasteGate

Size: TypeAlias = tuple[int, int]

_READ_BYTES = 65_536
_TICK_S = 0.1


class TerminalFile:
    """The terminal as a file; once it is gone, writes are dropped.

    An error would end the writing thread, and leave the app waiting for it.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class TerminalDriver(LinuxDriver):
    """As Textual's, with another input loop, and each frame written as one."""

    _frame: list[str] | None = None
    """The parts of a frame that has not ended yet."""

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: Size | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._file is not None:
            self._file = cast(Any, TerminalFile(self._file))

    def write(self, data: str) -> None:
        if data == SYNC_START:
            self._frame = [data]
        elif self._frame is None:
            super().write(data)
        else:
            self._frame.append(data)
            if data == SYNC_END:
                frame, self._frame = self._frame, None
                super().write("".join(frame))

    def run_input_thread(self) -> None:
        source = _Messages(XTermParser(self._debug))
        with SelectSelector() as selector:
            selector.register(self.fileno, EVENT_READ)
            while not self.exit_event.is_set():
                data = _read(self.fileno) if selector.select(_TICK_S) else None
                if data == b"":
                    # The terminal is gone. Where the system's signal for that is ignored, as under nohup, the app would
                    # go on for ever; the conversation is stored.
                    discard_terminal_output()
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
                for message in source.take(data) if data else source.tick():
                    self.process_message(message)


def _read(source: int) -> bytes:
    """The bytes that were typed; none if the terminal is gone."""
    try:
        return os.read(source, _READ_BYTES)
    except OSError:
        return b""


class _Messages:
    """Turns bytes into Textual's messages."""

    def __init__(self, parser: XTermParser) -> None:
        self._parser = parser
        self._gate = PasteGate()
        self._decode = getincrementaldecoder("utf-8")(errors="replace").decode

    def take(self, data: bytes) -> Iterator[Message]:
        """The messages of these bytes."""
        for piece in self._gate.feed(self._decode(data), more=len(data) == _READ_BYTES):
            if isinstance(piece, Pasted):
                yield events.Paste(piece.text)
            else:
                yield from self._feed(piece)
        yield from self._parser.tick()

    def tick(self) -> Iterator[Message]:
        """The messages that are due when nothing came: a lone Escape is a key then."""
        yield from self._feed(self._gate.flush())
        yield from self._parser.tick()

    def _feed(self, text: str) -> Iterator[Message]:
        if text:
            try:
                yield from self._parser.feed(text)
            except ParseError:
                return


def driver_for(usual: type[Driver]) -> type[Driver]:
    """Ours in place of Textual's own for Unix terminals; any other stays."""
    return TerminalDriver if usual is LinuxDriver else usual
