"""A signal that comes in the instant before the main thread falls asleep wakes it all the same.

Python runs the handler of a signal in the main thread, between two instructions. Where that is just about to wait, for
a key, for bytes or for a lock, it has looked for signals for the last time and does not sleep yet: the signal wakes
nobody, and its handler runs when the wait has ended by itself, if it ever does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from contextlib import suppress
from types import TracebackType

POSSIBLE = hasattr(signal, "pthread_kill")
"""Not on Windows, where a console's Ctrl-C is an event of its own."""
PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""When the main thread is woken, each after the one before: soon, and again in case it was long on its way."""


class SignalWakeup:
    """Sees to it that signals are noticed, for the length of a ``with`` in the main thread.

    Python writes a byte into a pipe for every signal. A thread that reads it sends the main thread SIGURG, which nobody
    minds, a few times: whatever it waits in is interrupted, and then it looks for signals.
    """

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._main = threading.main_thread().ident or 0
        self._thread = threading.Thread(target=self._serve, name="localspec-nudge", daemon=True)

    def __enter__(self) -> SignalWakeup:
        if not POSSIBLE:
            return self
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
        if not POSSIBLE:
            return
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
    """Have a signal end system calls.

    Its handler is the C library's ``abs``. One in Python would do as well, but for readline, which runs handlers twice
    and the second time with the exception of the first.
    """
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    library.signal(number, ctypes.cast(library.abs, ctypes.c_void_p))
    signal.siginterrupt(number, True)
