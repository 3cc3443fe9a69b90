"""The line mode for programs, and which options go together."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest

from localspec.base.errors import CapacityError
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld

JSON = ("chat", "--json", *FILES)


def records(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_each_message_is_answered_up_to_a_last_record(localspec: Localspec) -> None:
    """As many of them as messages, in order; a reply has the events that ``run --json`` has."""
    world = FakeWorld()
    said = b'one\n\n/list\n/unheard\n/open 99\n{"text": "/quit\\n"}\n{"tex": 1}\n"""a\nb"""\n\xff\n/again\n/quit\nno\n'
    done = localspec(*JSON, world=world, stdin=said)
    assert done.code == 0
    every = records(done.out)
    last = [record["event"] for record in every if record["event"] in ("done", "note", "error")]
    assert last == ["done", "note", "error", "error", "done", "error", "done", "error", "done"]
    assert [message.content for message in world.pairs[0].asked[1][0]][-1] == "/quit"  # type: ignore[union-attr]
    of_replies = [record["event"] for record in every if record["event"] not in ("note", "error")]
    assert [event for event, _ in groupby(of_replies)] == ["start", "round", "done"] * 4
    alone = records(localspec("run", "--json", *FILES, "one").out)
    first = every[: len(alone)]
    assert [record.keys() - {"conversation", "question", "reply"} for record in first] == [r.keys() for r in alone]
    assert first[-1]["text"] == alone[-1]["text"]


def test_ids_lead_to_what_is_kept(localspec: Localspec) -> None:
    start = records(localspec(*JSON, stdin=b"one\n").out)[0]
    again = records(localspec(*JSON, "--conversation", start["conversation"], stdin=b"/show\n").out)[-1]
    assert [message["id"] for message in again["messages"]] == [start["question"], start["reply"]]


def test_a_failed_reply_is_a_record(localspec: Localspec) -> None:
    """The program decides what becomes of it."""
    error = CapacityError("The conversation is too long.", "Begin a new one with /new.")
    world = FakeWorld(reply_error=error)
    done = localspec(*JSON, world=world, stdin=b"one\n/new\n")
    assert done.code == 0
    assert records(done.out)[0] == {
        "event": "error",
        "message": error.message,
        "hint": error.hint,
        "exit_code": error.exit_code,
    }
    assert records(done.out)[1]["event"] == "note"


@pytest.mark.parametrize(
    ("options", "terminal"),
    [
        (("--json", "--marks", "ascii"), False),
        (("--json", "--stream", "line"), False),
        (("--plain", "--continue", "--conversation", "a"), True),
        (("--stream", "line"), True),
        (("--continue", "--conversation", "a"), True),
        (("--marks", "ascii"), True),
        (("--plain", "--stream", "letter"), True),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    localspec: Localspec, options: tuple[str, ...], terminal: bool
) -> None:
    """Before anything is loaded."""
    world = FakeWorld(terminal=terminal)
    done = localspec("chat", *FILES, *options, world=world)
    assert (done.code, done.out, world.loads, world.screens) == (2, "", [], [])
    assert done.err.count("\n") == 1


def test_json_needs_no_plain(localspec: Localspec) -> None:
    """On a terminal too it is the line mode."""
    world = FakeWorld(terminal=True)
    assert records(localspec(*JSON, world=world, stdin=b"one\n").out)[-1]["event"] == "done"
    assert not world.screens


def test_the_stride_changes_no_text(localspec: Localspec) -> None:
    """Lines or words, marked or not."""
    for marks in ("never", "ascii"):
        whole = [
            localspec("chat", *FILES, "--stream", way, "--marks", marks, stdin=b"one\n/marks\n/marks\ntwo\n").out
            for way in ("word", "line")
        ]
        assert whole[0] == whole[1]
        assert ("[" in whole[0]) == (marks == "ascii")
