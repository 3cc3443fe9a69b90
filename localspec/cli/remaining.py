"""The estimate of the remaining time, in words."""

from __future__ import annotations

import time


class Remaining:
    """Estimates from the time spent and the share done."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def text(self, share: float) -> str:
        """The remaining time in words; empty while unknown."""
        spent_s = time.monotonic() - self._started
        return f", {duration(spent_s * (1 - share) / share)} left" if share > 0 and spent_s > 2 else ""


def duration(seconds: float) -> str:
    """To what is of interest.

    >>> duration(7.4), duration(95), duration(3700)
    ('7 s', '2 min', '1 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
