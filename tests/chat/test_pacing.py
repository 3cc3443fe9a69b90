"""Laws of showing text at a reading pace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.pacing import FRAME_TOKENS, Pacer
from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.tally import Tally
from tests.tui.support import Clock, make_round

ROUND_SIZES = st.lists(st.integers(1, 8), min_size=1, max_size=60)
STEPS = st.lists(st.floats(0.0, 0.5), max_size=60)


def events_of(sizes: list[int]) -> list[Event]:
    rounds: list[Event] = [make_round(["x"] * size, index=i) for i, size in enumerate(sizes)]
    return [Started(3, 0, 1), *rounds, Finished(FinishReason.STOP, "", Tally().timings())]


def tokens_n(events: list[Event]) -> int:
    return sum(len(event.tokens) for event in events if isinstance(event, Round))


@given(ROUND_SIZES, STEPS)
def test_never_faster_than_the_pace(sizes: list[int], steps: list[float]) -> None:
    """Tokens shown stay within rate times time, plus one frame's worth and the rest of a round."""
    clock = Clock()
    pacer = Pacer(60, clock)
    for event in events_of(sizes):
        pacer.push(event)
    shown = tokens_n(pacer.due())
    for step in steps:
        clock.now += step
        shown += tokens_n(pacer.due())
        assert shown <= 60 * (clock.now - 1000.0) + 60 / 8 + max(sizes)


@given(ROUND_SIZES, st.lists(st.booleans(), max_size=10))
def test_everything_arrives_in_order_whatever_the_pace(sizes: list[int], switches: list[bool]) -> None:
    """Nothing is lost or reordered, also when the pace is switched in between."""
    clock = Clock()
    pacer = Pacer(60, clock)
    events = events_of(sizes)
    for event in events:
        pacer.push(event)
    got: list[Event] = []
    for full_speed in switches:
        pacer.full_speed = full_speed
        got += pacer.due()
        clock.now += 0.08
    while pacer.waiting:
        clock.now += 0.08
        got += pacer.due()
    assert got == events


def test_a_slow_engine_is_shown_at_once() -> None:
    """The pace only ever limits: what arrives below it waits for nothing."""
    clock = Clock()
    pacer = Pacer(60, clock)
    for index in range(20):
        clock.now += 0.2
        pacer.push(make_round(["a", "b", "c", "d"], index=index))
        assert tokens_n(pacer.due()) == 4


def test_the_pace_is_kept_up() -> None:
    """Ten seconds of a fast engine show about 600 tokens at 60 a second."""
    clock = Clock()
    pacer = Pacer(60, clock)
    for event in events_of([4] * 400):
        pacer.push(event)
    shown = tokens_n(pacer.due())
    for _ in range(120):
        clock.now += 1 / 12
        shown += tokens_n(pacer.due())
    assert 570 <= shown <= 620


def test_without_a_limit_a_frame_gets_all_it_can_draw() -> None:
    """No pace, or full speed: everything at once, but never more than one frame's worth."""
    for pacer in (Pacer(None, Clock()), Pacer(60, Clock())):
        pacer.full_speed = True
        for event in events_of([4] * 300):
            pacer.push(event)
        assert tokens_n(pacer.due()) == FRAME_TOKENS
        assert pacer.waiting


def test_dropping_forgets_what_was_held() -> None:
    """A stopped reply has nothing more to show."""
    pacer = Pacer(60, Clock())
    for event in events_of([4] * 10):
        pacer.push(event)
    pacer.due()
    pacer.drop()
    assert not pacer.waiting
    assert pacer.due() == []


def test_the_limit_is_lifted_and_put_back_and_says_so() -> None:
    """Without one there is nothing to lift."""
    pacer = Pacer(60, Clock())
    assert "full speed" in pacer.toggle()
    assert not pacer.limited
    assert "60 tokens/s" in pacer.toggle()
    assert pacer.limited
    unlimited = Pacer(None, Clock())
    assert unlimited.toggle() == "This pair is shown at full speed anyway."
    assert not unlimited.full_speed
