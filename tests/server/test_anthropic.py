"""Anthropic's API, as its own client uses it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from localspec.base.errors import CapacityError, EngineError
from localspec.engine.events import Finished, FinishReason, PromptProgress, Round, ToolCall
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.images import images_in
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Render, Rendered
from localspec.server.app import make_app
from localspec.server.service import BusyError, RateLimitError
from tests.server.fakes import CREATED, ELSEWHERE, PAIR, FakeService, Step, said, served
from tests.tiny_projectors import write_png

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
WEATHER: Any = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CALL = ToolCall("call00001", "get_weather", '{"city": "Köln"}')


@asynccontextmanager
async def client_of(
    *replies: Sequence[Step], **given: Any
) -> AsyncGenerator[tuple[anthropic.AsyncAnthropic, FakeService]]:
    service = FakeService(replies, **given)
    async with (
        served(make_app(service)) as url,
        anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client,
    ):
        yield client, service


def called(text: str = "") -> list[Step]:
    """A reply that says ``text`` and makes a call."""
    written = f'{text}<tool_call>\n{{"name": "get_weather", "arguments": {CALL.arguments}}}\n</tool_call>'
    *events, finished = said(written, calls=[CALL])
    assert isinstance(finished, Finished)
    said_n = len(text.rstrip())
    held = [replace(each, held_n=len(written) - said_n) if isinstance(each, Round) else each for each in events]
    return [*held, replace(finished, said_n=said_n)]


def stopped(stop: str) -> list[Step]:
    """A reply that a stop string ends."""
    *events, finished = said("Yes")
    assert isinstance(finished, Finished)
    return [*events, replace(finished, stop=stop)]


async def test_a_message_in_one_piece() -> None:
    async with client_of(said("Hel", "lo.")) as (client, service):
        message = await client.messages.create(
            model=PAIR,
            max_tokens=50,
            system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
            messages=[*HELLO, {"role": "user", "content": [{"type": "text", "text": "What is"}]}],
            extra_body={"temperature": 0.5, "top_k": 3, "top_p": 0.7},
            stop_sequences=["END"],
        )
    assert message.content[0].to_dict() == {"type": "text", "text": "Hello."}
    assert (message.role, message.model, message.stop_reason, message.stop_sequence) == (
        "assistant",
        PAIR,
        "end_turn",
        None,
    )
    assert message.id.startswith("msg_")
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (6, 4, 3)
    (asked,) = service.asked
    assert asked.prompt == (
        Message(Role.SYSTEM, "Be brief.\n\nBe kind."),
        Message(Role.USER, "Hello\n\nWhat is"),
    )
    sampling = asked.options.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (0.5, 3, 0.7)
    assert (asked.options.max_tokens, asked.options.stop, asked.options.tools) == (50, ("END",), ())


@pytest.mark.parametrize("rest", ["", "Be brief."])
@pytest.mark.parametrize("in_blocks", [True, False])
async def test_a_conversation_begins_alike_whatever_a_client_tells_anthropics_accounts(
    rest: str, in_blocks: bool
) -> None:
    """Claude Code writes a line above its system prompt that changes every time: the cache would never help."""
    async with client_of(said("Yes.")) as (client, service):
        for mark in ("fa690", "0aaa9"):
            line = f"x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch={mark};"
            blocks: Any = [{"type": "text", "text": text} for text in (line, rest) if text]
            system = blocks if in_blocks else f"{line}\n{rest}"
            await client.messages.create(model=PAIR, max_tokens=5, system=system, messages=HELLO)
    above = (Message(Role.SYSTEM, rest),) if rest else ()
    assert [asked.prompt for asked in service.asked] == [(*above, Message(Role.USER, "Hello"))] * 2


@pytest.mark.parametrize(
    ("reply", "reason", "stop"),
    [
        (said("Yes", reason=FinishReason.LENGTH), "max_tokens", None),
        (stopped("END"), "stop_sequence", "END"),
    ],
)
async def test_the_end_has_its_reason(reply: list[Step], reason: str, stop: str | None) -> None:
    async with client_of(reply) as (client, _):
        message = await client.messages.create(model="", max_tokens=5, messages=HELLO)
    assert (message.stop_reason, message.stop_sequence) == (reason, stop)


async def test_a_stream_has_reasoning_text_and_calls_as_blocks() -> None:
    reply = called("<think>Hm.</think>\nI look.\n")
    reply.insert(1, PromptProgress(5, 10))
    async with client_of(reply) as (client, service):
        async with client.messages.stream(model=PAIR, max_tokens=50, messages=HELLO, tools=[WEATHER]) as stream:
            kinds = [event.type async for event in stream]
            message = await stream.get_final_message()
        whole = await client.messages.create(model=PAIR, max_tokens=50, messages=HELLO, tools=[WEATHER])
    for each in (message, whole):
        thinking, text, call = each.content
        assert thinking.to_dict() == {"type": "thinking", "thinking": "Hm.", "signature": ""}
        assert text.to_dict() == {"type": "text", "text": "I look."}
        assert call.to_dict() == {"type": "tool_use", "id": CALL.id, "name": CALL.name, "input": {"city": "Köln"}}
        assert each.stop_reason == "tool_use"
        assert each.usage.output_tokens == 2
    assert [kind for kind in kinds if kind.startswith(("message", "content_block_st"))] == [
        "message_start",
        *["content_block_start", "content_block_stop"] * 3,
        "message_delta",
        "message_stop",
    ]
    assert service.asked[0].options.tools == (
        Tool("get_weather", "The weather of a city.", json.dumps(WEATHER["input_schema"])),
    )


async def test_a_conversation_with_calls_reasoning_images_and_a_begun_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    png = base64.b64encode(write_png(tmp_path / "cat.png", 8, 4).read_bytes()).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    messages: list[Any] = [
        {"role": "user", "content": [image, {"type": "text", "text": "Which city?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": ""},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call00001", "name": "get_weather", "input": {"city": "Köln"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call00001",
                    "content": [{"type": "text", "text": "rain"}, image],
                },
                {"type": "text", "text": "And?"},
            ],
        },
        {"role": "assistant", "content": "It "},
    ]
    async with client_of(said("rains.")) as (client, service):
        await client.messages.create(model=PAIR, max_tokens=50, messages=messages)
    (asked,) = service.asked
    assert asked.prefix == "It "
    assert isinstance(asked.prompt, tuple)
    question, answer, result, more = asked.prompt
    assert question.content.endswith("\n\nWhich city?")
    assert len(images_in(question.content)) == 1
    assert answer == Message(Role.ASSISTANT, "<think>\nHm.\n</think>\n\nI look.", (CALL,))
    assert result == Message(Role.TOOL, "rain", call_id="call00001", name="get_weather")
    assert images_in(more.content) == images_in(question.content)
    assert more.content.endswith("\n\nAnd?")


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "document", "source": {"type": "text", "data": "Rain."}}, "Rain."),
        (
            {
                "type": "document",
                "title": "Weather",
                "context": "Of today.",
                "source": {"type": "content", "content": [{"type": "text", "text": "Rain."}]},
            },
            "Weather\n\nOf today.\n\nRain.",
        ),
        ({"type": "document", "source": {"type": "content", "content": "Rain."}}, "Rain."),
        (
            {
                "type": "search_result",
                "title": "Weather",
                "source": "https://example.org",
                "content": [{"type": "text", "text": "Rain."}],
            },
            "Weather\n\nhttps://example.org\n\nRain.",
        ),
    ],
)
async def test_documents_and_what_a_search_found_are_read_as_texts(block: Any, text: str) -> None:
    """In messages of the user, and in results of tools."""
    result = {"type": "tool_result", "tool_use_id": "call00001", "content": [block]}
    async with client_of(said("Yes.")) as (client, service):
        messages: Any = [{"role": "user", "content": [result, block]}]
        await client.messages.create(model=PAIR, max_tokens=5, messages=messages)
    prompt = service.asked[0].prompt
    assert isinstance(prompt, tuple)
    assert [message.content for message in prompt] == [text, text]


async def test_the_pairs_are_models() -> None:
    async with client_of() as (client, _):
        listed = await client.models.list()
        one = await client.models.retrieve(PAIR)
    assert (one.id, one.type, one.display_name) == (PAIR, "model", "A small pair")
    assert one.created_at.timestamp() == CREATED
    assert (listed.data, listed.has_more, listed.first_id, listed.last_id) == ([one], False, PAIR, PAIR)


@pytest.mark.parametrize(
    ("choice", "offered_n", "must_call", "one_call"),
    [
        ({"type": "auto"}, 2, False, False),
        ({"type": "none"}, 0, False, False),
        ({"type": "any", "disable_parallel_tool_use": True}, 2, True, True),
        ({"type": "tool", "name": "get_weather"}, 1, True, False),
    ],
)
async def test_a_choice_of_tools(choice: Any, offered_n: int, must_call: bool, one_call: bool) -> None:
    tools: list[Any] = [WEATHER, {**WEATHER, "name": "other"}]
    async with client_of(said("Yes.")) as (client, service):
        await client.messages.create(model=PAIR, max_tokens=5, messages=HELLO, tools=tools, tool_choice=choice)
    options = service.asked[0].options
    assert (len(options.tools), options.must_call, options.one_call) == (offered_n, must_call, one_call)


async def test_names_of_tools_may_be_as_long_as_at_anthropic() -> None:
    """Agents put the names of their servers in front."""
    tools: list[Any] = [{**WEATHER, "name": f"mcp__{'w' * 123}"}]
    async with client_of(said("Yes.")) as (client, service):
        await client.messages.create(model=PAIR, max_tokens=5, messages=HELLO, tools=tools)
        tools[0]["name"] += "w"
        with pytest.raises(anthropic.BadRequestError, match=r"tools\[0\]\.name"):
            await client.messages.create(model=PAIR, max_tokens=5, messages=HELLO, tools=tools)
    assert [len(tool.name) for tool in service.asked[0].options.tools] == [128]


async def test_a_reply_is_held_to_a_schema_and_reasoning_may_be_left_out() -> None:
    form: Any = {
        "format": {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    }
    async with client_of(said("<think>Hm.</think>{}")) as (client, service):
        message = await client.messages.create(
            model=PAIR, max_tokens=5, messages=HELLO, output_config=form, thinking={"type": "disabled"}
        )
    assert [block.type for block in message.content] == ["text"]
    assert service.asked[0].options.sampling.grammar


async def test_a_request_switches_reasoning_on_or_off() -> None:
    """For its reply, and for the prompt whose tokens it has counted."""
    thoughts: list[Any] = [{"type": "disabled"}, {"type": "enabled", "budget_tokens": 1024}, anthropic.omit]
    answers = [Rendered(0, "...", 17)] * len(thoughts)
    async with client_of(*[said("Yes.")] * len(thoughts), answers=answers) as (client, service):
        for thinking in thoughts:
            await client.messages.create(model=PAIR, max_tokens=2048, messages=HELLO, thinking=thinking)
            await client.messages.count_tokens(model=PAIR, messages=HELLO, thinking=thinking)
    assert [asked.options.reasoning for asked in service.asked] == ["off", "on", None]
    assert [each.reasoning for each in service.questions if isinstance(each, Render)] == ["off", "on", None]


@pytest.mark.parametrize(
    ("thinking", "effort", "settings", "reasoning"),
    [
        (anthropic.omit, "low", None, "low"),
        (anthropic.omit, "high", None, None),
        ({"type": "adaptive"}, "low", "high", "low"),
        ({"type": "adaptive"}, "high", "medium", "medium"),
        ({"type": "adaptive"}, "max", None, "high"),
        ({"type": "adaptive"}, "low", "off", "off"),
        ({"type": "enabled", "budget_tokens": 1024}, "low", "off", "low"),
        ({"type": "disabled"}, "low", None, "off"),
    ],
)
async def test_an_effort_is_that_of_reasoning_that_is_not_switched_off(
    thinking: Any, effort: Any, settings: str | None, reasoning: str | None
) -> None:
    """The high one is Anthropic's usual, and so the model's own here."""
    config = ChatConfig(LoadOptions(Path("target.gguf")), ReplyOptions(reasoning=settings), pair_id=PAIR)
    async with client_of(said("Yes."), config=config) as (client, service):
        await client.messages.create(
            model=PAIR, max_tokens=2048, messages=HELLO, thinking=thinking, output_config={"effort": effort}
        )
    assert service.asked[0].options.reasoning == reasoning


async def test_tokens_are_counted_without_a_reply() -> None:
    async with client_of(answers=[Rendered(0, "...", 17)]) as (client, service):
        counted = await client.messages.count_tokens(model=PAIR, system="Be brief.", messages=HELLO, tools=[WEATHER])
    assert counted.input_tokens == 17
    (question,) = service.questions
    assert isinstance(question, Render)
    assert question.messages == (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))
    assert [tool.name for tool in question.tools] == ["get_weather"]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (CapacityError("It is too long."), anthropic.BadRequestError),
        (RateLimitError("Too much."), anthropic.RateLimitError),
        (BusyError("Full."), anthropic.APIStatusError),
        (EngineError("It stopped."), anthropic.InternalServerError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_errors_are_those_of_the_client(
    raised: Step, expected: type[anthropic.APIStatusError], stream: bool
) -> None:
    async with client_of([raised]) as (client, _):
        with pytest.raises(expected) as caught:
            await client.messages.create(model=PAIR, max_tokens=5, messages=HELLO, stream=stream)
    body: Any = caught.value.body
    assert body["type"] == "error"
    assert body["error"]["message"] == str(raised)


async def test_an_error_in_a_stream_is_an_event() -> None:
    async with client_of([*said("Hel")[:2], EngineError("It stopped.")]) as (client, _):
        stream = await client.messages.create(model=PAIR, max_tokens=5, messages=HELLO, stream=True)
        with pytest.raises(anthropic.APIStatusError, match="It stopped"):
            _ = [event async for event in stream]


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [*HELLO, {"role": "system", "content": "Be brief."}], "max_tokens": 0}, "max_tokens"),
        ({"messages": [{"role": "king", "content": ""}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content[0].type"),
        ({"messages": HELLO, "max_tokens": 0}, "max_tokens"),
        ({"messages": HELLO, "tools": [{"name": "a"}]}, "tools[0].input_schema"),
        (
            {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "url"}}]}]},
            "messages[0].content[0].source.type",
        ),
        ({"messages": HELLO, "tools": [{"type": "bash_20250124", "name": "bash"}]}, "only tools with an input_schema"),
        ({"messages": HELLO, "tools": [{"type": "web_search_20250305", "name": "w"}]}, "tools[0].type"),
        ({"messages": HELLO, "tool_choice": {"type": "any"}}, "tool_choice"),
        ({"messages": HELLO, "output_config": {"format": {"schema": 5}}}, "output_config.format.schema"),
        ({"messages": HELLO, "output_config": {"effort": "enormous"}}, "output_config.effort"),
        ({"messages": HELLO, "model": ELSEWHERE}, f"no pair named {ELSEWHERE}"),
    ],
)
async def test_a_wrong_request_is_refused_with_the_place(sent: dict[str, Any], place: str) -> None:
    service = FakeService([said("Yes.")])
    async with served(make_app(service)) as url, httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/v1/messages", json=sent)
    error = answer.json()["error"]
    assert answer.status_code == (404 if "pair" in place else 400)
    assert error["type"] == ("not_found_error" if "pair" in place else "invalid_request_error")
    assert place in error["message"]
    assert not service.asked
