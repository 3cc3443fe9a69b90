"""What was rejected is seen for a moment."""

from __future__ import annotations

from localspec.tui.tokens.ghost_timer import GHOST_S, GhostTimer
from tests.tui.support import Clock


def test_it_is_over_once_when_its_time_has_passed() -> None:
    clock = Clock()
    ghost_timer = GhostTimer(clock)
    assert not ghost_timer.lasts
    assert not ghost_timer.over()
    ghost_timer.begin()
    clock.now += GHOST_S / 2
    assert ghost_timer.lasts
    assert not ghost_timer.over()
    clock.now += GHOST_S
    assert ghost_timer.lasts  # until somebody has asked, there is something to take away
    assert ghost_timer.over()
    assert not ghost_timer.lasts
    assert not ghost_timer.over()


def test_each_round_begins_the_moment_anew_and_the_end_of_a_reply_ends_it() -> None:
    clock = Clock()
    ghost_timer = GhostTimer(clock)
    ghost_timer.begin()
    clock.now += GHOST_S * 0.9
    ghost_timer.begin()
    clock.now += GHOST_S * 0.9
    assert not ghost_timer.over()
    ghost_timer.end()
    clock.now += GHOST_S
    assert not ghost_timer.lasts
    assert not ghost_timer.over()
