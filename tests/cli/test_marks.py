"""Origins in text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.marks import Marks, marked
from localspec.engine.events import Origin, Token

TOKENS = [
    Token(1, "Once", Origin.ACCEPTED),
    Token(2, " upon", Origin.ACCEPTED),
    Token(3, " the", Origin.CORRECTED),
    Token(4, " time", Origin.BONUS),
    Token(5, ".", Origin.PLAIN),
    Token(6, "", Origin.ACCEPTED),
]


def test_brackets_tell_origins_apart() -> None:
    """Neighbours share a bracket; plain tokens and tokens without text have none."""
    assert marked(TOKENS, Marks.ASCII) == "[Once upon]{ the}< time>."


@pytest.mark.parametrize("colour", [True, False])
def test_every_origin_has_a_style_of_its_own(colour: bool) -> None:
    """With and without colour the three marked origins look different."""
    styles = re.findall(r"\x1b\[([^m]+)m", marked(TOKENS, Marks.ANSI, colour=colour))
    assert len({style for style in styles if style != "0"}) == 3
    assert styles[1::2] == ["0"] * 3


@given(st.lists(st.builds(Token, st.just(1), st.text(), st.sampled_from(Origin))), st.sampled_from(Marks))
def test_marks_add_and_never_take_away(tokens: list[Token], marks: Marks) -> None:
    """Without its marks the text is the text."""
    text = "".join(token.text for token in tokens)
    shown = iter(marked(tokens, marks))
    assert all(character in shown for character in text)
    assert marked(tokens, Marks.NEVER) == text
