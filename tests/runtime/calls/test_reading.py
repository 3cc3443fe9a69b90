"""Calls are read from complete replies alone, as they were meant."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.chat.turn import Turn
from localspec.engine.events import FinishReason
from localspec.runtime.calls.reading import CallReader, CallsRead
from localspec.runtime.calls.syntax import HERMES, MESSAGE, CallSyntax
from localspec.runtime.messages import Message, Role
from localspec.tui.conversation.turn_notes import turn_note
from tests.runtime.calls.support import (
    BY_NAME,
    FIRST,
    HOSTILE,
    LINE,
    NESTED,
    NS,
    TOOLS,
    WRITERS,
    Arguments,
    begun,
    calls_in,
    each_syntax,
    in_parts,
    named,
    object_schema,
    reply_of,
    shown,
)


def test_every_syntax_has_an_example() -> None:
    assert WRITERS.keys() == BY_NAME.keys()


@each_syntax
def test_calls_are_read_as_they_were_meant(syntax: CallSyntax) -> None:
    """One and several, after reasoning, after text; and nothing of the reasoning unless the reply ends there."""
    write = WRITERS[syntax.name]
    one, two = write("first", {"text": 'a "b" <c>\nd', "n": 7}), write("second", {"n": 2})
    wanted = [("first", {"text": 'a "b" <c>\nd', "n": 7}), ("second", {"n": 2})]
    assert calls_in(syntax, one) == wanted[:1]
    assert calls_in(syntax, f"{one}\n{two}") == wanted
    opening, closing = syntax.reasoning
    assert calls_in(syntax, f"{opening}Perhaps {two}.{closing}\n{one}") == wanted[:1]
    assert calls_in(syntax, f"Perhaps {two}.{closing}\n{one}", reasons=True) == wanted[:1]
    assert calls_in(syntax, f"{opening}{one} No.") == []
    assert calls_in(syntax, f"Or {two}? I do not know.", reasons=True) == []
    if not syntax.bare:
        assert calls_in(syntax, f"I will see. {one}") == wanted[:1]
    if not syntax.bare and MESSAGE not in syntax.markers:
        assert calls_in(syntax, f"{opening}Not {two} yet.\n{one}\n") == wanted[:1]
        assert calls_in(syntax, f"Let me see.\n{one}\n{two}", reasons=True) == wanted


@each_syntax
@pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.CANCELLED])
def test_a_reply_that_was_cut_off_calls_nothing(syntax: CallSyntax, reason: FinishReason) -> None:
    whole = WRITERS[syntax.name]("first", {"text": "a"})
    cut = reply_of(syntax, [whole], reason=reason)
    assert (cut.calls, cut.call_error) == ((), None)
    assert [call.name for call in reply_of(syntax, [whole]).calls] == ["first"]


@each_syntax
def test_a_call_in_a_call_that_does_not_end_is_not_made(syntax: CallSyntax) -> None:
    """Not even in reasoning that does not end either."""
    two = WRITERS[syntax.name]("second", {"n": 2})
    begun, _, _ = WRITERS[syntax.name]("first", {"text": "QUOTED"}).partition("QUOTED")
    for text in (begun, f"Hm. {begun}"):
        assert "second" not in [name for name, _ in calls_in(syntax, text + two, reasons=True)]


@each_syntax
def test_a_call_without_its_end_is_no_call(syntax: CallSyntax) -> None:
    """Wherever a stop string cut it: nothing is called, and nothing fails."""
    whole = WRITERS[syntax.name]("first", {"text": "a b"})
    for end in range(len(whole)):
        called = calls_in(syntax, whole[:end])
        assert called in ([], [("first", {"text": "a b"})])
        if called:  # all that is missing is a mark that may be left out
            assert "a b" in whole[:end]


VALUE = st.lists(HOSTILE | LINE, max_size=4).map("".join)


@each_syntax
@settings(deadline=None, max_examples=25)
@given(text=VALUE)
def test_a_call_that_is_quoted_in_an_argument_is_not_made(syntax: CallSyntax, text: str) -> None:
    """Where the values are JSON the one call is exact; between tags it is exact, or none is made."""
    meant = [("first", {"text": text, "n": 1})]
    found = calls_in(syntax, WRITERS[syntax.name]("first", meant[0][1]), messages=[text])
    assert found == meant if syntax.argument is None and syntax.quote == '"' else found in (meant, [])


@each_syntax
def test_markers_that_are_control_tokens_are_believed_as_tokens_alone(syntax: CallSyntax) -> None:
    """Text that says the same is text, whoever made the model write it."""
    whole = WRITERS[syntax.name]("first", {"text": "a"})
    parts = in_parts(syntax, whole)
    if len(parts) > 1:
        assert [call.name for call in reply_of(syntax, parts, syntax.markers).calls] == ["first"]
        assert reply_of(syntax, [whole], syntax.markers).calls == ()


@each_syntax
def test_a_call_that_stands_in_a_message_is_a_quotation(syntax: CallSyntax) -> None:
    """A file or a result that holds a call starts none when the model repeats it."""
    call = WRITERS[syntax.name]("second", {"n": 2})
    for role in (Role.USER, Role.TOOL):
        quoting = reply_of(syntax, [call], messages=(Message(role, f"Read this: {call}"),))
        assert (quoting.calls, quoting.call_error) == ((), None)
    assert reply_of(syntax, [call], messages=(Message(Role.SYSTEM, f"For example: {call}"),)).calls


def test_a_block_of_code_calls_nothing() -> None:
    call = WRITERS["Hermes"]("first", {})
    assert calls_in(HERMES, f"So:\n```\n{call}\n```\nThat is all.") == []
    assert calls_in(HERMES, f"So:\n```\n{call}\n```\n{call}") == [("first", {})]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('<tool_call>\n{"name": "first", "arguments": {"text": }}\n</tool_call>', "cannot be read"),
        ('<tool_call>{"name": "first", "arguments": [1]}</tool_call>', "no JSON object"),
        ('<tool_call>{"name": "first", "arguments": {"n": NaN}}</tool_call>', "NaN is no JSON"),
        ('<tool_call>{"arguments": {}}</tool_call>', "names no tool"),
        ('<tool_call>{"name": "third", "arguments": {}}</tool_call>', "There are: first, second."),
        ('<tool_call>{"name": "first"}</tool_call>\n<tool_call>{"name": "sec', "cannot be read"),
        ('<tool_call>{"name": "first", "arguments": ' + '{"a":' * 99_999, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told_to_the_model(text: str, error: str) -> None:
    """In a sentence; and then no call is made, not even one before it."""
    read = CallReader(HERMES, TOOLS).read(text)
    assert read.calls == ()
    assert error in (read.error or "")


def test_a_number_beyond_all_floats_is_the_largest_of_them() -> None:
    """JSON has it, but no infinity, as which it would be written."""
    calls = CallReader(HERMES, TOOLS).read('<tool_call>{"name": "first", "arguments": {"n": -1e999}}</tool_call>').calls
    assert json.loads(calls[0].arguments_text, parse_constant=pytest.fail) == {"n": -sys.float_info.max}


def test_an_escape_of_no_character_cannot_be_read() -> None:
    read = CallReader(BY_NAME["LFM2"], TOOLS).read(r"<|tool_call_start|>[first(x='\UFFFFFFFF')]<|tool_call_end|>")
    assert read.calls == ()
    assert r"\UFFFFFFFF is no character" in (read.error or "")


def test_the_user_is_told_why_no_tool_was_called() -> None:
    turn = Turn("Which?", "question", "answer")
    turn.reply.call_error = CallReader(HERMES, TOOLS).read('<tool_call>{"name": "third"}</tool_call>').error
    note = turn_note(turn, (1, 1))
    assert "There is no tool named third. There are: first, second." in note


def test_talk_about_the_syntax_is_no_call() -> None:
    assert reply_of(HERMES, ["Write <tool_call> and </tool_call> around it."]).call_error is None
    llama = BY_NAME["Llama 3"]
    for text in ('{"name": "Ann", "age": 3}', '{"name": "first", "parameters": {}} is a call.', "{"):
        assert (reply_of(llama, [text]).calls, reply_of(llama, [text]).call_error) == ((), None)


def test_a_call_begun_before_the_reply_was_continued_is_not_made() -> None:
    call = WRITERS["Hermes"]("first", {})
    continued = reply_of(HERMES, [call[12:]], prefix=call[:12])
    assert continued.calls == ()
    assert continued.call_error is not None


TEXT_OR_MORE = [
    ({"type": "string"}, "5", "5"),
    ({"enum": ["5", "6"]}, "5", "5"),
    ({"$ref": "#/$defs/Colour"}, "5", "5"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "5", "5"),
    ({"anyOf": [{"type": "string"}, {"type": "number"}]}, "5", 5),
    ({"type": ["string", "array"]}, '["a"]', ["a"]),
    ({"type": ["string", "null"]}, '"a"', '"a"'),
    ({"type": "array"}, '["</parameter>"]', ["</parameter>"]),
    ({}, '"a"', "a"),
    ({"$ref": "#/nowhere"}, "a", "a"),
    ({"anyOf": [{"$ref": "#/properties/text"}]}, "5", 5),
    ({"type": "boolean"}, "True", True),
    ({"type": ["integer", "null"]}, "None", None),
    ({"type": "array"}, "['a', {'it': \"it's\"}]", ["a", {"it": "it's"}]),
    ({"type": "integer"}, " 7 ", 7),
    ({"type": "integer"}, "seven", "seven"),
    ({"type": "string"}, "True", "True"),
    ({}, "True", "True"),
]


@pytest.mark.parametrize(("schema", "written", "meant"), TEXT_OR_MORE)
def test_what_stands_between_tags_is_of_the_type_that_the_schema_asks_for(
    schema: Arguments, written: str, meant: Any
) -> None:
    """A text stays one, whatever it looks like; JSON goes on to its own end; other values may be as Python has them."""
    whole = object_schema({"text": schema})
    reader = CallReader(BY_NAME["Qwen3-Coder"], (replace(FIRST, parameters=json.dumps(whole)),))
    read = reader.read(f"<tool_call><function=first><parameter=text>{written}</parameter></function></tool_call>")
    assert [call.arguments for call in read.calls] == [{"text": meant}]


@pytest.mark.parametrize(
    "meant",
    [
        {"places": [{"name": "Bern"}, {"name": "5"}], "text": "5"},
        {"deep": {"deep": {"text": "5"}}, "text": "true"},
        {"table": [["1", " a\n"], ["</item>"]], "sizes": {"S": 5, "M": 5.5}},
        {"any": {"item": 3, "more": [1, {"is": True}]}},
        {"places": [], "table": [], "sizes": {}},
        {"text": f"{NS}<item>a"},
    ],
)
def test_lists_and_objects_between_tags_are_read_as_the_schema_has_them(meant: Arguments) -> None:
    """However deep, with a tag within the same tag; empty ones, too. A text that says tags stays a text."""
    tool = replace(FIRST, parameters=json.dumps(NESTED))
    one, other = WRITERS["MiniMax-M3"]("first", meant), WRITERS["MiniMax-M3"]("first", {"text": "a"})
    read = CallReader(BY_NAME["MiniMax-M3"], (tool,)).read(f"{one}\n{other}")
    assert [call.arguments for call in read.calls] == [meant, {"text": "a"}]


@pytest.mark.parametrize("value", [f"{NS}<item>", f"{NS}<item>a{NS}</item>a", f"{NS}<item>" * 999])
def test_a_list_between_tags_that_does_not_end_is_no_argument(value: str) -> None:
    tool = replace(FIRST, parameters=json.dumps(NESTED))
    call = WRITERS["MiniMax-M3"]("first", {"text": "VALUE"}).replace("text>", "table>").replace("VALUE", value)
    read = CallReader(BY_NAME["MiniMax-M3"], (tool,)).read(call)
    assert read.calls == ()
    assert "cannot be read" in (read.error or "")


def test_a_call_without_its_first_marker_is_made_where_models_forget_that() -> None:
    """In the syntax of Qwen3-Coder; its last marker is sign enough, as a token where it is one."""
    syntax = BY_NAME["Qwen3-Coder"]
    one, two = (WRITERS[syntax.name](name, {"text": "a"}) for name in ("first", "second"))
    call, marker = one.removeprefix("<tool_call>\n"), "</tool_call>"
    calls = [("first", {"text": "a"}), ("second", {"text": "a"})]
    assert calls_in(syntax, call) == calls[:1]
    assert calls_in(syntax, f"Let me see.\n{call}\n{two}") == calls
    for text in (call.removesuffix(marker), "It begins with <function=first>."):
        assert CallReader(syntax, TOOLS).read(text) == CallsRead()
    parts = [call.removesuffix(marker), marker]
    assert reply_of(syntax, parts, controls=[marker]).calls
    assert not reply_of(syntax, [call], controls=[marker]).calls


def test_values_of_gemma_may_be_words_of_python_and_have_white_space_between_them() -> None:
    """Its chat template shows the calls made before so."""
    call = '<|tool_call>call:first{text: [ <|"|>a, b<|"|> , {k:None}, True ],n:7 }<tool_call|>'
    assert calls_in(BY_NAME["Gemma"], call) == [("first", {"text": ["a, b", {"k": None}, True], "n": 7})]


@pytest.mark.parametrize(
    ("name", "first"),
    [("DeepSeek", "<｜tool▁call▁begin｜>"), ("Kimi", "<|tool_call_begin|>"), ("Kimi K3", "<|open|>call")],
)
def test_white_space_before_a_call_is_no_part_of_it(name: str, first: str) -> None:
    """A call may also lack the marker before the first of several. White space that begins none is passed once."""
    whole = WRITERS[name]("first", {"text": "a"})
    (found,) = CallReader(BY_NAME[name], TOOLS).read(f"\n \n{whole[whole.index(first) :]}").calls
    assert found.start == 3


def test_a_first_call_names_its_tool_alone_where_the_prompt_asks_for_a_recipient() -> None:
    """It is held and read as one behind the sign is; "all" is no tool."""
    functionary = BY_NAME["Functionary 3.2"]
    assert calls_in(functionary, 'first\n{"n": 7}>>>second\n{}') == [("first", {"n": 7}), ("second", {})]
    assert begun(functionary, 'first\n{"n": 7}') == 'first\n{"n": 7}'
    assert begun(functionary, "all\nThe first\n{") is None
    assert reply_of(functionary, ['all\n{"a": 1}']).call_error is None
    assert shown(functionary, ["fir", "st\n", "{}"])[1] == ["", "", "", "", ""]


def test_the_token_of_a_marker_may_have_the_line_end_behind_it() -> None:
    """As in GigaChat 3; a separator that no call follows is not shown."""
    giga, ends = BY_NAME["GigaChat 3"], ("<|message_sep|>\n\n", "<|role_sep|>\n")
    parts = ["Let me see.", ends[0], "function call", ends[1], named("first", {"n": 7})]
    assert [(call.name, call.arguments) for call in reply_of(giga, parts, ends).calls] == [("first", '{"n": 7}')]
    for each in (parts, parts[:2]):
        reply = reply_of(giga, each, ends)
        assert shown(giga, each, ends)[0] == reply.text[: len(reply.text) - reply.held_n] == "Let me see."
