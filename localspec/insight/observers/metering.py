"""The observer that counts replies and publishes the metrics page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.base.errors import CapacityError, InputError, LocalSpecError, OutputError, UsageError
from localspec.engine.events import Event, Finished
from localspec.insight.metrics.meters import Meters, ReplyMeter
from localspec.insight.observers import News, ReplyObserver
from localspec.store import ReplyMetadata

if TYPE_CHECKING:
    from localspec.insight.metrics.server import MetricsServer

_REFUSALS = (UsageError, InputError, CapacityError)
"""Errors of a prompt or of options that cannot be used. What is derived from them, as a server's BusyError, is none."""


class Metering:
    """Counts replies from its creation on, wherever the page is published."""

    def __init__(self) -> None:
        self.meters = Meters()
        self._outlet: int | Path | None = None
        self._server: MetricsServer | None = None
        self._news: list[News] = []
        self._reported = ""

    def give(self, outlet: int | Path | None) -> bool:
        """Publish the page on a port of this machine or in a file from now on, or with None nowhere.

        Returns True if that is a new place. Raises UsageError for a port that is taken and OutputError for a file that
        cannot be written; the old place then stays.
        """
        if outlet == self._outlet:
            return False
        from localspec.insight.metrics.server import MetricsServer, write_page

        server = MetricsServer(self.meters.page, outlet) if isinstance(outlet, int) else None
        if isinstance(outlet, Path):
            write_page(outlet, self.meters.page())
        self.close()
        self._outlet, self._server = outlet, server
        return outlet is not None

    @property
    def where(self) -> str:
        """The place of the page in a sentence; empty if it is not published."""
        if self._server is not None:
            return f"Metrics are at {self._server.url}."
        return f"Metrics are in {self._outlet}, written anew after each reply." if self._outlet is not None else ""

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return _Metered(self, self.meters.begin(about.pair_id))

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        news, self._news = self._news, []
        return news

    def write(self) -> None:
        """Update the file, if there is one. A failure is reported once, until a write succeeds."""
        if not isinstance(self._outlet, Path):
            return
        from localspec.insight.metrics.server import write_page

        try:
            write_page(self._outlet, self.meters.page())
        except OutputError as error:
            if self._reported != error.message:
                self._news.append(News(f"{error.message} It is tried again after each reply."))
            self._reported = error.message
        else:
            self._reported = ""

    def close(self) -> None:
        """Stop publishing; a file stays as it is."""
        if self._server is not None:
            self._server.close()
        self._outlet, self._server = None, None


class _Metered:
    def __init__(self, metering: Metering, meter: ReplyMeter) -> None:
        self._metering = metering
        self._meter = meter
        self._begun = False

    def receive(self, event: Event) -> None:
        self._begun = True
        self._meter.receive(event)
        if isinstance(event, Finished):
            self._metering.write()

    def fail(self, error: LocalSpecError) -> None:
        if not self._begun and type(error) in _REFUSALS:
            self._meter.drop()
        else:
            self._meter.fail()
        self._metering.write()
