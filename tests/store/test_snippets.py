"""The text around a hit is the text, with what was looked for marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.store.snippets import LENGTH, fold, literal, pattern, snippet


def shown(text: str, *words: str) -> str:
    """With brackets for marks."""
    patterns = [pattern(word, whole=False) for word in words]
    return "".join(f"[{piece}]" if hit else piece for piece, hit in snippet(text, patterns))


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("Why is the sky blue?", ("sky",), "Why is the [sky] blue?"),
        ("Crème BRÛLÉE", ("creme", "brul"), "[Crème] [BRÛLÉE]"),
        ("whisky sky", ("sky",), "whisky [sky]"),
        ("predicted_n, predicted n", ("predicted_n",), "[predicted_n], [predicted n]"),
        ("line\n\n  two\tthree", ("two",), "line [two] three"),
        ("nothing here", ("else",), "nothing here"),
        ("", ("x",), ""),
    ],
)
def test_marks(text: str, words: tuple[str, ...], marked: str) -> None:
    """Case and accents make no difference, beginnings of words are enough, and it is one line."""
    assert shown(text, *words) == marked


def test_the_place_with_most_of_the_words_is_shown() -> None:
    """Though one of them comes earlier alone."""
    text = "apples " + "hay " * 200 + "pears and apples " + "hay " * 200
    out = shown(text, "apples", "pears")
    assert "[pears] and [apples]" in out
    assert out.startswith("…hay ")
    assert out.endswith(" hay…")
    assert len(out) < LENGTH + 20


def test_of_equal_places_the_first_is_shown() -> None:
    assert shown("one apple " + "hay " * 200 + "other apple", "apple").startswith("one [apple] hay")


@given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=5), max_size=3))
def test_a_snippet_is_a_piece_of_the_text(text: str, fragments: list[str]) -> None:
    """On one line, short, and what is marked is what was looked for, or the visible part of it."""
    pieces = snippet(text, [literal(fragment) for fragment in fragments])
    plain = "".join(piece for piece, _ in pieces)
    assert len(plain) <= LENGTH + 2
    assert " ".join(plain.removeprefix("…").removesuffix("…").split()) in " ".join(text.split())
    if any(fold(fragment) in fold(text) for fragment in fragments) and text.strip():
        assert any(hit for _, hit in pieces) or any(not fragment.strip() for fragment in fragments)


@given(st.text())
def test_folding_keeps_places(text: str) -> None:
    """So that a place in the one is the place in the other."""
    assert len(fold(text)) == len(text)
