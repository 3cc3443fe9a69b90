"""Names and texts: in lines that fit the terminal, and in one line each where a program reads them."""

from __future__ import annotations

import io

import pytest

from localspec.cli.tables import columns, named

ROWS = [
    ("id", "a"),
    ("state", "not here: Qwen3-8B-Q4_K_M.gguf is not on this machine, and neither is the draft."),
    ("", "b"),
]


def test_on_a_terminal_no_word_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is too long goes on below itself."""
    monkeypatch.setenv("COLUMNS", "60")
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdout", terminal)
    assert named(ROWS) == [
        "id     a",
        "state  not here: Qwen3-8B-Q4_K_M.gguf is not on this",
        "       machine, and neither is the draft.",
        "       b",
    ]


def test_elsewhere_each_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """As what searches and counts lines needs it."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert named(ROWS) == ["id     a", f"state  {ROWS[1][1]}", "       b"]


def test_columns_are_aligned_by_cells() -> None:
    """A character of Chinese or Japanese takes two, an accent of its own none."""
    assert columns([("日本", "1", "a"), ("cafe\u0301", "22", "b")], right=(1,)) == ["日本   1  a", "cafe\u0301  22  b"]
