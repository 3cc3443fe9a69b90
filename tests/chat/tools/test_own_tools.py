"""The tools of LocalSpec's own: what they compute, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localspec.base.errors import InputError, LocalSpecError
from localspec.chat.tools.calculation import calculate
from localspec.chat.tools.folder import MOST_BYTES, MOST_NAMES
from localspec.chat.tools.own import OWN_TOOLS


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 * (3 + 4)", "14"),
        ("2^10", "1024"),
        ("sqrt(16) / 3", "1.33333333333"),
        ("-7 // 2", "-4"),
        ("round(pi, 2)", "3.14"),
        ("round(7)", "7"),
        ("round(7, -99999999999)", "0"),
    ],
)
def test_arithmetic_is_calculated(expression: str, value: str) -> None:
    """Numbers, operators, powers and functions have their values."""
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "().__class__",
        "[1] * 9",
        "'a' * 9",
        "True + 1",
        "9**9**9",
        "1" + "0" * 400 + "." + "0" * 99,
        "1 / 0",
        "(-8) ** 0.5",
        "x",
        "max(",
        "lambda: 1",
        "(" * 300 + "1" + ")" * 300,
        "-" * 400 + "1",
        "1e308 * 10",
        "log(0)",
        "",
    ],
)
def test_anything_but_arithmetic_is_refused(expression: str) -> None:
    """Python beyond arithmetic, and results without bounds, are refused with a sentence."""
    with pytest.raises(InputError, match=r"\.$"):
        calculate(expression)


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    """Neither .., an absolute path nor a link leads out; a pipe, bytes and a missing file are refused."""
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "deep" / "up").symlink_to(tmp_path)
    (root / "bytes").write_bytes(b"\0\1")
    (root / "a.txt").write_text("words \x1b[2J here")
    read, listed = OWN_TOOLS["read_file"], OWN_TOOLS["list_files"]
    assert read.call({"path": "a.txt"}, root) == "words \x1b[2J here"
    assert read.call({"path": "deep/../a.txt"}, root).startswith("words")
    for outside in ("../secret", str(tmp_path / "secret"), "link", "deep/up/secret", "bytes", "none", "deep", "a\0b"):
        with pytest.raises(LocalSpecError) as refused:
            read.call({"path": outside}, root)
        assert "secret" not in str(refused.value).replace(outside, "")
    assert listed.call({"folder": "."}, root) == "a.txt\nbytes\ndeep/\nlink"
    with pytest.raises(InputError):
        listed.call({"folder": "deep/up"}, root)
    with pytest.raises(InputError, match="named no folder"):
        read.call({"path": "a.txt"}, None)


def test_long_files_and_folders_are_cut(tmp_path: Path) -> None:
    """A long file gives its beginning, a long folder its first names, and both say so."""
    (tmp_path / "long").write_text("x" * (MOST_BYTES + 9))
    for number in range(MOST_NAMES + 3):
        (tmp_path / f"n{number}").touch()
    assert (
        OWN_TOOLS["read_file"].call({"path": "long"}, tmp_path).endswith("[The file is longer; this is its beginning.]")
    )
    assert OWN_TOOLS["list_files"].call({"folder": ""}, tmp_path).endswith("[4 more]")


def test_arguments_are_checked() -> None:
    """Arguments that are missing, unknown or no texts are refused; every tool has a JSON Schema with its parameters."""
    assert OWN_TOOLS["count_words"].call({"text": "one two  three"}, None) == "3"
    for wrong in ({}, {"text": 3}, {"text": "a", "more": "b"}):
        with pytest.raises(InputError, match="takes text, as text"):
            OWN_TOOLS["count_words"].call(wrong, None)
    for own in OWN_TOOLS.values():
        assert tuple(json.loads(own.tool.parameters)["properties"]) == own.parameters
