"""Titles from questions, and questions found by a few letters of their titles."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.store import fuzzy, ids, title_of, titles
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


TITLES = ["Why is the sky blue?", "Écrire un poème", "sort a list in Rust", "List of rivers", "SQL index"]


@pytest.mark.parametrize(
    ("query", "best"),
    [("sky", 0), ("wtsb", 0), ("poeme", 1), ("sq ix", 4), ("list", 3), ("rust", 2), ("SLR", 2)],
)
def test_the_best_title_comes_first(query: str, best: int) -> None:
    """Letters in a row and at the beginning of words count."""
    assert fuzzy(query, TITLES)[0].index == best


def test_no_letters_have_all_titles_and_wrong_ones_none() -> None:
    """In their own order."""
    assert [match.index for match in fuzzy("  ", TITLES)] == [0, 1, 2, 3, 4]
    assert fuzzy("zzz", TITLES) == []


@given(st.text(max_size=6), st.lists(st.text(max_size=20), max_size=5))
def test_positions_are_the_letters(query: str, names: list[str]) -> None:
    """They rise, lie in the title, and each title comes at most once."""
    matches = fuzzy(query, names)
    assert len({match.index for match in matches}) == len(matches)
    for match in matches:
        assert list(match.positions) == sorted(set(match.positions))
        assert all(position < len(names[match.index]) for position in match.positions)


@given(st.text("abc xyz", min_size=1, max_size=12))
def test_a_title_has_its_own_letters(title: str) -> None:
    """Whole or in part."""
    assert fuzzy(title, [title])
    assert fuzzy(title[::2], [title])


@pytest.mark.parametrize("module", [titles, ids])
def test_the_examples_hold(module: object) -> None:
    """Those in the docstrings."""
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
