"""A program on a pseudo-terminal: type into it, watch what it paints and when."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence

_AT_ONCE = 256
"""Bytes that a terminal has room for if it has any."""


class Terminal:
    """Runs a command on a terminal of its own; reads all it paints, as a terminal would."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], columns: int = 100, rows: int = 30) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            # The terminal is the program's own, so that it ends when this script is killed.
            ["setsid", "--ctty", "--wait", *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm-256color", **env},
        )
        os.close(slave)
        self.painted = b""
        self.is_closed = False

    def type(self, text: str | bytes) -> None:
        """Send keys; reads what is painted while the program does not take them."""
        data = text if isinstance(text, bytes) else text.encode()
        while data:
            readable, writable, _ = select.select([self._master], [self._master], [])
            if readable and not self.read(0):
                return  # the program has ended and its side is closed
            if writable:
                data = data[os.write(self._master, data[:_AT_ONCE]) :]

    def resize(self, columns: int, rows: int) -> None:
        """As a terminal does whose window is drawn larger or smaller; the program gets SIGWINCH."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, text: str, timeout_s: float, at: int | None = None) -> float:
        """Read until ``text`` is painted, from place ``at`` of ``painted`` on, else from now on; seconds it took.

        Raises TimeoutError, at once where the program has ended.
        """
        begun, wanted = time.perf_counter(), text.encode()
        at = len(self.painted) if at is None else at
        while wanted not in self.painted[at:]:
            if not self.read(min(0.5, timeout_s)) and (self.is_closed or time.perf_counter() - begun > timeout_s):
                raise TimeoutError(f"{text!r} was not painted within {timeout_s} s, but {self.painted[-400:]!r}")
        return time.perf_counter() - begun

    def read(self, timeout_s: float) -> bool:
        """Take what is painted within ``timeout_s``; whether there was anything."""
        if not select.select([self._master], [], [], timeout_s)[0]:
            return False
        try:
            self.painted += os.read(self._master, 65536)
        except OSError:  # the program has ended and its side is closed
            self.is_closed = True
            return False
        return True

    def close(self) -> None:
        """End the program."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
