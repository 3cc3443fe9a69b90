"""Stores as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.store import Store
from tests.insight.stats.support import Kind, open_filled


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Store]:
    """Replies of two pairs, two temperatures and two drafters."""
    one = (Kind(),) * 40 + (Kind(temperature=0.0, drafter="suffix"),) * 20
    opened = open_filled(tmp_path / "mixed.db", one, (Kind(pair=None, factor=0.5),) * 15)
    yield opened
    opened.close()
