"""What was rejected is seen for a moment."""

from __future__ import annotations

from localspec.tui.tokens.glimpse import GLIMPSE_S, Glimpse
from tests.tui.support import Clock


def test_it_is_over_once_when_its_time_has_passed() -> None:
    clock = Clock()
    glimpse = Glimpse(clock)
    assert not glimpse.lasts
    assert not glimpse.over()
    glimpse.begin()
    clock.now += GLIMPSE_S / 2
    assert glimpse.lasts
    assert not glimpse.over()
    clock.now += GLIMPSE_S
    assert glimpse.lasts  # until somebody has asked, there is something to take away
    assert glimpse.over()
    assert not glimpse.lasts
    assert not glimpse.over()


def test_each_round_begins_the_moment_anew_and_the_end_of_a_reply_ends_it() -> None:
    clock = Clock()
    glimpse = Glimpse(clock)
    glimpse.begin()
    clock.now += GLIMPSE_S * 0.9
    glimpse.begin()
    clock.now += GLIMPSE_S * 0.9
    assert not glimpse.over()
    glimpse.end()
    clock.now += GLIMPSE_S
    assert not glimpse.lasts
    assert not glimpse.over()
