"""Counting in pieces: exact for what is short, an estimate until then, never two questions at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.chat.compose.token_counts import PIECE_CHARS, TokenCount, TokenCounter


def answer(counter: TokenCounter) -> int:
    """Count words for it until it asks no more; how often it asked."""
    asked_n = 0
    while (piece := counter.next_piece()) is not None:
        assert len(piece) <= PIECE_CHARS
        counter.counted(piece, len(piece) // 2)
        asked_n += 1
    return asked_n


def test_an_estimate_stands_until_the_engine_has_counted() -> None:
    """And is told apart."""
    counter = TokenCounter()
    text = "word " * 100
    assert str(counter.count(text)) == "~143 tokens"
    counter.want([text])
    assert answer(counter) == 1
    assert str(counter.count(text)) == "250 tokens"
    assert str(TokenCount(1, exact=True)) == "1 token"
    assert counter.count("") == TokenCount(0, exact=True)


def test_the_estimate_learns_from_what_was_counted() -> None:
    """Another vocabulary has other lengths; forgetting forgets them."""
    counter = TokenCounter()
    counter.want(["x" * 1000])
    answer(counter)
    assert counter.count("y" * 1000).n == 500
    counter.forget()
    assert counter.count("x" * 1000) == TokenCount(286, exact=False)


def test_a_long_text_is_counted_in_pieces_and_said_to_be_about() -> None:
    """A word may be cut where two pieces meet."""
    counter = TokenCounter()
    text = "x" * (3 * PIECE_CHARS + 10)
    counter.want([text])
    assert answer(counter) == 4
    assert counter.count(text) == TokenCount(len(text) // 2, exact=False)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(["a", "bb" * 200, "c" * (PIECE_CHARS + 1)]), max_size=3), max_size=8))
def test_whatever_is_written_meanwhile_all_that_is_wanted_is_counted(wants: list[list[str]]) -> None:
    """Counts that come too late are not taken for another text's."""
    counter = TokenCounter()
    for wanted in wants:
        counter.want(wanted)
        piece = counter.next_piece()
        if piece is not None:
            counter.want(reversed(wanted))
            counter.next_piece()
            counter.counted(piece, len(piece) // 2)
    answer(counter)
    for text in wants[-1] if wants else ():
        assert abs(counter.count(text).n - len(text) // 2) <= 1


def test_no_vocabulary_is_no_count() -> None:
    """The estimate stays, and nothing is asked again."""
    counter = TokenCounter()
    counter.want(["text"])
    piece = counter.next_piece()
    assert piece == "text"
    counter.counted(piece, None)
    assert counter.next_piece() is None
    assert not counter.count("text").exact
