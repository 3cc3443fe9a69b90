"""The built-in pair, loaded once for all tests that ask it something."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.duo import Duo


@pytest.fixture(scope="package")
def duo() -> Iterator[Duo]:
    duo = Duo.open()
    yield duo
    duo.close()
