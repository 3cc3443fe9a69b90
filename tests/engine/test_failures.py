"""Drafters that fail are data in their rounds; words are made of them where they are read, and come back from there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.events import DrafterFailure, Fallback
from localspec.engine.wire import event_from_dict, event_to_dict, split_why, why_text
from localspec.insight.metrics.meters import Meters
from localspec.runtime.figures import failure_note
from tests.insight.metrics.test_metrics import samples, total
from tests.store.support import round_of

PLAIN = replace(round_of(0, ["word "], None), depth=0, why="")
BROKEN = DrafterFailure("draft", "It broke.")
FAILURES = st.lists(
    st.builds(
        DrafterFailure,
        st.sampled_from(["draft", "suffix", "two-words"]),
        st.text(st.sampled_from("abc;., -()\n"), max_size=20),
    ),
    max_size=3,
    unique_by=lambda failure: failure.drafter,
).map(tuple)
REASONS = st.text(st.sampled_from("abc: %,"), max_size=20)


@given(REASONS, FAILURES)
def test_failures_survive_the_wire(why: str, failures: tuple[DrafterFailure, ...]) -> None:
    """Whatever the policy says beside them; ``why`` has them in words too, for scripts that read it."""
    round_ = replace(PLAIN, why=why, failures=failures)
    data = json.loads(json.dumps(event_to_dict(round_)))
    assert event_from_dict(data) == round_
    assert all(failure.message in data["why"] for failure in failures)


@given(REASONS, FAILURES)
def test_failures_stored_in_words_are_read(why: str, failures: tuple[DrafterFailure, ...]) -> None:
    """Before they were data they stood in ``why`` alone: in the database, and in exported conversations."""
    round_ = replace(PLAIN, why=why, failures=failures)
    data = event_to_dict(round_)
    data.pop("failures", None)
    assert event_from_dict(data) == round_
    assert split_why(why_text(round_)) == (why, failures)


def test_a_round_without_failures_has_no_field_for_them() -> None:
    """Nearly every round is one."""
    assert "failures" not in event_to_dict(PLAIN)


@pytest.mark.parametrize(
    ("depth", "why", "failures", "fallback"),
    [
        (3, "3 proposals, all accepted with 60%", (), None),
        (0, "", (), None),
        (0, "no proposals: a query of draft saves 0.10 tokens' time and costs 0.40", (), Fallback.NO_GAIN),
        (0, "no proposals: no drafter has any", (BROKEN,), Fallback.FAILED),
        (0, "", (BROKEN,), Fallback.FAILED),
        (2, "2 proposals", (BROKEN,), None),
    ],
)
def test_why_nobody_proposed(
    depth: int, why: str, failures: tuple[DrafterFailure, ...], fallback: Fallback | None
) -> None:
    """A drafter that failed is no reason as long as another one proposes."""
    assert replace(PLAIN, depth=depth, why=why, failures=failures).fallback is fallback


def test_failures_are_told_in_words() -> None:
    """Nothing where nothing failed."""
    assert failure_note(PLAIN) == ""
    broken = replace(PLAIN, failures=(DrafterFailure("draft", "llama.cpp failed (code -3)."),))
    assert failure_note(broken) == "the draft failed and is left out of this reply: llama.cpp failed (code -3)"


def test_metrics_count_a_failure_once_a_reply() -> None:
    """And every round that went without proposals for it, apart from those that would not have paid."""
    meters = Meters()
    broken = replace(PLAIN, failures=(BROKEN,))
    for _ in range(2):
        meter = meters.begin("a")
        for round_ in (round_of(0, ["a ", "b "]), replace(PLAIN, why="no proposals"), broken, broken):
            meter.receive(round_)
    page = samples(meters.page())
    assert total(page, "localspec:drafter_failures_total", drafter="draft") == 2
    assert total(page, "localspec:fallback_rounds_total", reason="failed") == 4
    assert total(page, "localspec:fallback_rounds_total", reason="no_gain") == 2
