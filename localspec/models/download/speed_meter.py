"""The speed of a download and the time it will still take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic

_WINDOW_S = 10.0
_REPORT_INTERVAL_S = 0.1


class SpeedMeter:
    """Measures the bytes of several files together. Not thread-safe."""

    def __init__(self, total_bytes: int, clock: Callable[[], float] = monotonic) -> None:
        self.total_bytes = total_bytes
        self._clock = clock
        self._done: dict[str, int] = {}
        self._arrived = 0
        self._samples: deque[tuple[float, int]] = deque([(clock(), 0)])
        self._reported: dict[str, float] = {}

    @property
    def done_bytes(self) -> int:
        return sum(self._done.values())

    def at(self, file: str, done_bytes: int, arrived_bytes: int = 0) -> None:
        """Record that ``done_bytes`` of ``file`` are here, ``arrived_bytes`` of them from the network just now."""
        self._done[file] = done_bytes
        self._arrived += arrived_bytes
        now = self._clock()
        if now - self._samples[-1][0] >= _REPORT_INTERVAL_S:
            self._samples.append((now, self._arrived))
        while len(self._samples) > 2 and now - self._samples[0][0] > _WINDOW_S:
            self._samples.popleft()

    def is_due(self, file: str) -> bool:
        """True if progress of ``file`` is to be reported again, which is ten times a second at most."""
        now = self._clock()
        due = now - self._reported.get(file, -_REPORT_INTERVAL_S) >= _REPORT_INTERVAL_S
        if due:
            self._reported[file] = now
        return due

    @property
    def bytes_per_second(self) -> float | None:
        """The mean over the last ten seconds; None in the first half second."""
        begun, arrived = self._samples[0]
        elapsed_s = self._clock() - begun
        return (self._arrived - arrived) / elapsed_s if elapsed_s >= 0.5 else None

    @property
    def seconds_left(self) -> float | None:
        speed = self.bytes_per_second
        return (self.total_bytes - self.done_bytes) / speed if speed else None
