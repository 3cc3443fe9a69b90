"""Replies that call tools, in the line mode: the last turn, its versions, and going on from results."""

from __future__ import annotations

import json

from tests.cli.conftest import Localspec
from tests.cli.test_mcp import CallingWorld


def answers(localspec: Localspec, *said: str, options: tuple[str, ...] = ()) -> list[dict[str, object]]:
    """The records of a chat whose first reply to a message calls tools, without those of rounds and calls."""
    done = localspec(
        "chat", "--json", "--tool", "get_time", *options, stdin="\n".join(said).encode(), world=CallingWorld()
    )
    records = [json.loads(line) for line in done.out.splitlines()]
    return [record for record in records if record["event"] in ("done", "note", "error")]


def test_the_last_turn_begins_with_its_question(localspec: Localspec) -> None:
    """The calls of its reply, and what these led to, are of the turn."""
    shown = str(answers(localspec, "time?", "/show")[-1]["text"])
    assert shown.startswith("You: time?\n\nReply: I look.")
    assert shown.endswith("Reply: Well then.")
    assert "You: thanks" in str(answers(localspec, "time?", "thanks", "/show")[-1]["text"]).splitlines()[0]


def test_a_version_begins_with_the_reply_that_calls(localspec: Localspec) -> None:
    """The answers before and after /regenerate can both be shown, whatever was said after one of them."""
    *_, said, first, again, other, back = answers(
        localspec,
        "time?",
        "more?",
        "/delete",
        "/regenerate",
        "/version",
        "/version 1",
        "/version",
        "/version 2",
        "/version",
    )
    assert (said["text"], said["versions_n"]) == ("This is reply 2 of 2.", 2)
    assert (first["text"], first["content"]) == ("Reply 1 of 2: Well then.", "Well then.")
    assert again["text"] == "This is reply 1 of 2."
    assert other["content"] == "Well then."
    assert back["text"] == "This is reply 2 of 2."


def test_a_reply_goes_on_from_results(localspec: Localspec) -> None:
    """/continue replies to what there is after the limit of calls in a row has ended the chain."""
    called, went_on = answers(localspec, "time?", "/continue", options=("--max-calls", "1"))
    assert str(called["text"]).startswith("I look.")
    assert (went_on["event"], went_on["text"]) == ("done", "Well then.")
