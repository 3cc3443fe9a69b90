"""Signals that come just before the main thread falls asleep."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from localspec.base.signal_wakeup import SignalWakeup


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """The signal goes to another thread."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def test_a_signal_that_does_not_wake_the_main_thread_is_noticed() -> None:
    """Once in some hundred times one comes just before it falls asleep; here, always."""
    source, sink = os.pipe()
    asleep, noticed = threading.Event(), threading.Event()

    def press_ctrl_c() -> None:
        asleep.wait()
        os.kill(os.getpid(), signal.SIGINT)  # masked in the main thread, it is taken by this one, and wakes nobody
        if not noticed.wait(60):
            os.write(sink, b"nobody noticed")

    def fall_asleep() -> None:
        asleep.set()
        os.read(source, 100)

    presser = threading.Thread(target=press_ctrl_c)
    presser.start()
    with SignalWakeup(), deaf_to_ctrl_c(), pytest.raises(KeyboardInterrupt):
        fall_asleep()
    noticed.set()
    presser.join()
    os.close(source)
    os.close(sink)


def test_what_there_was_before_is_there_again() -> None:
    """One inside another: handler, pipe and threads are those of the outer one, and then of nobody."""
    before = signal.getsignal(signal.SIGURG)
    with SignalWakeup() as outer:
        with SignalWakeup():
            pass
        assert signal.set_wakeup_fd(-1) == outer._sink
        signal.set_wakeup_fd(outer._sink)
    assert signal.set_wakeup_fd(-1) == -1
    assert signal.getsignal(signal.SIGURG) is before
    assert not any(thread.name == "localspec-signal-wakeup" for thread in threading.enumerate())
