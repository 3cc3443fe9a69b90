"""What lies beside the package: what is named here, and nothing that was written there by the way."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "models.toml", "pyproject.toml"}


def test_no_other_file_lies_beside_the_package() -> None:
    """An export of the chat is written where it was started, and easily committed from there."""
    assert {path.name for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")} == FILES
