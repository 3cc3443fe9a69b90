"""``localspec run --explain``: a line a round, after the reply and beside it."""

from __future__ import annotations

import json

from localspec.cli.output import explained
from localspec.engine.events import Origin, Proposal, Round, Token
from tests.cli.conftest import Localspec
from tests.cli.support import FILES


def test_a_round_is_told_in_a_line() -> None:
    tokens = (Token(5, "a", Origin.ACCEPTED, "draft"), Token(6, "b", Origin.CORRECTED))
    why = "3 proposals, all accepted with 40%: the next has 20%, too little for the pass"
    round_ = Round(7, "draft", 3, tokens, (Proposal(8, "c"), Proposal(9, "d")), (), 0.002, 0.03, 0.0335, why=why)
    assert explained(round_) == f"round 7: 1/3 of draft, 2 committed in 33.5 ms, 2.0 of it drafting: {why}"


def test_a_plain_round_without_a_reason_is_told_as_well() -> None:
    round_ = Round(0, None, 0, (Token(5, "a", Origin.PLAIN),), (), (), 0.0, 0.02, 0.02)
    assert explained(round_) == "round 0: plain, 1 committed in 20.0 ms, 0.0 of it drafting"


def test_every_round_is_told_beside_the_same_reply(localspec: Localspec) -> None:
    events = [json.loads(line) for line in localspec("run", *FILES, "--json", "--seed", "1", "hello").out.splitlines()]
    done = localspec("run", *FILES, "--explain", "--seed", "1", "hello")
    told = [line for line in done.err.splitlines() if line.startswith("round ")]
    assert len(told) == sum(event["event"] == "round" for event in events) > 1
    assert done.out.rstrip("\n") == events[-1]["text"].rstrip("\n")
    assert not localspec("run", *FILES, "--seed", "1", "hello").err.startswith("round ")
