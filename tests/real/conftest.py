"""The built-in pair, loaded once for all tests that ask it something."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256

import pytest

from localspec.base.file_lock import file_lock
from tests.real.duo import PLAIN_N, Duo, Reply


@pytest.fixture(scope="package")
def duo() -> Iterator[Duo]:
    duo = Duo.open()
    yield duo
    duo.close()


@pytest.fixture(scope="package")
def plain(duo: Duo, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reply]:
    """The target's own greedy reply to a question, made once however many drafters are held against it.

    Once for all processes that the tests run in, too: whoever comes first writes it into a file.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "plain-replies"
    folder.mkdir(exist_ok=True)

    @cache
    def reply(question: str) -> Reply:
        file = folder / sha256(question.encode()).hexdigest()
        with file_lock(file):
            if not file.stat().st_size:
                file.write_bytes(pickle.dumps(duo.ask(question, 0, max_tokens=PLAIN_N)))
            found: Reply = pickle.loads(file.read_bytes())
        return found

    return reply
