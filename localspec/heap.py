"""Memory of a program that runs for hours: looked through seldom, and given back where it is free."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

YOUNG_N = 10_000
"""How many new objects Python gathers before it looks which of them are no longer used; it has 700 by default.

With so few, what is drawn and drawn again counts as old before it is gone, and in heavy use all there is, hundreds of
thousands of objects, is looked through every few seconds, a few tenths of a second each time; see the benchmarks.
"""


def settle() -> None:
    """Have Python look for unused objects more seldom, and never again among those there are now, which stay."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_N, *gc.get_threshold()[1:])


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
