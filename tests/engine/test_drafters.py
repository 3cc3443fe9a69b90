"""A drafter is one file: put there it can be named, and nothing else has to know of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.base.errors import UsageError
from localspec.engine import drafters
from localspec.engine.drafter import DrafterInputs
from localspec.engine.drafters import drafter_names, make_drafter
from tests.fakes import letters

SOURCE = """
class Echo:
    name = "echo-last"
    free = True


def make(parts):
    return Echo()
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a drafter whose file was put beside the others."""
    (tmp_path / "echo_last.py").write_text(SOURCE)
    monkeypatch.setattr(drafters, "__path__", [*drafters.__path__, str(tmp_path)])
    yield "echo-last"
    sys.modules.pop(f"{drafters.__name__}.echo_last", None)
    vars(drafters).pop("echo_last", None)


def test_a_file_is_a_drafter(added: str) -> None:
    assert added in drafter_names()
    assert make_drafter(added, DrafterInputs(letters(3), None)).name == added


def test_without_its_file_there_is_none() -> None:
    with pytest.raises(UsageError, match="echo-last"):
        make_drafter("echo-last", DrafterInputs(letters(3), None))
