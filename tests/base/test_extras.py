"""The command that installs what an extra needs: for this Python, and of the names in pyproject.toml alone."""

from __future__ import annotations

import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from localspec.base.extras import install_extra

ROOT = Path(__file__).parents[2]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def parts(requirement: str) -> list[str]:
    """Its name and its bounds, in an order that does not depend on who wrote it down."""
    name = requirement.rstrip("0123456789.,<>=!~")
    return [name, *sorted(requirement.removeprefix(name).split(","))]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_names_what_the_extra_requires(extra: str) -> None:
    """And not LocalSpec, which at an index of packages may be a stranger's."""
    words = shlex.split(install_extra(extra))
    named = [parts(word) for word in words[words.index("install") + 1 :] if word[0].isalpha()]
    assert sorted(named) == sorted(parts(each) for each in EXTRAS[extra])


@pytest.mark.parametrize("pip", [True, False])
def test_the_command_is_for_this_python_with_the_tool_it_has(monkeypatch: pytest.MonkeyPatch, pip: bool) -> None:
    """Another Python's pip would install where it is of no use."""
    monkeypatch.setattr("localspec.base.extras.find_spec", lambda name: pip or None)
    words = shlex.split(install_extra("plot"))
    python = [sys.executable, "-m", "pip", "install"] if pip else ["uv", "pip", "install", "--python", sys.executable]
    assert words[: len(python)] == python


def test_a_checkout_that_is_not_installed_installs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no metadata to ask, the folder has it."""

    def unknown(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("localspec.base.extras.requires", unknown)
    assert shlex.split(install_extra("web"))[-1] == f"{ROOT}[web]"
