"""Fuzzy matching of paths, titles and sent messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.fuzzy import fuzzy, nearest


def best(query: str, candidates: list[str], n: int) -> list[str]:
    return [candidates[match.index] for match in fuzzy(query, candidates, n, shorter_first=True)]


def test_the_best_match_comes_first() -> None:
    """The beginning of a name before its middle, that before the path, that before scattered letters."""
    paths = ["deep/map.py", "app/views.py", "lib/snapper.py", "src/app.py", "a/p/p.py", "other.txt"]
    assert best("app", paths, 9) == ["src/app.py", "lib/snapper.py", "app/views.py", "deep/map.py", "a/p/p.py"]
    assert best("", paths, 2) == paths[:2]
    assert best("SRC", paths, 9) == ["src/app.py"]
    assert best("zz", paths, 9) == []


def test_a_search_cannot_be_made_to_take_long() -> None:
    """Letters that nearly match in many ways are tried in one."""
    assert best("a" * 30 + "b", ["a" * 4000] * 50, 5) == []


def test_a_typo_finds_its_word() -> None:
    """As long as it is near enough."""
    assert nearest("hlep", ["help", "quit", "tokens"]) == "help"
    assert nearest("xyz", ["help", "quit"]) is None


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
def test_any_text_can_be_looked_for(query: str, names: list[str]) -> None:
    """Positions rise, lie in the title, and each title comes at most once."""
    names.append(f"x{query}")
    matches = fuzzy(query, names)
    assert len({match.index for match in matches}) == len(matches) > 0
    for match in matches:
        assert list(match.positions) == sorted(set(match.positions))
        assert all(position < len(names[match.index]) for position in match.positions)


@given(st.text("aBé /", max_size=3), st.lists(st.text("AbÉ /", max_size=9), max_size=5))
def test_positions_are_the_letters(query: str, names: list[str]) -> None:
    """In their order; case, accents and white space aside."""

    def letters(text: str) -> str:
        return "".join(text.lower().replace("é", "e").split())

    for match in fuzzy(query, names):
        assert letters("".join(names[match.index][at] for at in match.positions)) == letters(query)


@given(st.text("abc xyz", min_size=1, max_size=12))
def test_a_title_has_its_own_letters(title: str) -> None:
    """Whole or in part."""
    assert fuzzy(title, [title])
    assert fuzzy(title[::2], [title])
