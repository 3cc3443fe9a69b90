"""The built-in pair, loaded once for all tests that ask it something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.real.duo import Duo, Reply


@pytest.fixture(scope="package")
def duo() -> Iterator[Duo]:
    duo = Duo.open()
    yield duo
    duo.close()


@pytest.fixture(scope="package")
def plain(duo: Duo) -> Callable[[str], Reply]:
    """The target's own greedy reply to a question, made once however many drafters are held against it."""
    return cache(lambda question: duo.ask(question, 0))
