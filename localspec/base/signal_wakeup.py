"""Wake-up of the main thread for a signal that arrives just before a blocking call.

Python runs signal handlers in the main thread, between two instructions. A signal that arrives after the last check and
before the thread blocks, for a key, for bytes or for a lock, interrupts nothing: its handler runs when the wait ends by
itself, if it ever does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from contextlib import suppress
from types import TracebackType

PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""Pauses before each wake-up of the main thread: soon, and again in case it took long to block."""


class SignalWakeup:
    """A context manager for the main thread: within it every signal is handled soon.

    Python writes a byte into a pipe for every signal. A thread that reads the pipe sends the main thread SIGURG a few
    times, which does nothing but interrupt its blocking call, so that it runs the handlers.
    """

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._main = threading.main_thread().ident or 0
        self._thread = threading.Thread(target=self._serve, name="localspec-signal-wakeup", daemon=True)

    def __enter__(self) -> SignalWakeup:
        self._source, self._sink = os.pipe()
        os.set_blocking(self._sink, False)
        self._previous_handler = signal.signal(signal.SIGURG, signal.SIG_DFL)
        _interrupt_and_do_nothing(signal.SIGURG)
        self._previous_sink = signal.set_wakeup_fd(self._sink, warn_on_full_buffer=False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with suppress(BlockingIOError):
            os.write(self._sink, b"\0")
        self._thread.join()
        signal.set_wakeup_fd(self._previous_sink)
        signal.signal(signal.SIGURG, self._previous_handler or signal.SIG_DFL)
        os.close(self._source)
        os.close(self._sink)

    def _serve(self) -> None:
        while True:
            os.read(self._source, 4096)
            for pause_s in PAUSES_S:
                if self._ended.wait(pause_s):
                    return
                signal.pthread_kill(self._main, signal.SIGURG)


def _interrupt_and_do_nothing(number: signal.Signals) -> None:
    """Let a signal interrupt system calls and do nothing else.

    Its handler is the C library's ``abs``: readline runs handlers of Python's twice, the second time with the exception
    of the first.
    """
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    library.signal(number, ctypes.cast(library.abs, ctypes.c_void_p))
    signal.siginterrupt(number, True)
