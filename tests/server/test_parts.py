"""Reasoning, answer and calls of a reply, however its text is cut into rounds."""

from __future__ import annotations

from itertools import groupby

import pytest

from localspec.engine.events import Finished, Round, ToolCall
from localspec.server.parts import Part, PartKind, ReplySplitter
from tests.server.fakes import said

CALL = ToolCall("call00001", "get_time", '{"zone": "UTC"}')
HERMES = '<tool_call>\n{"name": "get_time", "arguments": {"zone": "UTC"}}\n</tool_call>'
LLAMA = '{"name": "get_time", "parameters": {"zone": "UTC"}}'
GPT_OSS = '<|channel|>commentary to=functions.get_time<|message|>{"zone": "UTC"}<|call|>'


def split(text: str, piece_n: int, calls: tuple[ToolCall, ...] = (), *, tools: bool = False) -> list[tuple[str, str]]:
    """The parts, those of one kind joined; the text comes ``piece_n`` characters a token."""
    parts = ReplySplitter(tools=tools)
    found: list[Part] = []
    pieces = [text[at : at + piece_n] for at in range(0, len(text), piece_n)]
    for event in said(*pieces, calls=calls):
        if isinstance(event, Round):
            found += parts.receive(event)
        elif isinstance(event, Finished):
            found += parts.end(event)
    assert all(part.text for part in found)
    return [(str(kind), "".join(part.text for part in same)) for kind, same in groupby(found, lambda part: part.kind)]


@pytest.mark.parametrize("piece_n", [1, 2, 3, 5, 8, 1000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes.", [("answer", "Yes.")]),
        ("<b>Yes</b> <think>no</think>", [("answer", "<b>Yes</b> <think>no</think>")]),
        ("<think>\nHm, </no\n</think>\n\nYes.", [("reasoning", "Hm, </no"), ("answer", "Yes.")]),
        ("[THINK]Hm.[/THINK]Yes.", [("reasoning", "Hm."), ("answer", "Yes.")]),
        (" <seed:think>Hm. ", [("reasoning", "Hm.")]),
        ("<think>\n\n</think>\n\nYes.", [("answer", "Yes.")]),
        ("<thi", [("answer", "<thi")]),
        ("", []),
    ],
)
def test_reasoning_is_told_apart(text: str, expected: list[tuple[str, str]], piece_n: int) -> None:
    assert split(text, piece_n) == expected


@pytest.mark.parametrize("piece_n", [1, 2, 3, 5, 8, 1000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HERMES, []),
        ("<think>Hm.</think>\nI look.\n" + HERMES, [("reasoning", "Hm."), ("answer", "I look.")]),
        (LLAMA, []),
        (GPT_OSS, []),
        ("```\n<tool_call>\n```\n" + HERMES, [("answer", "```\n<tool_call>\n```")]),
    ],
)
def test_the_text_of_calls_is_left_out(text: str, expected: list[tuple[str, str]], piece_n: int) -> None:
    assert split(text, piece_n, (CALL,), tools=True) == expected


@pytest.mark.parametrize("text", [HERMES, LLAMA, "a < b [TOOL", "  {", "x <tool_call> y"])
def test_what_is_no_call_stays(text: str) -> None:
    assert split(text, 3, tools=True) == [(str(PartKind.ANSWER), text)]
    assert split(text, 3) == [(str(PartKind.ANSWER), text)]
