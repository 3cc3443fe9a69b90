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

LOOK_S = 5
"""How often to see whether memory is to be given back."""

GIVE_BACK_S = 30
"""How often it is given back."""

OVERDUE_S = 60
"""When it is given back although the user is at work."""

PAUSE_S = 1
"""For so long the user has done nothing when it is given back before that."""


def settle() -> None:
    """Have Python look for unused objects more seldom, and never again among those there are now, which stay."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_N, *gc.get_threshold()[1:])


class GcScheduler:
    """Says when memory is to be given back: every now and then, in a moment when nobody waits for the program.

    ``clock`` is in seconds. Looking for unused objects stops everything for some hundredths of a second, in heavy use
    for tenths: so it waits for a pause in what the user does, but not for long, as what is unused grows meanwhile, and
    the time it takes with it.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used_s = self._given_s = clock()

    def used(self) -> None:
        """The user has just done something."""
        self._used_s = self._clock()

    def due(self, *, busy: bool) -> bool:
        """Whether it is time, and the user and the program (``busy``) allow it; if so, the wait begins anew."""
        now_s = self._clock()
        since_s = now_s - self._given_s
        due = not busy and since_s >= (GIVE_BACK_S if now_s - self._used_s >= PAUSE_S else OVERDUE_S)
        if due:
            self._given_s = now_s
        return due


def give_back() -> None:
    """Drop objects that are no longer used, if many were made; return free pages of the C library's heap to the system.

    The second does nothing where that library has no such call. In the other order the pages of what is dropped would
    stay for another turn.
    """
    if any(gc.get_count()[1:]):  # young objects were looked through at least once since all were
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
