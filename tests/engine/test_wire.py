"""The JSON that scripts read: what goes out comes back, under the promised names."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.events import (
    DrafterFailure,
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Proposal,
    Round,
    Started,
    Token,
)
from localspec.engine.tally import Tally
from localspec.engine.wire import event_from_dict, event_to_dict, split_why

# Times that survive the way to milliseconds and back without rounding.
SECONDS = st.sampled_from([0.0, 0.5, 0.125, 2.0])
IDS = st.integers(0, 2**18)
TOKENS = st.builds(Token, IDS, st.text(max_size=5), st.sampled_from(Origin))
PROPOSALS = st.builds(Proposal, IDS, st.text(max_size=5))
ROUNDS = st.builds(
    Round,
    index=IDS,
    drafter=st.sampled_from([None, "draft"]),
    depth=st.integers(0, 16),
    tokens=st.lists(TOKENS, max_size=4).map(tuple),
    rejected=st.lists(PROPOSALS, max_size=3).map(tuple),
    ignored=st.lists(PROPOSALS, max_size=3).map(tuple),
    draft_s=SECONDS,
    verify_s=SECONDS,
    total_s=SECONDS,
    price=st.none() | SECONDS,
    unscored_n=st.integers(0, 15),
    failures=st.lists(st.builds(DrafterFailure, st.text(max_size=5), st.text(max_size=5)), max_size=2).map(tuple),
)


def timings_of(rounds: list[Round]) -> Finished:
    tally = Tally(plain_per_second=10.0)
    for round_ in rounds:
        tally.add(round_)
    return Finished(FinishReason.STOP, "text", tally.timings(), stop="end" if rounds else None)


EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Started, IDS, IDS, IDS, IDS, st.booleans()),
    st.builds(PromptProgress, IDS, IDS),
    ROUNDS,
    st.lists(ROUNDS, max_size=3).map(timings_of),
)


@given(EVENTS)
def test_an_event_survives_the_wire(event: Event) -> None:
    """Through JSON text and back it is the same event."""
    assert event_from_dict(json.loads(json.dumps(event_to_dict(event)))) == event


def test_a_start_without_messages_left_out_is_read() -> None:
    """As versions before that field wrote it."""
    data = event_to_dict(Started(3, 0, 1))
    del data["dropped_n"]
    assert event_from_dict(data) == Started(3, 0, 1, 0)


def test_failures_that_were_words_are_read() -> None:
    """Of rounds that were stored before failures were data."""
    text = "slow; draft is left out, it failed: It broke.; suffix is left out, it failed: It is full."
    why, failures = split_why(text)
    assert [failure.drafter for failure in failures] == ["draft", "suffix"]
    assert why == "slow"


def test_the_promised_names() -> None:
    """Scripts outside the project rely on these fields; more may come, none may go."""
    round_ = Round(0, "draft", 3, (Token(1, "a", Origin.ACCEPTED, "draft"),), (Proposal(2, "b"),), (), 0.1, 0.2, 0.3)
    data = event_to_dict(round_)
    assert {"event", "index", "drafter", "depth", "tokens", "rejected", "draft_ms", "verify_ms"} <= data.keys()
    assert data["tokens"] == [{"id": 1, "text": "a", "origin": "accepted", "drafter": "draft"}]
    assert data["rejected"] == [{"id": 2, "text": "b", "drafter": None}]
    done = event_to_dict(timings_of([round_]))
    assert done["event"] == "done"
    assert {"reason", "text", "timings"} <= done.keys()
    assert {
        "prompt_n",
        "prompt_ms",
        "cache_n",
        "predicted_n",
        "predicted_ms",
        "predicted_per_second",
        "draft_n",
        "draft_n_accepted",
        "draft_acceptance_rate",
        "mean_acceptance_length",
        "accepted_per_pos",
        "speedup_vs_plain",
    } <= done["timings"].keys()
    assert event_to_dict(Started(3, 0, 1))["event"] == "start"


def test_origins_and_reasons_read_as_the_glossary_says() -> None:
    """The words are the same in code, screen and JSON."""
    assert [str(origin) for origin in Origin] == ["accepted", "corrected", "bonus", "plain"]
    assert [str(reason) for reason in FinishReason] == ["stop", "length", "cancelled"]
