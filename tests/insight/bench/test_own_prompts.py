"""Prompts from the history: what was asked counts, not what the replies were made with."""

from __future__ import annotations

from contextlib import closing

from localspec.insight.bench.own_prompts import drawn_prompts
from localspec.store import Store
from tests.store.support import converse


def test_questions_are_drawn_without_reading_how_replies_came_about() -> None:
    """That takes most of the time; nor is it in the way where it cannot be read."""
    with closing(Store.in_memory()) as store:
        converse(store, ("Hello?", "Yes."), ("And then?", "No."))
        store._database.run([("UPDATE reply SET about = 'nothing', rounds = ?", (b"\x09abc",))])
        drawn = drawn_prompts(store, 9, 1)
    assert sorted(prompt.messages[-1].content for prompt in drawn) == ["And then?", "Hello?"]
