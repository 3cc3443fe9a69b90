"""Metrics of all stored replies."""

from __future__ import annotations

from threading import Lock

from localspec.insight.metrics.meters import Meters
from localspec.store import RecordFilter, Store


class StoredMetrics:
    """Reads the store for the first page, and only new replies for every further one.

    Counters begin with the first stored reply, so they continue over restarts of the program. Replies that are deleted
    later still count in this object.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._meters = Meters()
        self._place = 0
        self._lock = Lock()

    def page(self) -> str:
        """The OpenMetrics text. Thread-safe. Raises StoreError."""
        with self._lock:
            for run in self._store.runs(self._place, where=RecordFilter(rounds=True, settled=True)):
                self._meters.add(run)
                self._place = run.place
            return self._meters.page()
