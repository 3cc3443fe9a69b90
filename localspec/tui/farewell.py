"""What is said where the app is gone from the screen, and not yet from the terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

KEEPING = "Keeping the conversation's cache on disk; Ctrl-C lets that go on without you."
_LONG_S = 1.0


@contextmanager
def told_if_long(text: str, long_s: float = _LONG_S) -> Iterator[None]:
    """Say ``text`` on standard error if what is done meanwhile takes so long."""
    timer = threading.Timer(long_s, print, (text,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
