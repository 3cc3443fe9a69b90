"""How often is drawn, for what drawing costs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from localspec.chat.frame_rate import FRAME_S, LEEWAY_S, SHARE, FrameRate

FRAMES_N = 1000
FREE_S = SHARE * FRAME_S
"""What a frame may take when all are drawn."""


class Machine:
    """On which a frame takes so much processor time."""

    def __init__(self, frame_cost_s: float) -> None:
        self.now_s = 5.0
        self.spent_s = 3.0
        self.drawn: list[bool] = []
        self.rate = FrameRate(lambda: self.now_s, lambda: self.spent_s)
        for _ in range(FRAMES_N):
            self.now_s += FRAME_S
            self.drawn.append(self.rate.due())
            self.spent_s += frame_cost_s if self.drawn[-1] else 0


@pytest.mark.parametrize("frame_cost_s", [0.0, 0.4 * FREE_S, FREE_S])
def test_cheap_frames_are_all_drawn(frame_cost_s: float) -> None:
    assert all(Machine(frame_cost_s).drawn)


@pytest.mark.parametrize("frame_cost_s", [1.04 * FREE_S, 1.2 * FREE_S, 1.6 * FREE_S, 2 * FREE_S])
def test_dear_ones_keep_to_their_share(frame_cost_s: float) -> None:
    machine = Machine(frame_cost_s)
    spent_s = sum(machine.drawn) * frame_cost_s
    most_s = SHARE * FRAMES_N * FRAME_S + LEEWAY_S + frame_cost_s
    assert round(spent_s, 9) <= round(most_s, 9)
    assert spent_s > 0.95 * SHARE * FRAMES_N * FRAME_S


@pytest.mark.parametrize("frame_cost_s", [1.6 * FREE_S, 8 * FREE_S, 1.0])
def test_no_two_in_a_row_are_left_out(frame_cost_s: float) -> None:
    """Text that stands still for longer looks stuck."""
    drawn = Machine(frame_cost_s).drawn
    assert not all(drawn)
    assert all(one or other for one, other in pairwise(drawn))


def test_what_was_spent_before_does_not_count() -> None:
    machine = Machine(1.0)
    machine.rate.begin()
    assert machine.rate.due()
    assert machine.rate.due()
