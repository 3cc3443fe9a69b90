"""A clock for all tests of this folder."""

from __future__ import annotations

import pytest

from tests.runtime.calibration.timed_models import Clock, set_clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    set_clock(monkeypatch, clock)
    return clock
