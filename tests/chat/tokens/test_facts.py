"""What is said about a token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from localspec.base.visible import visible
from localspec.chat.tokens.facts import (
    Fact,
    acceptance,
    legend,
    packed,
    quoted,
    round_facts,
    token_facts,
    top_rows,
)
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.engine.events import Origin, Proposal, Round, Token
from localspec.engine.inspection import Candidate, Inspection, Opinion
from tests.chat.tokens.support import reply_of

TOP = tuple(Candidate(n, f" {n}", 0.4 / (n + 1)) for n in range(5))


def opinion(prob: float, filtered: float | None) -> Opinion:
    return Opinion(prob, 2, filtered, TOP)


def trace(origin: Origin = Origin.ACCEPTED, drafter: str | None = "draft", why: str = "") -> InspectableReply:
    """A round of two tokens: the first of this origin, the second in the place of a rejected guess."""
    tokens = (Token(1, " fox", origin, drafter), Token(2, "", Origin.CORRECTED))
    rejected = (Proposal(3, "\n", "suffix"), Proposal(4, "\x1b", "suffix"))
    return reply_of([Round(4, "draft", 3, tokens, rejected, (), 0.0012, 0.0401, 0.043, why)])


def test_the_sampler_decides_what_is_kept() -> None:
    """A draw by min(1, p/q), the outright guess by p, greedy by being the favourite; else nothing is said."""

    def kept(inspection: Inspection, origin: Origin = Origin.ACCEPTED, drafter: str | None = "draft") -> list[str]:
        return list(acceptance(trace(origin, drafter).place(0), inspection))

    both = Inspection(1, opinion(0.3, 0.4), opinion(0.7, 0.8))
    drawn = "0.50 = min(1, p/q) if the draft draws it"
    guessed = "0.40 = p if a drafter guesses it outright (q = 1)"
    assert kept(both) == [drawn]
    assert kept(both, drafter="suffix") == ["0.40 = p: suffix guesses outright (q = 1)"]
    assert kept(both, Origin.CORRECTED, None) == [drawn, guessed], "it was not proposed, and might have been either way"
    assert kept(Inspection(1, opinion(0.3, 0.4), None), Origin.CORRECTED, None) == [guessed], "there is no draft"
    never = Inspection(1, opinion(0.3, 0.4), opinion(0.0, 0.0))
    assert kept(never, Origin.CORRECTED, None) == [guessed], "the draft never draws it"
    (greedy,) = kept(Inspection(1, opinion(0.3, 1.0), opinion(0.7, 1.0), greedy=True))
    assert greedy.startswith("1: ")
    assert kept(Inspection(1, opinion(0.3, None), None)) == []
    assert all(cell_len(f"kept {each}") <= 56 for each in (drawn, guessed)), "each on one line of a narrow screen"


def test_letters_are_explained_where_they_stand() -> None:
    """Those that are there, and no others."""
    drawn = Inspection(1, opinion(0.3, 0.4), opinion(0.7, 0.8))
    assert all(each in legend(drawn) for each in ("p: the target's", "q: the draft's", "kept: "))
    assert cell_len(legend(drawn)) <= 76, "a line where the screen is 80 wide"
    assert "q" not in legend(Inspection(1, opinion(0.3, 0.4), None))
    assert legend(Inspection(1, opinion(0.3, None), None)) == ""


def test_all_that_is_known_is_said() -> None:
    """Text, id, place in the reply, origin, drafter, round, place in it, what was thrown away, times, reason."""
    known = trace(why="3 proposals, all accepted with 60%")
    said = packed([*token_facts(known, 0, "asking"), *round_facts(known, 0)], 1)
    assert said == [
        "“ fox” id 1, 1 of 2",
        "accepted from draft",
        "asking",
        "rejected “⏎” “␛” from suffix, further on",
        "round 5 of 5, place 1 of 2, 3 guessed",
        "took 1.2 ms to draft, 40.1 to verify, 43.0 in all",
        "depth 3 proposals, all accepted with 60%",
    ]
    assert Fact("rejected", "“⏎” “␛” from suffix") in round_facts(known, 1), "in the place of the rejected guess"


def test_a_token_without_text_is_named_if_the_target_knows_it() -> None:
    """The end of a turn has a name in the vocabulary; part of a character has none."""
    known = trace()
    assert token_facts(known, 1, "")[0].text.startswith("(no text of its own) id 2")
    known.inspections[1] = Inspection(2, opinion(0.3, 0.4), None)
    assert token_facts(known, 1, "")[0].text.startswith("“ 2” id 2")


def test_a_prompt_made_anew_is_admitted() -> None:
    """Figures that may be about other tokens say so."""
    known = trace()
    known.inspections[0] = Inspection(1, opinion(0.3, 0.4), None, exact_context=False)
    assert any("anew" in fact.text for fact in token_facts(known, 0, ""))


@given(st.lists(st.text(max_size=12), min_size=5, max_size=5), st.integers(40, 90))
def test_top_fives_stand_side_by_side(texts: list[str], width: int) -> None:
    """Whatever the tokens' texts, both columns keep their width, and nothing reaches the terminal raw."""
    top = tuple(Candidate(n, text, 0.2) for n, text in enumerate(texts))
    rows = top_rows(Inspection(2, Opinion(0.2, 3, None, top), Opinion(0.2, 1, 0.5, top[:2])), width)
    assert len(rows) == 6
    half = (width - 2) // 2
    assert all(cell_len(left) == cell_len(right) == half for left, right in rows)
    assert [left.startswith("›") for left, _ in rows] == [False, False, False, True, False, False]
    assert all(visible(text) == text for row in rows for text in row)


@pytest.mark.parametrize(("text", "shown"), [(" a", "“ a”"), ("\t\n", "“⇥⏎”"), ("", "(no text of its own)")])
def test_what_has_no_shape_has_a_sign(text: str, shown: str) -> None:
    """White space and control characters can be told apart."""
    assert quoted(text) == shown


def test_packing_keeps_order_and_width() -> None:
    """As many facts a line as fit, none cut."""
    told = [Fact("", "one"), Fact("kept", "two"), Fact("", "three" * 5), Fact("", "four")]
    assert packed(told, 20) == ["one · kept two", "three" * 5, "four"]
