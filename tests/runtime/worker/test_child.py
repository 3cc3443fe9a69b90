"""How long the engine lives on once its app is gone."""

from __future__ import annotations

import io
import os
import threading

import pytest

from localspec.runtime.worker import child
from localspec.runtime.worker.child import Ending, Outbox
from localspec.runtime.worker.request_queue import RequestQueue

PATIENCE_S = 120.0


class Reader:
    """The reader thread of an engine whose app is gone, and the status that it ends the process with, if it does."""

    def __init__(self, ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statuses: list[int] = []
        monkeypatch.setattr(os, "_exit", self.statuses.append)
        parts = (io.BytesIO(), RequestQueue(), Outbox(io.BytesIO()), ending)
        self.thread = threading.Thread(target=child._read, args=parts)

    def run(self) -> None:
        self.thread.start()
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "GRACE_S", 0.0)


def test_work_under_way_gets_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(Ending(), monkeypatch)
    reader.run()
    assert reader.statuses == [0]


def test_a_pair_may_take_longer_to_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be keeping gigabytes."""
    ending = Ending()
    ending.closing.set()
    reader = Reader(ending, monkeypatch)
    waiting = threading.Event()
    wait = ending.finished.wait

    def note_and_wait(timeout: float | None = None) -> bool:
        if timeout:
            waiting.set()
        return wait(timeout)

    monkeypatch.setattr(ending.finished, "wait", note_and_wait)
    reader.thread.start()
    assert waiting.wait(PATIENCE_S)
    ending.finished.set()
    reader.thread.join(PATIENCE_S)
    assert reader.statuses == []


def test_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "KEEP_S", 0.0)
    ending = Ending()
    ending.closing.set()
    reader = Reader(ending, monkeypatch)
    reader.run()
    assert reader.statuses == [0]
