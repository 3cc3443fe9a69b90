"""The built-in pair and its vocabulary, opened once for all tests that only ask them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancellation
from localspec.runtime.load import InspectablePair
from localspec.runtime.options import LoadOptions
from tests.builtin import DRAFT, TARGET, open_target
from tests.runtime.opened_pairs import open_unmeasured


@pytest.fixture(scope="package")
def vocab() -> Iterator[LlamaVocab]:
    """The built-in vocabulary."""
    with closing(open_target(n_ctx=64)) as target:
        yield target.vocab


@pytest.fixture(scope="package")
def _cancel() -> Cancellation:
    return Cancellation()


@pytest.fixture
def cancel(_cancel: Cancellation) -> Iterator[Cancellation]:
    """The signal that stops ``pair``."""
    yield _cancel
    _cancel.clear()


@pytest.fixture(scope="package")
def pair(_cancel: Cancellation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InspectablePair]:
    """The built-in pair with a context of 512 tokens; it knows what earlier tests asked it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_HOME", str(tmp_path_factory.mktemp("home")))
        pair = open_unmeasured(LoadOptions(TARGET, DRAFT, n_ctx=512, threads=1), _cancel)
    with closing(pair):
        yield pair
