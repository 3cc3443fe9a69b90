"""The signals that ask a process to end: SIGTERM, and SIGHUP when its terminal is closed."""

from __future__ import annotations

import os
import signal
import stat
import sys
from contextlib import suppress


def ending_signals() -> list[signal.Signals]:
    """SIGTERM and SIGHUP, without those that are ignored, as under nohup."""
    return [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]


def discard_terminal_output() -> None:
    """Send further output for a closed terminal to the null device, so that writing it is no error."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError):
            if stream is not None and stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):
                os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
