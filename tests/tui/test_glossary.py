"""Two columns of words and meanings, at every width."""

from __future__ import annotations

import pytest
from textual.content import Content

from localspec.tui.widgets.glossary import Glossary

ROWS = [
    (Content("Enter"), "Send the message."),
    (Content("Ctrl+J"), "Start a new line in the message, here."),
    (Content("@"), ""),
]


@pytest.mark.parametrize("width", [1, 5, 12, 30, 35, 36, 60, 200])
def test_every_word_is_there_in_order(width: int) -> None:
    lines = [line.plain for line in Glossary("Keys", ROWS, 12).lines(width)]
    words = " ".join(lines).split()
    said = f"Keys {' '.join(f'{word.plain} {meaning}' for word, meaning in ROWS)}".split()
    assert "".join(words) == "".join(said)
    assert width < 12 or max(map(len, lines)) <= width


def test_lines_go_on_below_where_they_began() -> None:
    lines = [line.plain.rstrip() for line in Glossary("Keys", ROWS, 12).lines(36)]
    assert lines == [
        "Keys",
        "Enter       Send the message.",
        "Ctrl+J      Start a new line in the",
        "            message, here.",
        "@",
    ]


def test_where_there_is_no_room_beside_a_word_its_meaning_stands_below() -> None:
    lines = [line.plain.rstrip() for line in Glossary("Keys", ROWS[:1], 12).lines(20)]
    assert lines == ["Keys", "Enter", "  Send the message."]
