"""Notices at a bare terminal when the app has gone: a cache is still being kept on disk, or was not kept."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_KEEPING = "Keeping the conversation's cache on disk;"
KEEPING_BEHIND = f"{_KEEPING} Ctrl-C lets that go on without you."
"""The notice for a cache that another process keeps."""
KEEPING_HERE = f"{_KEEPING} Ctrl-C goes on without it."
NOT_KEPT = "The conversation's cache is not kept; it will be read again when you go on with it."
_LONG_S = 1.0


@contextmanager
def told_if_long(text: str, long_s: float = _LONG_S) -> Iterator[None]:
    """Write ``text`` to standard error, if that is a terminal, once the body has taken ``long_s``."""
    timer = threading.Timer(long_s, tell, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tell_not_kept() -> None:
    """Say that the cache is not kept, after Ctrl-C ended the keeping."""
    echoed = "\n" if sys.stderr.isatty() else ""  # the terminal has shown ^C
    print(f"{echoed}{NOT_KEPT}", file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Write ``text`` to standard error if that is a terminal."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
