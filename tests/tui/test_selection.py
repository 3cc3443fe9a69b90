"""At most one turn is chosen, and it shows."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from localspec.tui.conversation.selection import Selection


@dataclass(eq=False)
class Turn:
    chosen: bool = False

    def choose(self, chosen: bool) -> None:
        self.chosen = chosen


@given(st.lists(st.sampled_from([-1, 1, 0]), max_size=12), st.integers(0, 4))
def test_whatever_is_done_the_chosen_turn_alone_shows_it(steps: list[int], turns_n: int) -> None:
    """0 stands for choosing none."""
    turns = [Turn() for _ in range(turns_n)]
    selection: Selection[Turn] = Selection()
    for step in steps:
        if step:
            assert selection.step(turns, step) is selection.view
        else:
            selection.clear()
        assert [turn for turn in turns if turn.chosen] == ([selection.view] if selection.view else [])


def test_steps_begin_at_the_newest_stay_at_the_first_and_leave_behind_the_last() -> None:
    first, last = turns = [Turn(), Turn()]
    selection: Selection[Turn] = Selection()
    assert [selection.step(turns, -1) for _ in range(3)] == [last, first, first]
    assert selection.step(turns, 1) is last
    assert selection.step(turns, 1) is None
    assert selection.step(turns, 1) is None


def test_one_that_is_gone_counts_as_none() -> None:
    turns = [Turn(), Turn()]
    selection: Selection[Turn] = Selection()
    selection.choose(Turn())
    assert selection.step(turns, -1) is turns[-1]
    selection.forget()
    assert selection.view is None
