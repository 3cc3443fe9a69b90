"""Where the characters of drawn Markdown come from, and whose they are."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token as Parsed
from textual.content import Content, Span
from textual.style import Style
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from localspec.engine.events import Origin, Token
from localspec.tui.tokens.markdown_mapping import NOWHERE, Mapped, MarkdownSource
from localspec.tui.tokens.marked_markdown import line_keeping_parser
from localspec.tui.tokens.runs import BARE, NOBODY, TokenRun, mapped_share, owners, runs, spans, writer

SIGNS = (
    *"*_`~#>-|[]()!<\\\n\t1.:",
    " ",
    "  ",
    "**",
    "~~",
    "``",
    "\n\n",
    "\n- ",
    "\n1. ",
    "\n> ",
    "\n# ",
    "\n```\n",
    "    ",
)
SHAPES = (
    "[漢](漢)",
    "![漢](漢 '漢')",
    "](",
    "\\*",
    "\\|",
    "\n| 漢 | 漢 |\n|---|---|\n",
    "\n漢|漢\n-|-\n",
    "\r\n",
    "漢",
    "漢漢",
)
OTHERS = (
    *"abc&",
    "&amp;",
    "&#65;",
    "&lt",
    "<b>",
    "www.a.org",
    "https://a.org/%20",
    "<x:y>",
    "e\u0301",
    "👩\u200d🔬",
    "[a][a]",
)
DOCUMENTS = st.lists(st.sampled_from([*SIGNS, *SHAPES, *OTHERS, "\n[a]: /b\n\n"]), max_size=40).map("".join)
ALIKE = st.lists(st.sampled_from(SIGNS + SHAPES), max_size=40).map("".join)
"""All of their letters are the same."""


def mapped(text: str) -> list[tuple[Mapped, str]]:
    """All text of a document, and beside it what Textual draws."""
    tokens = line_keeping_parser().parse(text)
    source, cells, found = MarkdownSource(text), list[Parsed](), list[tuple[Mapped, str]]()
    for before, token in zip([tokens[0], *tokens] if tokens else [], tokens, strict=False):
        if token.type == "inline" and before.type in ("th_open", "td_open"):
            cells.append(token)
        elif token.type == "inline":
            found.append((source.inline(before, token), drawn(token)))
        elif token.type == "tr_close":
            found += zip(source.row(cells), map(drawn, cells), strict=True)
            cells = []
        elif token.type in ("fence", "code_block"):
            found.append((source.code(token), MarkdownFence.highlight(token.content.rstrip(), "text").plain))
    return found


def drawn(token: Parsed) -> str:
    """What Textual makes of the content of a block."""
    nothing: Any = None
    return MarkdownBlock._token_to_content(nothing, token).plain


@given(DOCUMENTS)
def test_places_go_forward_and_hold_the_same_character(text: str) -> None:
    """In every piece of any document; and the text is that which is drawn."""
    for piece, plain in mapped(text):
        places = [at for at in piece.at if at != NOWHERE]
        assert places == sorted(set(places))
        assert all(at == NOWHERE or text[at] == drawn for drawn, at in zip(piece.text, piece.at, strict=True))
        assert piece.text == plain
        assert len(piece.text) == len(piece.at)


@given(ALIKE)
def test_a_letter_is_never_taken_for_another_like_it(text: str) -> None:
    """Where letters that are all different tell where each stands, letters that are all the same stand there, too."""
    different = iter(range(0x4E00, 0x9FFF))
    told_apart = "".join(chr(next(different)) if letter == "漢" else letter for letter in text)
    for (piece, _), (told, _) in zip(mapped(text), mapped(told_apart), strict=True):
        assert all(at in (NOWHERE, there) for at, there in zip(piece.at, told.at, strict=True))


@given(st.text(st.sampled_from("abcxyz ,;漢é"), min_size=1).map(str.strip).filter(bool))
def test_text_without_markup_maps_wholly_and_exactly(text: str) -> None:
    text = re.sub(" +", " ", text)
    ((piece, _),) = mapped(text)
    assert piece == Mapped.copied(text, 0)


@pytest.mark.parametrize(
    "marked",
    [
        "# ⟦Head ⟧*⟦line⟧* #",
        "## ⟦#⟧ #",
        "⟦Head⟧\n===\n\n⟦b⟧",
        "⟦a ⟧**⟦a⟧**⟦ ⟧`⟦a⟧`⟦ ⟧``⟦a`a⟧``⟦ ⟧~~⟦a⟧~~⟦ ⟧***⟦a⟧***",
        "⟦2 * 3 * 4, a_b_c and **⟧",
        "- ⟦a⟧\n  - ⟦a ⟧*⟦a⟧*\n    1. ⟦a⟧\n- ⟦a⟧",
        "1. ⟦a 1.⟧",
        "- ⟦[ ] a⟧",
        "> ⟦a⟧\n> ⟦a⟧\n⟦a⟧\n>\n> > - ⟦a > a⟧",
        "[⟦a⟧](a)⟦a⟧",
        "[⟦a b⟧](<a b> 'a b')⟦ a b⟧",
        "[⟦a⟧](a(a)a)⟦a⟧",
        "[⟦a⟧][b]⟦ a ⟧[⟦b⟧]⟦ a⟧\n\n[b]: /a",
        "<⟦http://a.a/a⟧>⟦ a⟧",
        "⟦see www.a.org, a@a.org and https://a.org/a_a.⟧",
        "![a](a)⟦ a⟧",
        "⟦a ⟧\\⟦* a\\a⟧",
        "⟦a ⟧&amp;⟦ a &a; ⟧&#97;⟦ a⟧",
        "⟦a <b>a</b><!-- a --> a⟧",
        "⟦<div>⟧\n⟦a⟧\n⟦</div>⟧",
        "| ⟦a<br>a⟧ |\n|---|",
        "⟦a⟧  \n⟦b⟧\\\n⟦c⟧\n   ⟦d⟧",
        "| ⟦a⟧ | ⟦a⟧\\⟦|a⟧ | |\n|---|:-:|---|\n| **⟦a⟧** | `⟦a⟧` | ⟦漢⟧ |\n| ⟦a⟧ |",
        "⟦a⟧ | ⟦a⟧\n-|-\n⟦a⟧ | [⟦a⟧](a)",
        "> | ⟦a⟧ | ⟦a⟧ |\n> |---|---|\n> | ⟦a⟧ | ⟦a⟧ |",
        "- ⟦a⟧\n\n  ⟦a⟧ | ⟦a⟧\n  --|--\n  ⟦a⟧ | ⟦a⟧",
        "```a\n⟦a = `a`⟧\n⟦    a⟧\n```\n\n⟦a⟧",
        "- ⟦a⟧\n  ~~~\n  ⟦a⟧\n  ⟦  a⟧\n  ~~~",
        "    ⟦a⟧\n    ⟦  a⟧\n\n⟦a⟧",
        "⟦漢字 ⟧**⟦漢字⟧**⟦ e\u0301 👩\u200d🔬 ⟧*⟦e\u0301⟧*⟦👩\u200d🔬⟧",
        "⟦a⟧\r\n⟦b⟧\r\n\r\n- ⟦a⟧\r\n- ⟦b⟧",
    ],
)
def test_every_character_is_found_where_it_stands(marked: str) -> None:
    """Between ⟦ and ⟧ stands what is drawn; of letters that look alike none is taken for another."""
    expected, at = list[int](), 0
    for number, part in enumerate(re.split("[⟦⟧]", marked)):
        expected += range(at, at + len(part)) if number % 2 else ()
        at += len(part)
    text = re.sub("[⟦⟧]", "", marked)
    found = [place for piece, _ in mapped(text) for place in piece.at if place != NOWHERE]
    assert [(at, text[at]) for at in found] == [(at, text[at]) for at in expected]


def test_what_was_made_is_nowhere_and_what_follows_is_found_again() -> None:
    """An address that is drawn otherwise than it is written does not take the rest of the paragraph with it."""
    text = "See <http://a.org/%20a> for more of it"
    ((piece, _),) = mapped(text)
    assert piece.text == "See http://a.org/ a for more of it"
    assert piece.at[-len(" for more of it") :] == tuple(range(text.index(" for"), len(text)))
    assert mapped_share([piece]) == pytest.approx(0.5)


def test_nothing_to_see_is_wholly_mapped() -> None:
    assert mapped_share([]) == mapped_share([Mapped.made(" \n")]) == 1.0


def token(text: str) -> Token:
    return Token(1, text, Origin.PLAIN)


@given(st.lists(st.sampled_from(["a", "", " b", "\n", "漢字"])), st.integers(-6, 6))
def test_each_character_has_the_token_that_wrote_it(texts: list[str], before: int) -> None:
    """A text may begin before the first token, where a person wrote it, and after it, where the answer begins."""
    written = "".join(texts)
    owner = owners([token(text) for text in texts], before)
    assert len(owner) == max(len(written) + before, before, 0)
    for at, index in enumerate(owner):
        assert (index == NOBODY) == (at < before)
        if index != NOBODY:
            assert written[at - before] in texts[index]
    assert owner == sorted(owner)


def test_runs_are_pieces_of_one_token() -> None:
    """Made characters belong to nobody; one that several tokens make up to the last of them."""
    piece = Mapped.joined([Mapped.copied("ab", 2), Mapped.made("•"), Mapped.copied("e\u0301c", 5)])
    assert runs(piece, [NOBODY, NOBODY, 0, 0, 0, 1, 2, 2]) == [
        TokenRun(0, 2, 0),
        TokenRun(3, 6, 2),
    ]


def test_a_joiner_gives_no_other_letter_away() -> None:
    """Only emoji are joined: what follows a letter and a joiner belongs to its own token, as in the token view."""
    text = "漢\u200d a"
    assert runs(Mapped.copied(text, 0), [0, 0, 1, 2]) == [TokenRun(0, 2, 0), TokenRun(2, 3, 1), TokenRun(3, 4, 2)]


def test_spaces_at_the_edges_of_a_token_are_not_underlined() -> None:
    """As in the token view; a token of nothing but white space keeps its cue, and one without a look is bare."""
    looks = [Style(underline=True), Style(), Style(bold=True)]
    told = [look + Style.from_meta({"token": token}) for token, look in enumerate(looks)]
    bare, none = Span(0, 8, BARE), Style(underline=False)
    marked = [TokenRun(0, 4, 0), TokenRun(4, 6, 1), TokenRun(6, 8, 2)]
    assert spans(" ab cd e", marked, looks.__getitem__) == [
        bare,
        Span(0, 4, told[0]),
        Span(0, 1, none),
        Span(3, 4, none),
        Span(4, 6, told[1]),
        Span(6, 8, told[2]),
    ]
    assert spans("  ", [TokenRun(0, 2, 0)], looks.__getitem__) == [Span(0, 2, BARE), Span(0, 2, told[0])]


def test_what_is_drawn_tells_who_wrote_it() -> None:
    """Each token by its number, the first as well; what has no mark tells nobody."""
    text = "ab c"
    marked = Content(text, spans(text, [TokenRun(0, 2, 0), TokenRun(3, 4, 1)], lambda _: Style()))
    told = [writer(style.rich_style) for _, style in marked.render(Style(), end="", parse_style=lambda _: Style())]
    assert told == [0, None, 1]
