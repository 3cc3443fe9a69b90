"""What a round says of why nobody proposed is read as it was written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.fallback import Fallback, failure_note, failures_of, fallback_of, why_of
from localspec.insight.metrics.meters import Meters
from tests.insight.metrics.test_metrics import samples, total
from tests.store.support import round_of

PLAIN = replace(round_of(0, ["word "], None), depth=0)
NAMES = st.sampled_from(["draft", "suffix", "two-words"])
MESSAGES = st.text(st.sampled_from("abc;., -()\n"), max_size=20)


@given(st.text(st.sampled_from("abc: %,"), max_size=20), st.dictionaries(NAMES, MESSAGES))
def test_failures_are_read_as_they_were_written(explanation: str, failures: dict[str, str]) -> None:
    """Whatever the policy says before them."""
    assert failures_of(replace(PLAIN, why=why_of(explanation, failures))) == failures


@pytest.mark.parametrize(
    ("depth", "why", "fallback"),
    [
        (3, "3 proposals, all accepted with 60%", None),
        (0, "", None),
        (0, "no proposals: a look of draft saves 0.10 tokens' time and costs 0.40", Fallback.NO_GAIN),
        (0, why_of("no proposals: nobody has any", {"draft": "It broke."}), Fallback.FAILED),
        (2, why_of("2 proposals", {"draft": "It broke."}), None),
    ],
)
def test_why_nobody_proposed(depth: int, why: str, fallback: Fallback | None) -> None:
    """A drafter that failed is no reason as long as another one proposes."""
    assert fallback_of(replace(PLAIN, depth=depth, why=why)) is fallback


def test_failures_are_told_in_words() -> None:
    """Nothing where nothing failed."""
    assert failure_note(PLAIN) == ""
    broken = replace(PLAIN, why=why_of("", {"draft": "llama.cpp failed (code -3)."}))
    assert failure_note(broken) == "the draft failed and is left out of this reply: llama.cpp failed (code -3)"


def test_metrics_count_a_failure_once_a_reply() -> None:
    """And every round that went without proposals for it, apart from those that would not have paid."""
    meters = Meters()
    broken = replace(PLAIN, why=why_of("", {"draft": "It broke."}))
    for _ in range(2):
        meter = meters.begin("a")
        for round_ in (round_of(0, ["a ", "b "]), replace(PLAIN, why="no proposals"), broken, broken):
            meter.receive(round_)
    page = samples(meters.page())
    assert total(page, "localspec:drafter_failures_total", drafter="draft") == 2
    assert total(page, "localspec:fallback_rounds_total", reason="failed") == 4
    assert total(page, "localspec:fallback_rounds_total", reason="no_gain") == 2
