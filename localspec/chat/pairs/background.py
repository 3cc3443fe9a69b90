"""Work beside the screen, and a bell to call it when there is something new.

Threads are daemons: what they do can be broken off at any moment, and must not keep the app from ending.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

Spawn = Callable[[Callable[[], None]], object]
"""Runs work, somewhere."""


def in_thread(work: Callable[[], None]) -> None:
    """Run ``work`` in a thread of its own."""
    threading.Thread(target=work, name="localspec-pairs", daemon=True).start()


class ChangeSignal:
    """Rings once, however often it is struck, until it is armed again: what is drawn stays bounded.

    Any thread may strike; one listens. Whatever was struck while the bell was silent rings when it is armed.
    """

    def __init__(self) -> None:
        self._ring: Callable[[], object] | None = None
        self._silent = True
        self._struck = False
        self._lock = threading.Lock()

    def listen(self, ring: Callable[[], object]) -> None:
        """Have ``ring`` called, from the striking thread."""
        self._ring = ring
        self.arm()

    def strike(self) -> None:
        """There is something new."""
        with self._lock:
            self._struck = True
            rings = not self._silent
            self._silent = True
        if rings and self._ring is not None:
            self._ring()

    def take(self) -> bool:
        """Whether it was struck since this was last asked; ask before looking at what is new."""
        with self._lock:
            struck, self._struck = self._struck, False
            return struck

    def arm(self) -> None:
        """Ring for the next stroke, and at once for one that was missed."""
        with self._lock:
            self._silent = False
            struck = self._struck
        if struck:
            self.strike()
