"""The quiet rows under a reply: broken between the things they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.tui.conversation.note import Note

STOPPED = "stopped · 112 tokens: 70 accepted, 20 corrected, 22 bonus · 1.40x plain · /continue goes on"


def rows(text: str, width: int) -> list[str]:
    note = Note()
    note._said = text
    return note.rows(width)


@pytest.mark.parametrize("width", range(56, 100))
def test_what_belongs_together_stays_so(width: int) -> None:
    """No word stands alone in the second row."""
    parts = STOPPED.split(" · ")
    assert [part for row in rows(STOPPED, width) for part in row.split(" · ")] == parts


@given(st.text(alphabet="ab ·\n", max_size=60), st.integers(1, 40))
def test_nothing_is_lost_and_all_fits(text: str, width: int) -> None:
    shown = rows(text, width)
    assert all(len(row) <= width for row in shown)
    assert [c for row in shown for c in row if c in "ab"] == [c for c in text if c in "ab"]
