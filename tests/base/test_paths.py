"""The folders of LocalSpec's files: a name that leads nowhere is a name, and no end of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.base.paths import expanded, user_paths


def test_the_home_of_an_unknown_user_is_a_name_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a shell."""
    monkeypatch.setenv("LOCALSPEC_HOME", "~nosuchuser/x")
    assert user_paths().config == Path("~nosuchuser/x/config")


def test_a_home_that_is_known_is_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [expanded("~/x"), expanded("a/~")] == [tmp_path / "x", Path("a/~")]
