"""The folders of LocalSpec's files: a name that leads nowhere is a name, and no end of the program."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import NoReturn

import pytest

from localspec.base.errors import ConfigError
from localspec.base.paths import expanded, user_paths


def test_the_home_of_an_unknown_user_is_a_name_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a shell."""
    monkeypatch.setenv("LOCALSPEC_HOME", "~nosuchuser/x")
    assert user_paths().config == Path("~nosuchuser/x/config")


def test_a_user_without_a_home_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number that no file of users has."""

    def unknown(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("LOCALSPEC_HOME", "HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match=r"no home folder.*LOCALSPEC_HOME"):
        user_paths()


def test_a_home_that_is_known_is_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [expanded("~/x"), expanded("a/~")] == [tmp_path / "x", Path("a/~")]
