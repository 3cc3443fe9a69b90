"""Text in pieces that can be read aloud, and what takes long in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.line.progress import BETWEEN_S, FIRST_S, ProgressSentences
from localspec.line.streaming import LONGEST_WORD, StreamUnit, UnitBuffer

PIECES = st.lists(st.text(alphabet="ab \n\tß漢", max_size=6), max_size=40)


def written(pieces: Sequence[str], unit: StreamUnit) -> list[str]:
    buffer = UnitBuffer(unit)
    return [text for text in (*map(buffer.push, pieces), buffer.rest()) if text]


@given(PIECES, st.sampled_from(StreamUnit))
def test_what_goes_in_comes_out(pieces: list[str], unit: StreamUnit) -> None:
    """Whatever the pieces, nothing is lost, added or moved."""
    assert "".join(written(pieces, unit)) == "".join(pieces)


@given(PIECES)
def test_lines_are_whole(pieces: list[str]) -> None:
    """Each piece but the last ends where a line does."""
    assert all(text.endswith("\n") for text in written(pieces, StreamUnit.LINE)[:-1])


@given(PIECES)
def test_words_are_whole(pieces: list[str]) -> None:
    """Each piece but the last ends where a word does, unless the word is very long."""
    for text in written(pieces, StreamUnit.WORD)[:-1]:
        assert text[-1].isspace() or len(text) > LONGEST_WORD


def test_nothing_waits_without_need() -> None:
    """A word is written with the space behind it; one that never ends is written all the same."""
    buffer = UnitBuffer(StreamUnit.WORD)
    assert [buffer.push(text) for text in ("on", "e t", "wo ", "\n")] == ["", "one ", "two ", "\n"]
    assert buffer.push("漢" * (LONGEST_WORD + 1)) == "漢" * (LONGEST_WORD + 1)


@pytest.mark.parametrize(
    ("moments_s", "said_n"),
    [((0.0, FIRST_S / 2), 0), ((FIRST_S, FIRST_S + 1), 1), ((FIRST_S, FIRST_S + BETWEEN_S), 2)],
)
def test_sentences_are_rare(moments_s: Sequence[float], said_n: int) -> None:
    """None about what is quick; then one, and another only after a while."""
    now_s, said = [0.0], list[str]()
    progress = ProgressSentences(said.append, lambda: now_s[0])
    for now_s[0] in moments_s:
        progress.show("loading target", 0.5)
    assert said == ["Loading target: 50 per cent done."] * said_n
    progress.begin()
    progress.show("loading target", 0.5)
    assert len(said) == said_n
