"""What the live line says, and that it never jumps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.status import opening_note
from localspec.chat.tokens.live import (
    Figures,
    bars,
    count_fields,
    counted,
    figures_line,
    latest_of,
    paused,
    reply_summary,
    sparkline,
)
from localspec.chat.tokens.marking import MarkMode
from localspec.engine.events import Origin, Round, Started
from localspec.engine.tally import Tally
from localspec.engine.timings import Timings
from localspec.runtime.messages import Reply
from tests.chat.tokens.support import reply_of
from tests.tui.support import FakeEngine, chat, make_app, make_round, ready, say, wait_until

ROUNDS = st.lists(
    st.builds(
        lambda texts, rejected: make_round(texts, rejected=rejected),
        st.lists(st.sampled_from(["a", " b", ""]), min_size=1, max_size=5),
        st.lists(st.just("x"), max_size=4),
    ),
    max_size=200,
)


def timings_of(rounds: list[Round], plain: float | None = 35.0) -> Timings:
    tally = Tally(plain_per_second=plain)
    for round_ in rounds:
        tally.add(round_)
    return tally.timings()


def shown(rounds: list[Round], mode: MarkMode = MarkMode.ORIGIN, why_off: str | None = None) -> Figures:
    """What the line gets to show of these rounds."""
    counts = counted(reply_of(rounds).counts(mode), mode, ["draft"])
    depth, drafter = (rounds[-1].depth, rounds[-1].drafter) if rounds else (None, None)
    return Figures(timings_of(rounds), depth, drafter, why_off, paused(rounds), mode, counts, latest_of(rounds))


@given(ROUNDS, ROUNDS, st.sampled_from([52, 56, 76, 88]), st.sampled_from(MarkMode))
def test_the_width_never_changes(some: list[Round], others: list[Round], width: int, mode: MarkMode) -> None:
    """Whatever the figures, every field begins in the same column, from the first frame to the last."""
    one, other = shown(some, mode), shown(others, mode)
    assert len(figures_line(one, width)) == len(figures_line(other, width)) <= width
    widths = [[len(text) for _, text in count_fields(each, width)] for each in (one, other)]
    assert widths[0] == widths[1]
    assert len(bars(one, width)) == len(bars(other, width))
    row = "  ".join(text for _, text in count_fields(one, width)) + "  " + bars(one, width)
    assert len(row.rstrip()) <= width or not bars(one, width)


def test_a_drafter_that_the_pair_lacks_is_counted_only_where_it_has_tokens() -> None:
    counts = {"dflash": 0, "draft": 0, "eagle3": 2, "mtp": 0, "suffix": 0, "target": 3}
    assert list(counted(counts, MarkMode.DRAFTER, ["mtp"])) == ["eagle3", "mtp", "suffix", "target"]
    assert counted(counts, MarkMode.ORIGIN, []) == counts


def test_more_drafters_than_fit_are_counted_where_they_have_tokens() -> None:
    """Where all fit, all are named; the other modes have few kinds, and name them at any width."""
    counts = {**{f"drafter-{n}": n % 2 for n in range(8)}, "target": 3}
    figures = replace(shown([], MarkMode.DRAFTER), counts=counts)
    assert [kind for kind, _ in count_fields(figures, 200)] == list(counts)
    fields = count_fields(figures, 80)
    assert [kind for kind, _ in fields] == ["drafter-1", "drafter-3", "drafter-5", "drafter-7", "target"]
    assert len(count_fields(replace(figures, mode=MarkMode.HEAT), 10)) == len(counts)


@given(ROUNDS, st.integers(0, 40))
def test_the_bars_are_the_latest_rounds(rounds: list[Round], cells: int) -> None:
    """The newest on the right; the same round has the same bar wherever it stands, so nothing rescales."""
    row = sparkline(rounds, cells)
    assert len(row) == cells
    latest = rounds[-cells:] if cells else []
    assert row.strip() == "".join(sparkline([round_], 1) for round_ in latest)


def test_a_bar_tells_how_many_were_accepted() -> None:
    """None, one, six and more; a round without proposals is a dot, not a low bar."""
    none, one, many = (make_round(["a"] * n, rejected=["x"]) for n in (1, 2, 12))
    assert sparkline([make_round(["a"], Origin.PLAIN), none, one, many], 5) == " ·▁▂█"


def test_a_draft_that_pauses_is_said_to() -> None:
    """In the drafter's place, once several rounds in a row had no proposals."""
    plain = make_round(["a"], Origin.PLAIN)
    drafted = make_round(["a", "b"])
    assert "paused" not in figures_line(shown([drafted, plain, plain, plain]), 88)
    assert figures_line(shown([drafted, *[plain] * 4]), 88).rstrip().endswith("paused")


@pytest.mark.parametrize(
    ("width", "last"), [(76, "draft"), (60, "/round"), (56, "/round"), (44, "accepted"), (20, "/s")]
)
def test_the_least_important_goes_first(width: int, last: str) -> None:
    """A narrow screen keeps speed, then speed-up, then acceptance."""
    line = figures_line(Figures(timings_of([make_round(["a", "b"])]), 3, "draft"), width)
    assert line.rstrip().endswith(last)


def test_speculation_that_is_off_says_why() -> None:
    """In the place of depth and drafter."""
    why = "turned off with --spec off"
    for width, said in (
        (88, f"speculation off: {why}"),
        (76, f"speculation off: {why}"),
        (56, f"off: {why}"),
        (40, "speculation off"),
    ):
        line = figures_line(shown([], why_off=why), width)
        assert line.endswith(said)
        assert len(line) <= width


def test_a_server_that_tells_text_alone_has_no_depth_and_no_rounds() -> None:
    """The speed, and the guesses that it counts itself; they are no origins."""
    figures = replace(shown([make_round(["d"], Origin.PLAIN)]), text_alone=True)
    assert "tokens/s" in figures_line(figures, 76)
    assert figures_line(figures, 76).endswith("the server tells no origins")
    told = replace(figures.timings, draft_n=4, draft_n_accepted=3, draft_acceptance_rate=0.75)
    assert figures_line(replace(figures, timings=told), 76).endswith("75 % accepted there")
    assert len(figures_line(figures, 20)) <= 20
    assert "1 plain · 3 of 4 guesses of the server accepted" in reply_summary(told)


def test_the_summary_counts_what_there_is() -> None:
    """Origins without tokens are left out; a reply without tokens has no summary."""
    text = reply_summary(timings_of([make_round(["a", "b", "c"]), make_round(["d"], Origin.PLAIN)]))
    assert text.startswith("4 tokens: 2 accepted, 1 bonus, 1 plain · ")
    assert text.endswith("x plain")
    assert reply_summary(timings_of([])) == ""
    busy = replace(timings_of([make_round(["a"])]), busy=True)
    assert reply_summary(busy).endswith("speed-up unknown, the machine is busy"), "one word alone would puzzle"


def test_messages_left_out_are_mentioned() -> None:
    """A full context is said quietly, and not at all while everything fits."""
    reply = Reply()
    assert opening_note(reply) == ""
    said = {0: "", 1: "the oldest message was left out", 4: "the oldest 4 messages were left out"}
    for dropped_n, words in said.items():
        reply.receive(Started(100, 0, 1, dropped_n))
        assert opening_note(reply).endswith(words)
        assert bool(opening_note(reply)) == bool(words)
    reply.receive(Started(100, 0, 1, dropped_n=2, cut_n=3))
    assert opening_note(reply).endswith("2 messages were left out, 3 results of tools were cut short")


async def test_a_narrow_screen_has_all_counts() -> None:
    """Drawn together, without room for larger numbers; they are the legend of the marks, too."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(60, 24)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", "One two three.")
        row = chat(pilot).query_one("#counts")
        await wait_until(pilot, lambda: "plain" in str(row.render()))
        assert len(str(row.render()).rstrip()) <= row.size.width
