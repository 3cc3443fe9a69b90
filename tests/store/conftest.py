"""A store as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.store import Store
from tests.store.support import FakeTime, open_store


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database of the test lies."""
    return tmp_path / "data" / "history.db"


@pytest.fixture
def store(path: Path, time: FakeTime) -> Iterator[Store]:
    opened = open_store(path, time)
    yield opened
    opened.close()
