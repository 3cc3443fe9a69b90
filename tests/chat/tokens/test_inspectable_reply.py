"""The index of a reply's tokens: every mode of marking counts all of them, and every place is found."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.chat.tokens.marking import UNKNOWN, MarkMode, kinds_of
from localspec.engine.events import Origin, Proposal, Round, Token
from localspec.runtime.messages import Reply
from tests.chat.tokens.support import reply_of

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
    reply = reply_of(made)
    reply.learn(0, probs)
    kinds = Counter(reply.kind(mode, index) for index in range(len(reply.tokens)))
    assert reply.counts(mode) == {kind: kinds[kind] for kind in kinds_of(mode)}
    assert sum(reply.counts(mode).values()) == sum(len(round_.tokens) for round_ in made)


@given(rounds())
def test_a_restored_reply_is_indexed_as_one_that_grew(made: list[Round]) -> None:
    """The index does not depend on how the rounds came."""
    grown, plain = reply_of(made), Reply()
    for round_ in made:
        plain.receive(round_)
    restored = InspectableReply.restored(plain, continued=False)
    assert restored.tokens is plain.tokens, "there is one list of tokens"
    for mode in MarkMode:
        assert restored.counts(mode) == grown.counts(mode)
    assert [restored.place(i) for i in range(len(restored.tokens))] == [
        grown.place(i) for i in range(len(grown.tokens))
    ]


@given(rounds())
def test_a_place_is_where_its_round_has_it(made: list[Round]) -> None:
    """A token's round holds it at its position, and its first token is that of the round."""
    reply = reply_of(made)
    for index, token in enumerate(reply.tokens):
        place = reply.place(index)
        assert place.round.tokens[place.position] is token is place.token
        assert reply.first_of_round(index) == index - place.position


@given(rounds(), st.data())
def test_probabilities_may_come_late_and_twice(made: list[Round], data: st.DataObject) -> None:
    """Pieces in order give the whole; a piece that is known already, or that leaves a gap, changes nothing."""
    reply = reply_of(made)
    probs = data.draw(st.lists(st.floats(0, 1), min_size=len(reply.tokens), max_size=len(reply.tokens)))
    at = 0
    while at < len(probs):
        size = data.draw(st.integers(1, 9))
        assert reply.learn(at, probs[at : at + size]) == len(probs[at : at + size])
        assert reply.learn(at, probs[at : at + size]) == 0
        assert reply.learn(len(probs) + 1, [0.5]) == 0
        at += size
    assert reply.probs == probs
    assert reply.counts(MarkMode.HEAT)[UNKNOWN] == 0
