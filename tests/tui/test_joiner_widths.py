"""The width of text with joiners is the sum of its characters', wherever it is cut; only emoji are joined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import cells
from rich.cells import cell_len, set_cell_size, split_text

from localspec.tui.textual_fixes.joiner_widths import measure_joiners
from tests.tui.support import FakeEngine, make_app, ready, say

measure_joiners()
TEXTS = st.text(alphabet=st.sampled_from("a1 é漢क\u094d👩🔬🏽🏳❤\u200d\u200d\ufe0f\u0301"), max_size=12)


@given(TEXTS, st.integers(0, 30))
def test_a_text_can_be_cut_anywhere(text: str, at: int) -> None:
    assert cell_len(set_cell_size(text, at)) == at
    if at < cell_len(text):  # past the end Rich has no answer
        left, right = split_text(text, at)
        assert (cell_len(left), cell_len(right)) == (at, cell_len(text) - at)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("👩\u200d🔬", 2),
        ("👩🏽\u200d🔬", 2),
        ("👨\u200d👩\u200d👧", 2),
        ("👩\u200d❤\ufe0f\u200d👨", 2),
        ("🏳\ufe0f\u200d🌈", 2),
        ("1\ufe0f\u20e3", 2),
        ("क\u094d\u200dष", 2),
        ("漢\u200d a", 4),
        ("1\u200d2", 2),
        ("\u200d\u200d漢aa", 4),
    ],
)
def test_only_emoji_are_joined(text: str, width: int) -> None:
    assert cell_len(text) == width
    assert cells.split_graphemes(text)[1] == width


async def test_a_reply_of_joiners_does_not_end_the_app() -> None:
    """Wrapped as Markdown it did."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(40, 20)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", "word " + "\u200d\u200d漢" * 40)
