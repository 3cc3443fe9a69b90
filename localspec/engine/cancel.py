"""Stopping a reply from another thread, within one operation of the compute graph.

llama.cpp asks an abort callback between graph nodes. A Python callback there would fight for the
GIL, so the backend hands llama.cpp the C library's ``atoi`` and the buffer below: "0" says go on,
"1" says stop, and no Python runs in the compute thread.
"""

from __future__ import annotations

import ctypes


class Cancelled(Exception):
    """Raised when a stop signal interrupts an evaluation, by ``Model.logits`` above all."""


class Cancellation:
    """A stop signal that Python and C can both read. Thread-safe: each change is one byte."""

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(b"0", 2)

    @property
    def address(self) -> int:
        """The address of the NUL-terminated "0" or "1" for C; valid as long as this object lives."""
        return ctypes.addressof(self._buffer)

    def set(self) -> None:
        """Ask to stop."""
        self._buffer[0] = b"1"

    def clear(self) -> None:
        """Withdraw the request, before the next reply."""
        self._buffer[0] = b"0"

    def is_set(self) -> bool:
        return self._buffer[0] == b"1"
