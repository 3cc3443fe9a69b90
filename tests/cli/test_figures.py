"""The words for figures."""

from __future__ import annotations

import doctest
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.events import Origin, Proposal, Round, Token
from localspec.engine.tally import Tally
from localspec.engine.timings import Timings
from localspec.runtime import figures

RATES = st.one_of(st.none(), st.floats(0, 99_999))


def a_round(index: int, depth: int, accepted: int, rejected: int, drafter: str | None = "draft") -> Round:
    own = Origin.CORRECTED if rejected else Origin.BONUS if accepted else Origin.PLAIN
    tokens = [Token(1, "a", Origin.ACCEPTED)] * accepted + [Token(2, "b", own)]
    return Round(index, drafter, depth, tuple(tokens), (Proposal(3, "c"),) * rejected, (), 0.01, 0.03, 0.05)


def test_examples_in_the_docstrings() -> None:
    """What the docstrings show is what the functions do."""
    assert doctest.testmod(figures).failed == 0
    assert doctest.testmod(figures).attempted >= 6


@given(value=RATES)
def test_a_fixed_width_never_changes(value: float | None) -> None:
    """A figure that is asked for at a fixed width has that width, whatever it is."""
    assert len(figures.speed(value, fixed=True)) == 5
    assert len(figures.times(None if value is None else value / 100, fixed=True)) == 5
    assert len(figures.percent(None if value is None else value / 99_999, fixed=True)) == 5
    assert len(figures.length(None if value is None else value / 5_000, fixed=True)) == 4


@given(value=st.floats(0.01, 99_999))
def test_a_speed_is_right_to_its_last_digit(value: float) -> None:
    """Rounding never moves a figure by more than half of its last digit."""
    text = figures.speed(value)
    decimals = len(text.partition(".")[2])
    assert abs(float(text) - value) <= 0.5 * 10**-decimals * (1 + 1e-9)


def timings_at(plain_per_second: float, depth: int = 3) -> Timings:
    """Rounds of three tokens and of one at the plain speed given; each takes 50 ms."""
    tally = Tally(plain_per_second=plain_per_second)
    for round_ in (a_round(0, depth, depth and 2, depth and 1), a_round(1, depth, 0, depth)):
        tally.add(round_)
    return tally.timings()


def test_a_reply_that_was_slower_has_a_reason_which_is_its_cost() -> None:
    """However many guesses were right; one that was as fast, or made none, needs no reason."""
    assert figures.why_slower(timings_at(80)) == "a round wrote 2.00 tokens and took as long as 4.00 plain ones"
    assert figures.sentence(timings_at(80)).endswith(
        "0.50 times plain speed: a round wrote 2.00 tokens and took as long as 4.00 plain ones."
    )
    assert figures.why_slower(timings_at(40)) == ""
    assert figures.why_slower(timings_at(30)) == ""
    assert figures.why_slower(timings_at(80, depth=0)) == ""
    assert figures.sentence(timings_at(40)).endswith("1.0 times plain speed.")


def test_the_summary_names_every_figure() -> None:
    """One line, in the words of the project, of the figures the tally counted."""
    rounds = [a_round(0, 3, 2, 1), a_round(1, 3, 3, 0), a_round(2, 1, 0, 1)]
    tally = Tally(plain_per_second=40.0)
    for round_ in rounds:
        tally.add(round_)
    assert figures.summary_line(tally.timings(), rounds, "builtin") == (
        "8 tokens, 53.3 tokens/s, speed-up 1.33x, acceptance 71 %, mean acceptance length 2.67, "
        "depth 3, drafter draft, pair builtin"
    )
    assert figures.sentence(tally.timings()) == (
        "8 tokens, 71 % of the draft's guesses accepted, 1.3 times plain speed."
    )


def test_what_was_not_measured_is_left_out() -> None:
    """A plain reply has no acceptance, and an empty one no speed."""
    rounds = [a_round(0, 0, 0, 0, drafter=None)]
    tally = Tally()
    assert figures.summary_line(tally.timings(), [], "x") == "0 tokens, no drafter, pair x"
    untold = replace(tally.timings(), rounds_n=0)  # by a server that sends text only
    assert figures.summary_line(untold, rounds, "x") == "0 tokens, pair x"
    assert figures.sentence(tally.timings()) == "0 tokens."
    tally.add(rounds[0])
    assert figures.summary_line(tally.timings(), rounds, "x") == (
        "1 token, 20.0 tokens/s, mean acceptance length 1.00, depth 0, no drafter, pair x"
    )
    assert figures.sentence(tally.timings()) == "1 token, 20.0 tokens a second."


@pytest.mark.parametrize(("depths", "expected"), [([3, 3, 1], 3), ([1, 1, 3, 3], 3), ([0], 0), ([], None)])
def test_the_depth_is_the_usual_one(depths: list[int], expected: int | None) -> None:
    """The last rounds of a reply are often cut short; they do not decide what is reported."""
    assert figures.depth_used([a_round(i, depth, 0, 0) for i, depth in enumerate(depths)]) == expected


def test_drafters_are_named_once_each() -> None:
    """A reply that several drafters helped with names them all, in order, also those that shared a round."""
    for names in (["draft", "suffix", None, "draft"], ["draft", "draft+suffix", "suffix"], ["draft+suffix"]):
        rounds = [a_round(i, 3, 1, 0, drafter=name) for i, name in enumerate(names)]
        assert figures.drafters_used(rounds) == ("draft", "suffix")
