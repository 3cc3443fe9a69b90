"""The built-in pair calls tools."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from localspec.base.errors import UsageError
from localspec.chat.tools.own import OWN_TOOLS
from localspec.chat.tour import QUESTION, STEPS
from localspec.engine.settings import Sampling
from localspec.runtime.calls.form import CallForm
from localspec.runtime.load import InspectablePair
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool
from localspec.runtime.reasoning import Reasoning
from tests.runtime.calls.support import BY_NAME, FIRST, PARAMETERS, SECOND, TOOLS, Arguments, object_schema
from tests.runtime.opened_pairs import follow

ONE_TEXT = '{"type": "object", "properties": {"text": {"type": "string"}}}'


@pytest.mark.parametrize(
    ("question", "tool", "arguments", "result", "answer"),
    [
        ("What time is it?", "get_time", {}, "14:32", "It is 14:32."),
        (
            'Count the words in "the quick brown fox".',
            "count_words",
            {"text": "the quick brown fox"},
            "4",
            "The text has 4 words.",
        ),
    ],
)
def test_the_built_in_pair_calls_a_tool_and_tells_its_result(
    pair: InspectablePair, question: str, tool: str, arguments: Arguments, result: str, answer: str
) -> None:
    """With drafts and without, the same; and what was read is not read again."""
    tools = (
        Tool("get_time", "Get the current time.", '{"type": "object", "properties": {}}'),
        replace(FIRST, name="count_words", parameters=ONE_TEXT),
    )
    for spec in ((), None):
        options = ReplyOptions(Sampling(temperature=0), spec=spec, depth=3, max_tokens=60, tools=tools)
        asked = (Message(Role.USER, question),)
        first = follow(pair, asked, options)
        (call,) = first.calls
        assert (call.name, json.loads(call.arguments)) == (tool, arguments)
        assert first.text.startswith("<tool_call>")
        told = (
            Message(Role.ASSISTANT, first.text, first.calls),
            Message(Role.TOOL, result, call_id=call.id, name=tool),
        )
        second = follow(pair, (*asked, *told), options)
        assert (second.text, second.calls) == (answer, ())
        assert second.prompt is not None
        assert first.prompt is not None
        assert second.prompt.cache_n > first.prompt.prompt_n


def test_tags_around_reasoning_that_are_control_tokens_are_shown(
    pair: InspectablePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tools and without, so that the reasoning can be told apart."""
    opening, closing = "<|START_THINKING|>", "<|END_THINKING|>"
    options = ReplyOptions(Sampling(temperature=0), max_tokens=6)
    asked = (Message(Role.USER, "Count from 1 to 5"),)
    first, second, *_ = follow(pair, asked, options).tokens
    written = {first.id: opening.encode(), second.id: closing.encode()}
    monkeypatch.setattr("localspec.runtime.replier.tags_in", lambda controls, ends: written)
    for tools in ((), TOOLS):
        told = follow(pair, asked, replace(options, tools=tools))
        assert told.text.startswith(opening + closing)
        reasoning = Reasoning.find(told.text)
        assert reasoning is not None
        assert (reasoning.text, reasoning.closed) == ("", True)


@pytest.mark.parametrize("tools", [(), TOOLS])
def test_an_answer_in_a_channel_has_no_format_before_it(
    tools: tuple[Tool, ...], pair: InspectablePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tools and without, so that it is not taken for reasoning."""
    options = ReplyOptions(Sampling(temperature=0), max_tokens=6, tools=tools)
    asked = (Message(Role.USER, "Tell me a story about a fox."),)
    ids = [token.id for token in follow(pair, asked, options).tokens[:4]]
    written = dict(zip(ids, (b"<|channel|>", b"final", b" json", b"<|message|>"), strict=True))
    monkeypatch.setattr("localspec.runtime.replier.tags_in", lambda controls, ends: written)
    told = follow(pair, asked, options)
    assert len(told.tokens) == 6
    assert told.text.startswith("<|channel|>final<|message|>")


def test_the_built_in_pair_calls_the_tool_of_the_tour(pair: InspectablePair) -> None:
    """After the story that the tour begins with, as it is sampled there."""
    (step,) = [step for step in STEPS if step.tools]
    tools = tuple(OWN_TOOLS[name].tool for name in step.tools)
    assert all(OWN_TOOLS[tool.name].harmless for tool in tools), "the tour asks for no approval"
    sampling = Sampling(temperature=0.3, top_p=0.9)
    for seed in range(4):
        options = ReplyOptions(sampling, seed=seed, max_tokens=150)
        first = Message(Role.USER, QUESTION)
        told = Message(Role.ASSISTANT, follow(pair, (first,), options).text)
        asked = (first, told, Message(Role.USER, step.question))
        (call,) = follow(pair, asked, replace(options, tools=tools)).calls
        assert call.name == step.tools[0]


def test_arguments_are_held_to_the_schema_of_their_tool(pair: InspectablePair) -> None:
    """At any temperature, drafted or not; and what is no call is not held to anything."""
    chosen = '{"type": "object", "properties": {"text": {"enum": ["alpha", "beta gamma"]}}, "required": ["text"]}'
    tools = (replace(FIRST, name="count_words", parameters=chosen), replace(SECOND, name="get_time"))
    asked = (Message(Role.USER, 'Count the words in "the quick brown fox".'),)
    options = ReplyOptions(Sampling(temperature=0), depth=3, max_tokens=60, tools=tools)
    drafted, plain = follow(pair, asked, options), follow(pair, asked, replace(options, spec=()))
    assert drafted.text == plain.text
    assert {token.drafter for token in drafted.tokens} >= {"grammar"}
    for seed in range(6):
        reply = follow(pair, asked, replace(options, sampling=Sampling(temperature=1.5), seed=seed))
        (call,) = reply.calls
        assert json.loads(call.arguments)["text"] in ("alpha", "beta gamma")
    story = follow(pair, (Message(Role.USER, "Tell me a story about a fox."),), options)
    assert (len(story.tokens), story.calls) == (60, ())


@pytest.mark.parametrize("name", ["Qwen3-Coder", "MiniMax", "Gemma"])
def test_arguments_that_are_written_singly_are_held_in_replies_drafted_or_not(
    pair: InspectablePair, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The same call of both, by a model that does not know the syntax; what is certain in it is guessed for nothing."""
    monkeypatch.setattr("localspec.runtime.prompting.call_form", lambda *words: CallForm(BY_NAME[name]))
    schema = object_schema({key: PARAMETERS[key] for key in ("colour", "ID", "KEY_VALUE")}, ["colour", "ID"])
    tools = (replace(FIRST, parameters=json.dumps(schema)),)
    asked = (Message(Role.USER, "Which colour?"),)
    options = ReplyOptions(Sampling(temperature=0), depth=3, max_tokens=200, tools=tools, must_call=True, one_call=True)
    drafted, plain = follow(pair, asked, options), follow(pair, asked, replace(options, spec=()))
    assert drafted.text == plain.text
    assert {token.drafter for token in drafted.tokens} >= {"grammar"}
    for seed in range(3):
        (call,) = follow(pair, asked, replace(options, sampling=Sampling(temperature=1.5), seed=seed)).calls
        jsonschema.validate(json.loads(call.arguments), schema)


def test_a_call_is_required_of_no_reply_that_has_begun(pair: InspectablePair) -> None:
    """Its beginning may not fit; and a call that is not made although it was required would be a surprise."""
    options = ReplyOptions(Sampling(temperature=0), tools=TOOLS, must_call=True)
    with pytest.raises(UsageError, match="has begun"):
        list(pair.reply((Message(Role.USER, "What time is it?"),), options, "Let me look. "))
