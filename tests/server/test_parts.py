"""Reasoning, answer and calls of a reply, however its text is cut into rounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest

from localspec.engine.events import Finished, Round, Started, ToolCall
from localspec.server.parts import Part, ReplySplitter
from tests.server.fakes import said

CALL = ToolCall("call00001", "get_time", '{"zone": "UTC"}')
WRITTEN = '<tool_call>\n{"name": "get_time", "arguments": {"zone": "UTC"}}\n</tool_call>'


def split(text: str, piece_n: int, said_n: int | None = None, *, reasons: bool = False) -> list[tuple[str, str]]:
    """The parts, those of one kind joined; the text comes ``piece_n`` characters a token, held back from ``said_n``."""
    parts = ReplySplitter()
    found: list[Part] = []
    known_n = 0
    for event in said(*(text[at : at + piece_n] for at in range(0, len(text), piece_n))):
        if isinstance(event, Started):
            parts.begin(replace(event, reasons=reasons))
        elif isinstance(event, Round):
            known_n += sum(len(token.text) for token in event.tokens)
            held_n = 0 if said_n is None else max(0, known_n - said_n)
            found += parts.receive(replace(event, held_n=held_n))
        elif isinstance(event, Finished):
            calls = () if said_n is None else (CALL,)
            found += parts.end(replace(event, calls=calls, said_n=said_n))
    assert all(part.text for part in found)
    return [(str(kind), "".join(part.text for part in same)) for kind, same in groupby(found, lambda part: part.kind)]


@pytest.mark.parametrize("piece_n", [1, 2, 3, 5, 8, 1000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
            [("reasoning", "Hm."), ("answer", "Yes.")],
        ),
        ("<|channel|>final<|message|>Yes.", [("answer", "Yes.")]),
        (
            " to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Yes.",
            [("reasoning", "Hm."), ("answer", "Yes.")],
        ),
        (" to=user<|message|>Yes.", [("answer", "Yes.")]),
        ("to=", [("answer", "to=")]),
        ("<|think|>Hm.<|end|><|begin|>assistant<|content|>Yes.", [("reasoning", "Hm."), ("answer", "Yes.")]),
        ("<|channel>thought\nHm.\n<channel|>Yes.", [("reasoning", "Hm."), ("answer", "Yes.")]),
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
        ("", []),
        ("I look.", [("answer", "I look.")]),
        ("<think>Hm.</think>\nI look.", [("reasoning", "Hm."), ("answer", "I look.")]),
        ("<think>Hm.</think>", [("reasoning", "Hm.")]),
    ],
)
def test_the_text_of_calls_is_left_out(text: str, expected: list[tuple[str, str]], piece_n: int) -> None:
    assert split(f"{text}\n{WRITTEN}", piece_n, len(text)) == expected


@pytest.mark.parametrize("piece_n", [1, 2, 3, 5, 8, 1000])
def test_the_prompt_may_have_begun_the_reasoning(piece_n: int) -> None:
    text = "\nHm. <think>\n</think>\n\nYes."
    assert split(text, piece_n, reasons=True) == [("reasoning", "Hm. <think>"), ("answer", "Yes.")]


@pytest.mark.parametrize("piece_n", [1, 1000])
def test_the_first_tag_that_may_end_it_does(piece_n: int) -> None:
    """The prompt has begun the reasoning, and does not say with which tag."""
    text = "Hm.[/THINK]Is </think> a tag?"
    assert split(text, piece_n, reasons=True) == [("reasoning", "Hm."), ("answer", "Is </think> a tag?")]


def test_text_that_was_no_call_is_told_at_the_end() -> None:
    parts = ReplySplitter()
    _, round_, finished = said("Yes <tool_call>")
    assert isinstance(round_, Round)
    assert isinstance(finished, Finished)
    assert [part.text for part in parts.receive(replace(round_, held_n=12))] == ["Yes"]
    assert [part.text for part in parts.end(finished)] == [" <tool_call>"]
