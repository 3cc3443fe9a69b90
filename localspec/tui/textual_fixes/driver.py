"""The terminal on Unix: bytes that are no UTF-8 do no harm, a long paste costs what a key does, a frame is one write.

Textual's own loop decodes strictly, and a single such byte ends the app. What it draws between the signs by which a
terminal shows a frame at once, it gives to its writing thread in three parts, which may wake that thread three times.
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


class Display:
    """The terminal as the file that is drawn to; once it is gone, what is drawn goes nowhere.

    The writing thread would end by the error, and leave the app waiting for it.
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
    """As Textual's, with another input loop, and frames that are written as one."""

    _frame: list[str] | None = None
    """What has come of a frame that is not at its end."""

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: Size | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._file is not None:
            self._file = cast(Any, Display(self._file))

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
        """Read until the app ends."""
        source = _Messages(XTermParser(self._debug))
        with SelectSelector() as selector:
            selector.register(self.fileno, EVENT_READ)
            while not self.exit_event.is_set():
                data = _read(self.fileno) if selector.select(_TICK_S) else None
                if data == b"":
                    # Nobody is at the other end any more. Where the system's own signal for that is ignored, as under
                    # nohup, the app would go on for ever; what was said is stored.
                    discard_terminal_output()
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
                for message in source.take(data) if data else source.tick():
                    self.process_message(message)


def _read(source: int) -> bytes:
    """What was typed; nothing if the terminal is gone."""
    try:
        return os.read(source, _READ_BYTES)
    except OSError:
        return b""


class _Messages:
    """From bytes to what happened."""

    def __init__(self, parser: XTermParser) -> None:
        self._parser = parser
        self._gate = PasteGate()
        self._decode = getincrementaldecoder("utf-8")(errors="replace").decode

    def take(self, data: bytes) -> Iterator[Message]:
        """What these bytes say."""
        for piece in self._gate.feed(self._decode(data), more=len(data) == _READ_BYTES):
            if isinstance(piece, Pasted):
                yield events.Paste(piece.text)
            else:
                yield from self._feed(piece)
        yield from self._parser.tick()

    def tick(self) -> Iterator[Message]:
        """What it means that nothing came."""
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
