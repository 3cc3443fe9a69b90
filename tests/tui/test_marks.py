"""Laws of laying out marked text."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.engine.events import Origin, Proposal, Round, Token
from localspec.tui.textual_fixes.joiner_widths import measure_joiners
from localspec.tui.tokens.layout import END_MARK, TokenLayout
from localspec.tui.tokens.token_view import ghost_segments, line_segments
from tests.chat.tokens.support import reply_of
from tests.tui.support import make_round

TEXTS = st.one_of(
    st.text(alphabet="ab  \n", max_size=12),
    st.text(alphabet=st.sampled_from("aé漢👩\u200d🔬\ufe0f❤\u0301\t \n\r\x1b\u202e"), max_size=8),
    st.text(max_size=6),
)
TOKENS = st.lists(st.builds(Token, st.just(1), TEXTS, st.sampled_from(Origin)), max_size=30)
WIDTHS = st.integers(2, 40)
STRAY_SELECTOR = re.compile("(^|[^❤])\ufe0f")
"""A selector that follows nothing it could change."""
measure_joiners()


def lay_out(tokens: list[Token], width: int) -> TokenLayout:
    layout = TokenLayout(reply_of([round_of(tokens)]), width)
    layout.extend()
    return layout


def round_of(tokens: list[Token]) -> Round:
    return Round(0, None, 0, tuple(tokens), (), (), 0.0, 0.0, 0.0)


def drawn(layout: TokenLayout) -> list[str]:
    """The lines, with the underlines of accepted tokens, whose edges are drawn without."""
    look = {origin: Style(underline=origin is Origin.ACCEPTED) for origin in Origin}
    lines = (line_segments(line, Style(), layout.width, lambda run: look[run.origin]) for line in layout.lines)
    return ["".join(segment.text for segment in line) for line in lines]


@given(TOKENS, WIDTHS)
def test_the_lines_joined_are_the_reply(tokens: list[Token], width: int) -> None:
    """Nothing is lost, added or reordered by wrapping."""
    layout = lay_out(tokens, width)
    layout.finish()
    assert "".join(line.text for line in layout.lines) == "".join(token.text for token in tokens)


@given(TOKENS, WIDTHS, st.data())
def test_the_text_of_calls_is_left_out(tokens: list[Token], width: int, data: st.DataObject) -> None:
    """The lines end where the calls begin, be it in the middle of a token; with ``calls`` they have all of it."""
    text = "".join(token.text for token in tokens)
    reply = reply_of([round_of(tokens)])
    reply.held_n = data.draw(st.integers(0, len(text)))
    said, whole = TokenLayout(reply, 17), TokenLayout(reply, width, calls=True)
    for layout in (said, whole):
        layout.extend()
        layout.finish()
        layout.resize(width)
    assert "".join(line.text for line in said.lines) == text[: len(text) - reply.held_n]
    assert "".join(line.text for line in whole.lines) == text


@given(TOKENS, WIDTHS)
@example([Token(1, "漢\u200d", Origin.ACCEPTED), Token(1, " ", Origin.ACCEPTED), Token(1, "a", Origin.ACCEPTED)], 3)
def test_no_line_is_wider_than_the_screen(tokens: list[Token], width: int) -> None:
    """What is drawn of a line fits; only white space may hang over, and that is cut."""
    layout = lay_out(tokens, width)
    layout.finish()
    for line, text in zip(layout.lines, drawn(layout), strict=True):
        assert cell_len(text) <= width
        if not any(run.is_end for run in line.runs) and "\t" not in line.text:
            assert len(text.rstrip(" ")) == len(line.text.rstrip(" \n")), "only white space may be cut"


@given(TOKENS, WIDTHS, st.data())
@example([Token(1, "👩\u200d", Origin.PLAIN), Token(1, "🔬", Origin.ACCEPTED)], 2, None)
def test_growing_by_pieces_equals_laying_out_at_once(
    tokens: list[Token], width: int, data: st.DataObject | None
) -> None:
    """However the tokens arrive, the lines are the same, and lines before the first changed one stay."""
    reply = InspectableReply()
    layout = TokenLayout(reply, width)
    at = 0
    while at < len(tokens):
        size = 1 if data is None else data.draw(st.integers(1, 5))
        before = list(layout.lines)
        reply.receive(round_of(tokens[at : at + size]))
        first = layout.extend()
        assert [line.runs for line in layout.lines[:first]] == [line.runs for line in before[:first]]
        assert first >= len(before) - 1, "only the last line may change"
        at += size
    layout.finish()
    whole = lay_out(tokens, width)
    whole.finish()
    assert [line.runs for line in layout.lines] == [line.runs for line in whole.lines]


@given(TOKENS, st.lists(WIDTHS, min_size=1, max_size=4))
def test_any_resize_equals_laying_out_at_that_width(tokens: list[Token], widths: list[int]) -> None:
    """Resizing leaves no trace of the widths before."""
    layout = lay_out(tokens, 17)
    layout.finish()
    for width in widths:
        layout.resize(width)
    fresh = lay_out(tokens, widths[-1])
    fresh.finish()
    assert [line.runs for line in layout.lines] == [line.runs for line in fresh.lines]


@given(TOKENS)
def test_every_token_is_marked_once(tokens: list[Token]) -> None:
    """Every token is laid out, those without text included, and each is drawn as itself or as a later one."""
    layout = lay_out(tokens, 20)
    layout.finish()
    assert layout.tokens_n == len(tokens)
    drawn_as = [layout.owner_of(index) for index in range(len(tokens)) if any(line.runs for line in layout.lines)]
    assert all(tokens[owner].text or owner == len(tokens) - 1 for owner in drawn_as)


@given(TOKENS, WIDTHS)
def test_every_token_with_text_of_its_own_can_be_seen(tokens: list[Token], width: int) -> None:
    """Each run names a token, in order; a token vanishes only into the character that it is part of."""
    layout = lay_out(tokens, width)
    seen = [run.token for line in layout.lines for run in line.runs]
    assert seen == sorted(seen)
    for line in layout.lines:
        for run in line.runs:
            assert run.origin is tokens[run.token].origin


def test_the_end_of_turn_is_drawn_in_the_style_of_its_origin() -> None:
    """A token without text at the end is a small mark, not part of the text."""
    layout = lay_out([Token(1, "Hi.", Origin.ACCEPTED), Token(2, "", Origin.BONUS)], 20)
    layout.finish()
    assert drawn(layout) == ["Hi." + END_MARK]
    assert layout.lines[0].runs[-1].origin is Origin.BONUS
    assert layout.lines[0].text == "Hi."


def test_the_tokens_of_one_character_are_drawn_as_the_last_of_them() -> None:
    """Empty tokens inside a character are counted, and the character has one style."""
    nothing = Token(1, "", Origin.ACCEPTED)
    layout = lay_out([nothing, nothing, Token(3, "漢", Origin.CORRECTED)], 20)
    layout.finish()
    assert [(run.text, run.origin) for run in layout.lines[0].runs] == [("漢", Origin.CORRECTED)]
    assert [layout.owner_of(index) for index in range(3)] == [2, 2, 2]
    assert layout.tokens_n == 3


def test_words_move_to_the_next_line_whole() -> None:
    """A word is cut only when it is longer than a line."""
    words = ("one", " twothree", " abcdefghijkl")
    layout = lay_out([Token(1, word, Origin.PLAIN) for word in words], 9)
    assert [text.rstrip() for text in drawn(layout)] == ["one", "twothree", "abcdefghi", "jkl"]


def test_control_characters_are_shown_as_pictures() -> None:
    """Nothing the model writes can steer the terminal."""
    layout = lay_out([Token(1, "a\x1b[31mb\x07\u202ec", Origin.PLAIN)], 20)
    assert drawn(layout) == ["a␛[31mb␇\ufffdc"]


def test_a_tab_is_a_character_of_its_own() -> None:
    """And as wide as it is drawn, so that what follows it wraps where the line ends."""
    layout = lay_out([Token(1, "é", Origin.ACCEPTED), Token(2, "\t", Origin.BONUS), Token(3, "ab", Origin.PLAIN)], 5)
    assert [[run.text for run in line.runs] for line in layout.lines] == [["é", "\t"], ["ab"]]
    assert all(cell_len(text) <= 5 for text in drawn(layout))


def test_ghosts_take_the_rest_of_the_line_and_no_more() -> None:
    """Rejected proposals never make a reply higher."""
    ghosts = ghost_segments((Proposal(1, " foo\n"), Proposal(2, "bar")), Style(), 6)
    assert "".join(segment.text for segment in ghosts) == " foo⏎b"
    assert all(segment.style and segment.style.strike and segment.style.dim for segment in ghosts)
    assert ghost_segments((Proposal(1, "x"),), Style(), 0) == []


@given(st.lists(st.tuples(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=2)), max_size=8), WIDTHS)
def test_kept_ghosts_are_no_part_of_the_reply(made: list[tuple[list[str], list[str]]], width: int) -> None:
    """Text and counts are those without them; put in later or from the start, the lines are the same."""
    rounds = [make_round(texts, rejected=rejected) for texts, rejected in made]
    reply = InspectableReply()
    kept, bare = TokenLayout(reply, width, ghosts=True), TokenLayout(reply, width)
    for round_ in rounds:
        reply.receive(round_)
        kept.extend()
    bare.extend()
    assert "".join(line.text for line in kept.lines) == "".join(line.text for line in bare.lines) == reply.text
    assert kept.tokens_n == bare.tokens_n == len(reply.tokens)
    bare.keep_ghosts(True)
    assert [line.runs for line in bare.lines] == [line.runs for line in kept.lines]
    if not any(STRAY_SELECTOR.search(text) for texts, rejected in made for text in (*texts, *rejected)):
        assert all(cell_len(text) <= width for text in drawn(kept))
    bare.keep_ghosts(False)
    assert not any(run.is_ghost for line in bare.lines for run in line.runs)
