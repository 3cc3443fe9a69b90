"""What is said where a conversation's cache is kept on disk, and somebody waits for it at a bare terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_KEEPING = "Keeping the conversation's cache on disk;"
KEEPING_BEHIND = f"{_KEEPING} Ctrl-C lets that go on without you."
"""Where another process does it."""
KEEPING_HERE = f"{_KEEPING} Ctrl-C goes on without it."
NOT_KEPT = "The conversation's cache is not kept; it will be read again when you go on with it."
_LONG_S = 1.0


@contextmanager
def told_if_long(text: str, long_s: float = _LONG_S) -> Iterator[None]:
    """Say ``text`` on standard error if what is done meanwhile takes so long, and somebody sees it."""
    timer = threading.Timer(long_s, _tell, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tell_not_kept() -> None:
    """Somebody did not want to wait for it."""
    echoed = "\n" if sys.stderr.isatty() else ""  # the terminal has shown ^C
    print(f"{echoed}{NOT_KEPT}", file=sys.stderr, flush=True)


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
