"""What a download needs from outside, so that a test can put something else in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TypeVar

from localspec.models.download.hub import Hub
from localspec.models.download.refusals import TransientError
from localspec.models.download.retry import Retry
from localspec.models.pairs.free_space import free_bytes

T = TypeVar("T")

_PATIENCE = 4
"""How often something small is asked for; nobody likes to wait a minute for "offline"."""


class Stopped(Exception):
    """Someone asked to stop; what has arrived is on the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadContext:
    """The Hub, the cache, and what time and disk are."""

    hub: Hub
    cache: Path
    stop: Event
    retry: Retry = field(default_factory=Retry)
    wait: Callable[[float], object] | None = None
    """Sleeps, or until ``stop`` is set; None for ``stop.wait``."""
    free_bytes: Callable[[Path], int | None] = free_bytes

    def pause(self, seconds: float) -> None:
        (self.wait or self.stop.wait)(seconds)
        self.check()

    def check(self) -> None:
        """Raise Stopped if someone asked to."""
        if self.stop.is_set():
            raise Stopped

    def patiently(
        self,
        ask: Callable[[], T],
        *,
        arrived: Callable[[], int] = lambda: 0,
        attempts: int = _PATIENCE,
        delayed: Callable[[TransientError, float], None] = lambda error, wait_s: None,
        recover: Callable[[], None] = lambda: None,
    ) -> T:
        """Call ``ask`` until it returns, at most ``attempts`` times in a row without more having ``arrived``.

        After a failure that may pass ``delayed`` is told how long the wait will be; after the wait comes ``recover``.
        """
        failures = 0
        while True:
            before = arrived()
            try:
                return ask()
            except TransientError as error:
                failures = 1 if arrived() > before else failures + 1
                wait_s = self.retry.wait_s(failures, error.asked_s)
                if wait_s is None or failures >= attempts:
                    raise
                delayed(error, wait_s)
                self.pause(wait_s)
                recover()
