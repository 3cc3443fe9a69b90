"""What the live line says, and that it never jumps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.chat import Reply
from localspec.engine.events import Origin, Started
from localspec.engine.tally import Tally, Timings
from localspec.tui.live import Figures, count_fields, figures_line, reply_summary
from localspec.tui.status import opening_note
from tests.tui.support import make_round

ROUNDS = st.lists(
    st.builds(
        lambda texts, rejected: make_round(texts, rejected=rejected),
        st.lists(st.sampled_from(["a", " b", ""]), min_size=1, max_size=5),
        st.lists(st.just("x"), max_size=4),
    ),
    max_size=200,
)


def timings_of(rounds: list[object], plain: float | None = 35.0) -> Timings:
    tally = Tally(plain_per_second=plain)
    for round_ in rounds:
        tally.add(round_)  # type: ignore[arg-type]  # the strategy's lambda hides the type
    return tally.timings()


@given(ROUNDS, ROUNDS, st.sampled_from([52, 56, 76, 88]))
def test_the_width_never_changes(some: list[object], others: list[object], width: int) -> None:
    """Whatever the figures, every field begins in the same column, from the first frame to the last."""
    one, other = (figures_line(Figures(timings_of(rounds), 3, "draft"), width) for rounds in (some, others))
    assert len(one) == len(other) <= width
    assert len("".join(text for _, text in count_fields(timings_of(some)))) == len(
        "".join(text for _, text in count_fields(timings_of(others)))
    )


@pytest.mark.parametrize(
    ("width", "last"), [(76, "draft"), (60, "/round"), (56, "/round"), (44, "accepted"), (20, "/s")]
)
def test_the_least_important_goes_first(width: int, last: str) -> None:
    """A narrow screen keeps speed, then speed-up, then acceptance."""
    line = figures_line(Figures(timings_of([make_round(["a", "b"])]), 3, "draft"), width)
    assert line.rstrip().endswith(last)


def test_speculation_that_is_off_says_why() -> None:
    """In the place of depth and drafter."""
    line = figures_line(Figures(timings_of([]), 0, None, "no draft model"), 90)
    assert line.endswith("speculation off: no draft model")


def test_the_summary_counts_what_there_is() -> None:
    """Origins without tokens are left out; a reply without tokens has no summary."""
    text = reply_summary(timings_of([make_round(["a", "b", "c"]), make_round(["d"], Origin.PLAIN)]))
    assert text.startswith("4 tokens: 2 accepted, 1 bonus, 1 plain · ")
    assert text.endswith("x plain")
    assert reply_summary(timings_of([])) == ""


def test_messages_left_out_are_mentioned() -> None:
    """A full context is said quietly, and not at all while everything fits."""
    reply = Reply()
    assert opening_note(reply) == ""
    said = {0: "", 1: "the oldest message was left out", 4: "the oldest 4 messages were left out"}
    for dropped_n, words in said.items():
        reply.receive(Started(100, 0, 1, dropped_n))
        assert opening_note(reply).endswith(words)
        assert bool(opening_note(reply)) == bool(words)
