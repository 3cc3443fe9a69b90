"""The estimate of the remaining time, in words."""

from __future__ import annotations

import time

from localspec.base.amounts import duration


class Remaining:
    """Estimates from the time spent and the share done."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def text(self, share: float) -> str:
        """The remaining time in words; empty while unknown."""
        spent_s = time.monotonic() - self._started
        return f", {duration(spent_s * (1 - share) / share)} left" if share > 0 and spent_s > 2 else ""
