"""Requests in order, and the rule of cancelling: a Cancel ends what was sent before it, nothing sent after.

Filled by the thread that reads them, emptied by the one that does the work.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from localspec.engine.cancel import Cancellation
from localspec.runtime.worker.messages import Cancel, CountTokens, Load, Numbered, ReadAhead, Request

Work = Load | Numbered | CountTokens | ReadAhead


class RequestQueue:
    """The work still to be done.

    ``cancellation`` is about the work taken last until that is ``done``. It stops whatever the pair evaluates, so where
    several replies are under way it must not outlive that work.
    """

    def __init__(self) -> None:
        self.cancellation = Cancellation()
        self._changed = threading.Condition()
        self._waiting: deque[Work] = deque()
        self._taken_n = 0
        self._cancelled_n = 0
        self._dropped: set[int] = set()
        """Numbers of requests that were cancelled while they waited."""
        self._latest: int | None = None
        """The number of the work taken last; None once it is done."""
        self._under_way: dict[int, Cancellation] = {}
        """Work that goes on beside the work taken last, by number."""
        self._closed = False
        self.busy_since: float | None = None
        """The moment at which the work under way was taken; None while there is none."""

    @property
    def abandoned(self) -> bool:
        """True if all work under way was cancelled."""
        with self._changed:
            cancelled = [each.is_set() for each in self._under_way.values()]
            return all(cancelled) if cancelled else self.cancelled

    @property
    def closed(self) -> bool:
        """True once no more requests come."""
        return self._closed

    @property
    def cancelled(self) -> bool:
        """True if the work taken last was cancelled, be it by number or with everything."""
        return self.cancellation.is_set() or self._latest in self._dropped

    def put(self, request: Request) -> None:
        """Queue work, or cancel, at once, what was queued."""
        with self._changed:
            if not isinstance(request, Cancel):
                self._waiting.append(request)
                self._changed.notify()
            elif request.request_id is None:
                self._cancel_all()
            else:
                self._cancel(request.request_id)

    def take(self) -> Work | None:
        """Wait for work; None when there will be no more.

        The cancellation is set from the start if the work was cancelled with all others while it waited.
        """
        with self._changed:
            self.busy_since = None
            self._changed.wait_for(lambda: self._waiting or self._closed)
            self.busy_since = time.monotonic()
            return self._take()

    def poll(self, may: Callable[[Work], bool]) -> Work | None:
        """The next work, without waiting; None if there is none, or it may not be begun yet. What was cancelled may."""
        with self._changed:
            if not self._waiting:
                return None
            work = self._waiting[0]
            is_dropped = isinstance(work, Numbered) and work.request_id in self._dropped
            return self._take() if is_dropped or may(work) else None

    def done(self) -> None:
        """The work taken last is over, or has a cancellation of its own (``follow``). ``cancellation`` is cleared."""
        with self._changed:
            self._end_latest()
            if not self._closed:
                self.cancellation.clear()

    def follow(self, number: int) -> Cancellation:
        """A cancellation for the work taken last, which goes on beside others; ``forget`` it when it is over."""
        with self._changed:
            self._under_way[number] = cancellation = Cancellation()
            if self._closed or self.cancelled:
                cancellation.set()
            return cancellation

    def forget(self, number: int) -> None:
        """The work with this number is over."""
        with self._changed:
            self._under_way.pop(number, None)

    def close(self) -> None:
        """No more requests come: end the work under way and forget what waits."""
        with self._changed:
            self._closed = True
            self._cancel_all()
            self._changed.notify()

    def _take(self) -> Work | None:
        if self._closed:
            return None
        work = self._waiting.popleft()
        self._taken_n += 1
        if self._taken_n > self._cancelled_n:
            self.cancellation.clear()
        else:
            self.cancellation.set()
        self._end_latest()
        self._latest = work.request_id if isinstance(work, Numbered) else None
        return work

    def _end_latest(self) -> None:
        if self._latest is not None:
            self._dropped.discard(self._latest)
            self._latest = None

    def _cancel_all(self) -> None:
        self._cancelled_n = self._taken_n + len(self._waiting)
        self.cancellation.set()
        for cancellation in self._under_way.values():
            cancellation.set()

    def _cancel(self, number: int) -> None:
        if any(isinstance(work, Numbered) and work.request_id == number for work in self._waiting):
            self._dropped.add(number)
        elif (cancellation := self._under_way.get(number)) is not None:
            cancellation.set()
        elif number == self._latest:
            self.cancellation.set()
