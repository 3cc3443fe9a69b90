"""The outside world of a download (Hub, cache, time, disk) as one object that a test can replace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TypeVar

from localspec.models.download.hub import Hub
from localspec.models.download.refusals import TransientError
from localspec.models.download.retry import Retry
from localspec.models.pairs.free_space import free_bytes
from localspec.models.pairs.hub_cache import hub_cache

T = TypeVar("T")

_ATTEMPTS = 4
"""Attempts for a small request: being offline is reported within seconds."""


class Stopped(Exception):
    """The download was stopped on request; partial files stay on the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadContext:
    """The Hub, the cache folder, the stop flag, the retry policy and the free space."""

    hub: Hub
    cache: Path
    stop: Event
    retry: Retry = field(default_factory=Retry)
    wait: Callable[[float], object] | None = None
    """Sleeps until the time is over or ``stop`` is set; None means ``stop.wait``."""
    free_bytes: Callable[[Path], int | None] = free_bytes

    def pause(self, seconds: float) -> None:
        (self.wait or self.stop.wait)(seconds)
        self.check()

    def check(self) -> None:
        """Raise Stopped if ``stop`` is set."""
        if self.stop.is_set():
            raise Stopped

    def with_retries(
        self,
        request: Callable[[], T],
        *,
        arrived: Callable[[], int] = lambda: 0,
        attempts: int = _ATTEMPTS,
        delayed: Callable[[TransientError, float], None] = lambda error, wait_s: None,
        recover: Callable[[], None] = lambda: None,
    ) -> T:
        """Call ``request`` until it returns, at most ``attempts`` times in a row without more bytes ``arrived``.

        After a TransientError ``delayed`` is called with it and the wait; after the wait, ``recover``.
        """
        failures = 0
        while True:
            before = arrived()
            try:
                return request()
            except TransientError as error:
                failures = 1 if arrived() > before else failures + 1
                wait_s = self.retry.wait_s(failures, error.asked_s)
                if wait_s is None or failures >= attempts:
                    raise
                delayed(error, wait_s)
                self.pause(wait_s)
                recover()


@contextmanager
def open_context(stop: Event | None = None) -> Iterator[DownloadContext]:
    """The Hub and the cache of the environment, for the length of a ``with``."""
    with Hub() as hub:
        yield DownloadContext(hub=hub, cache=hub_cache(), stop=stop or Event())
