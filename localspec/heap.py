"""Memory of a program that runs for hours: what it no longer uses is found sooner, and given back."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable


def settle() -> None:
    """Leave all there is now out of later collections, which then are shorter and find what is cyclic sooner.

    Python looks through everything only once a quarter of it is new; what a program begins with stays anyway.
    """
    gc.collect()
    gc.freeze()


def give_back() -> None:
    """Return free pages of the C library's heap to the system; does nothing where that library has no such call."""
    trim = _trim()
    if trim is not None:
        trim(0)


def _trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc; not POSIX
        return None
    return trim
