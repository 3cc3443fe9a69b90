"""What lies beside the package: what is named here, and nothing that was written there by the way."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.mutants import TESTS

ROOT = Path(__file__).parents[1]
FILES = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "models.toml",
    "pyproject.toml",
}


def test_no_other_file_lies_beside_the_package() -> None:
    """An export of the chat is written where it was started, and easily committed from there."""
    assert {path.name for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")} == FILES


def test_the_source_distribution_has_what_a_wheel_is_made_of() -> None:
    """And files to read beside it, all of which exist; tests and the recipe are in the repository alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    targets = project["tool"]["hatch"]["build"]["targets"]
    packed = set(targets["sdist"]["only-include"])
    assert all((ROOT / path).exists() for path in packed)
    wheel = targets["wheel"]
    needed = {
        *wheel["packages"],
        *wheel["force-include"],
        project["project"]["readme"],
        *project["project"]["license-files"],
    }
    assert needed <= packed
    assert not any(path.startswith(("tests", "assets/recipe")) for path in packed)


def test_planted_errors_name_modules_and_tests_that_exist() -> None:
    assert [module for module in TESTS if not (ROOT / "localspec" / f"{module}.py").is_file()] == []
    assert [test for tests in TESTS.values() for test in tests if not (ROOT / "tests" / test).exists()] == []
