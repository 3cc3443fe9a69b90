"""A speed limit for showing rounds, so that a person can follow. No figure changes by it.

Events go in as the engine makes them and come out when they are due, all of them and in order.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from localspec.engine.events import Event, Round

FRAME_TOKENS = 400
"""The most tokens handed out at once, at any speed: as many as a frame can draw."""


class Pacer:
    """A queue of one reply's events with a speed limit, in tokens a second; None is no limit.

    Over any time the tokens handed out stay within ``rate * time``, plus one frame's worth and the rest of
    a round, since rounds are never cut.
    """

    def __init__(self, tokens_per_second: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.tokens_per_second = tokens_per_second
        self.full_speed = False
        """True while the reader has lifted the limit."""
        self._clock = clock
        self._waiting: deque[Event] = deque()
        self._credit = 1.0
        self._asked_at: float | None = None

    @property
    def limited(self) -> bool:
        return self.tokens_per_second is not None and not self.full_speed

    def toggle(self) -> str:
        """Lift the limit or restore it; returns a sentence for the reader."""
        if self.tokens_per_second is None:
            return "This pair is shown at full speed anyway."
        self.full_speed = not self.full_speed
        pace = "full speed" if self.full_speed else f"{self.tokens_per_second:.0f} tokens/s"
        return f"Replies are shown at {pace}; the figures are the engine's own."

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def push(self, event: Event) -> None:
        self._waiting.append(event)

    def due(self) -> list[Event]:
        """The events whose time has come."""
        self._earn()
        ready: list[Event] = []
        tokens_n = 0
        while self._waiting and tokens_n < FRAME_TOKENS and not (self.limited and self._must_wait()):
            event = self._waiting.popleft()
            if isinstance(event, Round):
                tokens_n += len(event.tokens)
                self._credit -= len(event.tokens)
            ready.append(event)
        return ready

    def take_all(self) -> list[Event]:
        """Hand out everything held, due or not: the reply gets no more."""
        events = list(self._waiting)
        self.drop()
        return events

    def drop(self) -> None:
        """Forget everything held: the reply was stopped."""
        self._waiting.clear()

    def _must_wait(self) -> bool:
        return isinstance(self._waiting[0], Round) and self._credit <= 0

    def _earn(self) -> None:
        """Credit the time since the last call; idle time earns one frame, never a burst."""
        now = self._clock()
        elapsed = now - self._asked_at if self._asked_at is not None else 0.0
        self._asked_at = now
        rate = self.tokens_per_second
        if rate is None or not self.limited:
            self._credit = 0.0
            return
        self._credit = min(self._credit + elapsed * rate, max(1.0, rate / 8))
