"""Garbage collection in a program that runs for hours: rarer than by default, and free pages go back to the system."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

YOUNG_N = 10_000
"""New objects before a collection of the youngest generation; Python's default is 700.

With 700, objects that are drawn once and replaced reach the oldest generation, and in heavy use all hundreds of
thousands of objects are scanned every few seconds, for a few tenths of a second each time; see the benchmarks.
"""

CHECK_S = 5
"""The interval at which ``GcScheduler.due`` is asked."""

GIVE_BACK_S = 30
"""The interval at which memory is given back."""

OVERDUE_S = 60
"""The delay after which it is given back although the user is active."""

PAUSE_S = 1
"""The pause of the user that allows giving it back earlier."""


def freeze_heap() -> None:
    """Exempt all present objects from garbage collection, and collect new ones less often from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_N, *gc.get_threshold()[1:])
    gc.enable()


class GcScheduler:
    """Decides when to give memory back: now and then, in a pause of the user.

    ``clock`` is in seconds. A full collection stops the program for hundredths of a second, in heavy use for tenths, so
    it waits for a pause; not for long, because garbage and the time to collect it grow meanwhile.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used_s = self._given_s = clock()

    def used(self) -> None:
        """Note that the user has just done something."""
        self._used_s = self._clock()

    def due(self, *, busy: bool) -> bool:
        """True if memory is to be given back now, which begins the next interval. False while ``busy``."""
        now_s = self._clock()
        since_s = now_s - self._given_s
        due = not busy and since_s >= (GIVE_BACK_S if now_s - self._used_s >= PAUSE_S else OVERDUE_S)
        if due:
            self._given_s = now_s
        return due


def give_back() -> None:
    """Collect garbage if many objects were made, then return free pages of the C library's heap to the system.

    Only glibc can return pages. The collection comes first, so that its pages are returned too.
    """
    if any(gc.get_count()[1:]):  # at least one young collection since the last full one
        gc.collect()
    trim = _trim()
    if trim is not None:
        trim(0)


def _trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc; not POSIX
        return None
    return trim
