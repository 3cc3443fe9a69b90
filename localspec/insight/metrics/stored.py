"""Metrics of all replies that are on record."""

from __future__ import annotations

from threading import Lock

from localspec.insight.metrics.meters import Meters
from localspec.store import RecordFilter, Store


class StoredMetrics:
    """Reads the store with the first page, and with every further one what has come since.

    Counters count from the first reply on record, so they go on over restarts of the program; what is deleted
    meanwhile counts until this object ends.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._meters = Meters()
        self._place = 0
        self._lock = Lock()

    def page(self) -> str:
        """OpenMetrics text. May be called from any thread. Raises StoreError."""
        with self._lock:
            for run in self._store.runs(self._place, asked=RecordFilter(rounds=True, settled=True)):
                self._meters.add(run)
                self._place = run.place
            return self._meters.page()
