"""Text of strangers before it is shown: nothing steers or hides, and ordinary text stays as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from localspec.base.visible import is_visible, visible, visible_line

BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
ORDINARY = (
    "one line\nand another\twith a tab",
    "नमस्ते مرحبا שלום می‌خواهم 葛󠄀 ไทย ភាសា ᠮᠣᠩᠭᠣᠯ",
    "👩‍👩‍👧 ❤️ 👍🏽 🇩🇪 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿",
    "cafe\u0301 co\u00adoperate a\u200bb",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    """In every script, with emoji joined from several characters, and with accents of their own."""
    assert visible(text) == text


@given(st.text())
def test_nothing_steers_and_places_stay(text: str) -> None:
    """No control character but newline and tab, nothing bidirectional, no half of a character; as long as before."""
    shown = visible(text)
    assert len(shown) == len(text)
    assert not set(shown) & set(BIDIRECTIONAL)
    assert {sign for sign in shown if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")} <= {"\n", "\t"}
    assert visible(shown) == shown
    assert not {"\n", "\t"} & set(visible_line(text))


def test_each_sign_takes_one_cell_and_tells_what_was_there() -> None:
    """Controls have pictures of their own in Unicode; what has none becomes the replacement character."""
    assert visible("\x00\x07\x0c\x1b\x7f") == "␀␇␌␛␡"
    assert visible("\x9b\u202e\u2066\U000e0041\ufeff\ud800") == "\ufffd" * 6
    changed = {sign for sign in map(chr, range(0x110000)) if visible(sign) != sign}
    assert {cell_len(visible(sign)) for sign in changed} == {1}
    assert set(BIDIRECTIONAL) | set(map(chr, range(0xE0000, 0xE0080))) | set(map(chr, range(0x80, 0xA0))) <= changed


def test_ends_of_lines_from_windows_are_ends_of_lines() -> None:
    """A lone carriage return, which writes over the line, is shown."""
    assert visible("one\r\ntwo\rthree") == "one \ntwo␍three"


def test_hidden_words_are_seen() -> None:
    """Tags outside of a flag, and selectors that select nothing, say that something is there."""
    assert visible("🏴\U000e0067\U000e0068") == "🏴\ufffd\ufffd"
    assert visible("a\U000e0100葛\U000e0100\U000e0101") == "a\ufffd葛\U000e0100\ufffd"


def test_a_place_of_one_line_has_one_line() -> None:
    """A title or an error cannot pretend to be the next line."""
    assert visible_line("a\nlocalspec: all is well\tnow") == "a␊localspec: all is well now"
    assert is_visible("all is well")
    assert not any(map(is_visible, ("a\nb", "a\tb", "a\x1b[2J", "a\u202eb")))
