"""Titles of conversations, made from the first question."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.store import ids, title_of, titles
from localspec.store.titles import MAX_TITLE_LENGTH, UNTITLED


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Why is the sky blue? I wonder.", "Why is the sky blue?"),
        ("\n\n  # Heading\nand text", "Heading"),
        ("> - 1. quoted", "quoted"),
        ("```python\nprint(1)\n```\nWhat is this", "print(1)"),
        ("Use version 3.11 of Python. Please.", "Use version 3.11 of Python."),
        ("你好。再见。", "你好。"),
        ("x" * 100, "x" * 59 + "…"),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("", UNTITLED),
        ("?!\n...", UNTITLED),
        ("File: src/app.py\n```py\nprint(1)\n```\n\nWhat is this?", "What is this?"),
        ("bell\a and \x1b[31mred", "bell and [31mred"),
    ],
)
def test_the_first_sentence_is_the_title(question: str, title: str) -> None:
    """On one line, cut at a word, without signs of Markdown and of terminals."""
    assert title_of(question) == title


@given(st.text(max_size=300))
def test_a_title_fits_and_shows(question: str) -> None:
    """Never empty, never longer than allowed, nothing unprintable."""
    title = title_of(question)
    assert 0 < len(title) <= MAX_TITLE_LENGTH + 1
    assert title.isprintable()
    assert title == title.strip()


@pytest.mark.parametrize("module", [titles, ids])
def test_the_examples_hold(module: object) -> None:
    """Those in the docstrings."""
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
