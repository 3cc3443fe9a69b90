"""What is known about tokens, and that every way of marking counts all of them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.tokens.marking import (
    DRAFTER_KINDS,
    HEAT_KINDS,
    KINDS,
    MODES,
    OTHER,
    TARGET,
    UNKNOWN,
    GhostMode,
    MarkMode,
    ReplyFormat,
    Trace,
    heat_kind,
)
from localspec.engine.drafters import drafter_names
from localspec.engine.events import Origin, Proposal, Round, Token

DRAFTERS = st.sampled_from([None, "draft", "suffix", "eagle"])
OWN = st.sampled_from([Origin.CORRECTED, Origin.BONUS, Origin.PLAIN])
TEXTS = st.sampled_from([" word", "", "\n", "漢", "é", "👩", "\u200d🔬"])
"""Empty texts belong to characters of several tokens, to stop strings and to the end of a turn."""


@st.composite
def rounds(draw: st.DrawFn) -> list[Round]:
    made = []
    for index in range(draw(st.integers(0, 12))):
        drafter = draw(DRAFTERS)
        texts = draw(st.lists(TEXTS, max_size=4))
        tokens = [Token(1, text, Origin.ACCEPTED, drafter) for text in texts]
        if draw(st.booleans()) or not tokens:
            tokens.append(Token(2, draw(TEXTS), draw(OWN)))
        rejected = tuple(Proposal(3, "x") for _ in range(draw(st.integers(0, 2))))
        made.append(Round(index, drafter, 4, tuple(tokens), rejected, (), 0.0, 0.0, 0.0))
    return made


@given(rounds(), st.lists(st.floats(0, 1), max_size=30), st.sampled_from(MarkMode))
def test_every_mode_counts_every_token(made: list[Round], probs: list[float], mode: MarkMode) -> None:
    """Whatever the mode, each token is of one kind of that mode, and the counts are those kinds counted."""
    trace = Trace(made)
    trace.learn(0, probs)
    kinds = Counter(trace.kind(mode, index) for index in range(len(trace.tokens)))
    assert trace.counts(mode) == {kind: kinds[kind] for kind in KINDS[mode]}
    assert sum(trace.counts(mode).values()) == sum(len(round_.tokens) for round_ in made)


@given(rounds(), st.integers(1, 5))
def test_rounds_may_come_in_any_pieces(made: list[Round], size: int) -> None:
    """What is known does not depend on how it came."""
    whole, grown = Trace(made), Trace()
    for start in range(0, len(made), size):
        grown.extend(made[start : start + size])
    for mode in MarkMode:
        assert whole.counts(mode) == grown.counts(mode)
    assert [whole.place(i) for i in range(len(whole.tokens))] == [grown.place(i) for i in range(len(grown.tokens))]


@given(rounds())
def test_a_place_is_where_its_round_has_it(made: list[Round]) -> None:
    """A token's round holds it at its position, and its first token is that of the round."""
    trace = Trace(made)
    for index, token in enumerate(trace.tokens):
        place = trace.place(index)
        assert place.round.tokens[place.position] is token is place.token
        assert trace.first_of_round(index) == index - place.position


@given(rounds(), st.data())
def test_probabilities_may_come_late_and_twice(made: list[Round], data: st.DataObject) -> None:
    """Pieces in order give the whole; a piece that is known already, or that leaves a gap, changes nothing."""
    trace = Trace(made)
    probs = data.draw(st.lists(st.floats(0, 1), min_size=len(trace.tokens), max_size=len(trace.tokens)))
    at = 0
    while at < len(probs):
        size = data.draw(st.integers(1, 9))
        assert trace.learn(at, probs[at : at + size]) == len(probs[at : at + size])
        assert trace.learn(at, probs[at : at + size]) == 0
        assert trace.learn(len(probs) + 1, [0.5]) == 0
        at += size
    assert trace.probs == probs
    assert trace.counts(MarkMode.HEAT)[UNKNOWN] == 0


def test_heat_is_cut_at_its_own_labels() -> None:
    """A probability is of the first kind whose bound it reaches."""
    expected = {1.0: 0, 0.9: 0, 0.899: 1, 0.5: 1, 0.1: 2, 0.01: 3, 0.0099: 4, 0.0: 4, float("nan"): 5}
    assert {prob: HEAT_KINDS.index(heat_kind(prob)) for prob in expected} == expected


def test_drafters_are_those_there_are() -> None:
    """The names stand here once more, so that the screen need not load what drafters are made of."""
    assert set(drafter_names()) | {OTHER, TARGET} == set(DRAFTER_KINDS)


@pytest.mark.parametrize("markdown", [True, False])
def test_one_key_goes_through_all_modes_and_ghosts(markdown: bool) -> None:
    """And comes back; each has a sentence. Markdown stays Markdown, tokens stay tokens, and both have the marks."""
    reply_format = ReplyFormat(markdown=markdown)
    seen = []
    for _ in MarkMode:
        reply_format = reply_format.next(hidden=False)
        seen.append(reply_format.mode)
        assert reply_format.markdown == markdown
        assert reply_format.marks is reply_format.mode
    assert set(seen) == set(MarkMode) == set(MODES)
    assert reply_format.mode is ReplyFormat().mode
    assert GhostMode.OFF.next.next.next is GhostMode.OFF


@pytest.mark.parametrize("mode", MarkMode)
def test_marks_that_markdown_hides_are_brought_out_first(mode: MarkMode) -> None:
    """One press shows what is there; only then the next mode."""
    clean = ReplyFormat(mode)
    assert clean.marks is MarkMode.OFF
    shown = clean.next(hidden=True)
    assert shown == ReplyFormat(MarkMode.SUBTLE if mode is MarkMode.OFF else mode, marked=True)
    assert shown.next(hidden=True).mode is shown.mode.next


@pytest.mark.parametrize("mode", MarkMode)
def test_nothing_that_is_hidden_is_not_brought_out(mode: MarkMode) -> None:
    """Tokens have marks in any case, as a reply has that is being written: the key goes on at once."""
    assert ReplyFormat(mode, markdown=False).next(hidden=True).mode is mode.next
    assert ReplyFormat(mode).next(hidden=False).mode is mode.next
