"""Requests in order, and the rule of cancelling: a Cancel ends everything sent before it, nothing sent after.

Filled by the thread that reads them, emptied by the one that does the work.
"""

from __future__ import annotations

import threading
from collections import deque

from localspec.engine.cancel import Cancellation
from localspec.runtime.worker.messages import (
    Cancel,
    CountTokens,
    Load,
    Numbered,
    ReadAhead,
    Request,
    Unload,
)

Work = Load | Numbered | CountTokens | ReadAhead | Unload


class RequestQueue:
    """The work still to be done. ``cancellation`` is always about the work taken last."""

    def __init__(self) -> None:
        self.cancellation = Cancellation()
        self._changed = threading.Condition()
        self._waiting: deque[Work] = deque()
        self._taken_n = 0
        self._cancelled_n = 0
        self._closed = False

    def put(self, request: Request) -> None:
        """Queue work, or cancel, at once, all that was queued."""
        with self._changed:
            if isinstance(request, Cancel):
                self._cancelled_n = self._taken_n + len(self._waiting)
                self.cancellation.set()
            else:
                self._waiting.append(request)
                self._changed.notify()

    def take(self) -> Work | None:
        """Wait for work; None when there will be no more.

        The cancellation is set from the start if the work was cancelled while it waited.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return None
            self._taken_n += 1
            if self._taken_n > self._cancelled_n:
                self.cancellation.clear()
            return self._waiting.popleft()

    def close(self) -> None:
        """Nobody asks any more: end the work under way and forget what waits."""
        with self._changed:
            self._closed = True
            self.cancellation.set()
            self._changed.notify()
