"""The command line as a fixture."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from localspec.cli.services import Services
from tests.cli.support import Done, FakeWorld, run_command


class Localspec(Protocol):
    """``localspec ARGUMENTS`` in this process, over a fake world unless something else is given."""

    def __call__(
        self,
        *arguments: str | Path,
        world: FakeWorld | None = None,
        services: Services | None = None,
        stdin: bytes = b"",
    ) -> Done: ...


@pytest.fixture
def localspec(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Localspec:
    def run(
        *arguments: str | Path,
        world: FakeWorld | None = None,
        services: Services | None = None,
        stdin: bytes = b"",
    ) -> Done:
        services = services or (world or FakeWorld()).services()
        return run_command(*arguments, services=services, stdin=stdin, capsys=capsys, monkeypatch=monkeypatch)

    return run
