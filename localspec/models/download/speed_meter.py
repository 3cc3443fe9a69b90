"""How fast bytes arrive, and how long the rest will take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic

_WINDOW_S = 10.0
_PAUSE_S = 0.1


class SpeedMeter:
    """Bytes of several files together. For one thread, or under one lock."""

    def __init__(self, total_bytes: int, clock: Callable[[], float] = monotonic) -> None:
        self.total_bytes = total_bytes
        self._clock = clock
        self._done: dict[str, int] = {}
        self._arrived = 0
        self._samples: deque[tuple[float, int]] = deque([(clock(), 0)])
        self._told: dict[str, float] = {}

    @property
    def done_bytes(self) -> int:
        return sum(self._done.values())

    def at(self, file: str, done_bytes: int, arrived_bytes: int = 0) -> None:
        """``done_bytes`` of ``file`` are here; ``arrived_bytes`` of them came over the network just now."""
        self._done[file] = done_bytes
        self._arrived += arrived_bytes
        now = self._clock()
        if now - self._samples[-1][0] >= _PAUSE_S:
            self._samples.append((now, self._arrived))
        while len(self._samples) > 2 and now - self._samples[0][0] > _WINDOW_S:
            self._samples.popleft()

    def is_due(self, file: str) -> bool:
        """Whether it is time to tell of ``file`` again: ten times a second is as often as anyone can look."""
        now = self._clock()
        due = now - self._told.get(file, -_PAUSE_S) >= _PAUSE_S
        if due:
            self._told[file] = now
        return due

    @property
    def bytes_per_second(self) -> float | None:
        """Over the last ten seconds; None before there is anything to go by."""
        begun, arrived = self._samples[0]
        elapsed_s = self._clock() - begun
        return (self._arrived - arrived) / elapsed_s if elapsed_s >= 0.5 else None

    @property
    def seconds_left(self) -> float | None:
        speed = self.bytes_per_second
        return (self.total_bytes - self.done_bytes) / speed if speed else None
