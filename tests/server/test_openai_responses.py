"""OpenAI's responses as its own client, and Codex, see them, over loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from localspec.base.errors import EngineError
from localspec.engine.events import Finished, FinishReason, PromptProgress, ToolCall
from localspec.runtime.images import images_in
from localspec.runtime.messages import Message, Role, Tool
from localspec.runtime.worker.messages import Render, Rendered
from localspec.server import streaming
from tests.server.fakes import PAIR, said
from tests.server.openai_client import CALL, PARAMETERS, called, client_of, refused
from tests.tiny_projectors import write_png


async def test_a_response_in_one_piece() -> None:
    async with client_of(said("<think>", "Hm", "</think>", "Yes", ".")) as (client, service):
        answer = await client.responses.create(
            model=PAIR, input="Is it?", instructions="Be brief.", max_output_tokens=9, temperature=0.5
        )
    assert (answer.output_text, answer.status) == ("Yes.", "completed")
    assert [item.type for item in answer.output] == ["reasoning", "message"]
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.input_tokens_details.cached_tokens) == (10, 4)
    assert (answer.usage.output_tokens, answer.usage.output_tokens_details.reasoning_tokens) == (6, 3)
    (asked,) = service.asked
    assert asked.prompt == (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Is it?"))
    assert (asked.options.max_tokens, asked.options.sampling.temperature) == (9, 0.5)


async def test_a_stream_builds_the_same_response() -> None:
    reply = said("<think>", "Hm", "</think>", "Yes", ".", reason=FinishReason.LENGTH)
    async with client_of(reply) as (client, _), client.responses.stream(model=PAIR, input="Is it?") as stream:
        events = [event async for event in stream]
    kinds = list(dict.fromkeys(event.type for event in events))
    item = ["response.output_item.added", "response.content_part.added"]
    done = ["response.content_part.done", "response.output_item.done"]
    assert kinds == [
        *("response.created", "response.in_progress", *item),
        *("response.reasoning_text.delta", "response.reasoning_text.done", *done),
        *("response.output_text.delta", "response.output_text.done", "response.incomplete"),
    ]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Yes."
    assert events[-1].type == "response.incomplete"
    final = events[-1].response
    assert (final.output_text, final.status) == ("Yes.", "incomplete")
    assert [getattr(item, "status", None) for item in final.output] == ["completed", "incomplete"]
    assert final.incomplete_details is not None
    assert final.incomplete_details.reason == "max_output_tokens"


async def test_events_tell_that_a_long_prompt_is_being_read() -> None:
    started, *rest = said("Yes.")
    reply = [started, PromptProgress(512, 2000), PromptProgress(1024, 2000), *rest]
    async with client_of(reply) as (client, _), client.responses.stream(model=PAIR, input="Is it?") as stream:
        kinds = [event.type async for event in stream]
        assert (await stream.get_final_response()).output_text == "Yes."
    assert kinds[:5] == ["response.created", *["response.in_progress"] * 3, "response.output_item.added"]


async def test_a_response_that_waits_is_created_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "HEARTBEAT_S", 0.001)
    place = asyncio.Event()
    kinds: list[str] = []
    async with (
        client_of([place, *said("Yes.")]) as (client, _),
        client.responses.stream(model=PAIR, input="Is it?") as stream,
    ):
        async for event in stream:
            kinds.append(event.type)
            if kinds.count("response.in_progress") == 3:
                place.set()
        assert (await stream.get_final_response()).output_text == "Yes."
    assert (kinds.index("response.created"), kinds.count("response.created")) == (0, 1)


async def test_calls_and_their_results_are_items() -> None:
    tools: Any = [{"type": "function", "name": "get_time", "parameters": PARAMETERS}]
    async with client_of(called("I look."), said("12:00")) as (client, service):
        async with client.responses.stream(model=PAIR, input="What time?", tools=tools) as stream:
            first = await stream.get_final_response()
        call = first.output[1]
        assert call.type == "function_call"
        assert (first.output_text, call.call_id, call.arguments) == ("I look.", CALL.id, CALL.arguments)
        history: Any = [
            {"role": "user", "content": [{"type": "input_text", "text": "What time?"}]},
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
            *(item.model_dump(exclude_none=True) for item in first.output),
            {"type": "function_call_output", "call_id": call.call_id, "output": "12:00"},
        ]
        await client.responses.create(model=PAIR, input=history, tool_choice="required", tools=tools)
    assert service.asked[1].prompt == (
        Message(Role.USER, "What time?"),
        Message(Role.ASSISTANT, "<think>\nHm.\n</think>\n\nI look.", (CALL,)),
        Message(Role.TOOL, "12:00", call_id=CALL.id, name="get_time"),
    )
    assert service.asked[1].options.must_call


async def test_functions_are_taken_from_a_list_with_tools_of_other_kinds() -> None:
    """As Codex sends it, which offers searches that only OpenAI's servers can run."""
    others = [{"type": "web_search"}, {"type": "namespace", "name": "mcp", "tools": []}]
    tools: Any = [others[0], {"type": "function", "name": "get_time", "parameters": PARAMETERS}, others[1]]
    async with client_of() as (client, service):
        await client.responses.create(model=PAIR, input="What time?", tools=tools)
        with pytest.raises(openai.BadRequestError, match="one of the tools"):
            await client.responses.create(
                model=PAIR,
                input="What?",
                tools=tools,
                extra_body={"tool_choice": {"type": "function", "name": "mcp"}},
            )
    (asked,) = service.asked
    assert [tool.name for tool in asked.options.tools] == ["get_time"]


@pytest.mark.parametrize(
    ("space", "name", "full"),
    [
        ("mcp__clock", "get", "mcp__clock__get"),
        ("mcp__clock__", "get", "mcp__clock__get"),
        ("app", "_get", "app_get"),
    ],
)
async def test_functions_in_a_namespace_are_called_by_both_names(space: str, name: str, full: str) -> None:
    """As Codex offers the tools of its MCP servers: the model knows one name, the client gets two."""
    get = {"type": "function", "name": name, "parameters": PARAMETERS}
    tools: Any = [{"type": "namespace", "name": space, "tools": [get, {"type": "custom", "name": "x"}]}, {**get}]
    *events, finished = called("I look.")
    assert isinstance(finished, Finished)
    reply = [*events, replace(finished, calls=(replace(CALL, name=full),))]
    async with client_of(reply, called("I look."), said("12:00")) as (client, service):
        async with client.responses.stream(model=PAIR, input="What time?", tools=tools) as stream:
            done: Any = [event async for event in stream if event.type == "response.function_call_arguments.done"]
            first = await stream.get_final_response()
        whole = await client.responses.create(model=PAIR, input="What time?", tools=tools)
        call: Any = first.output[1]
        assert ([event.name for event in done], call.name, call.namespace) == ([name], name, space)
        assert getattr(whole.output[1], "namespace", None) is None
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "12:00"}
        history: Any = ["What time?", call.model_dump(exclude_none=True), result]
        history[0] = {"role": "user", "content": history[0]}
        await client.responses.create(model=PAIR, input=history, tools=tools)
    assert [tool.name for tool in service.asked[0].options.tools] == [full, name]
    assert isinstance(service.asked[2].prompt, tuple)
    assert [(each.calls, each.name) for each in service.asked[2].prompt[1:]] == [
        ((replace(CALL, name=full),), None),
        ((), full),
    ]


async def test_a_conversation_that_another_model_began_is_gone_on_with() -> None:
    """Codex may change the model in the middle; others have searched the web, and patched files as text."""
    async with client_of(said("Done.")) as (client, service):
        history: Any = [
            {"role": "user", "content": "Fix it."},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "Success."},
        ]
        await client.responses.create(model=PAIR, input=history)
    assert service.asked[0].prompt == (
        Message(Role.USER, "Fix it."),
        Message(Role.ASSISTANT, "", (ToolCall("c", "apply_patch", '{"input": "*** Begin"}'),)),
        Message(Role.TOOL, "Success.", call_id="c", name="apply_patch"),
    )


async def test_images_of_results_are_shown_after_all_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex has a tool that looks at a picture."""
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    image = base64.b64encode(write_png(tmp_path / "cat.png", 8, 4).read_bytes()).decode()
    shown = {"type": "input_image", "image_url": f"data:image/png;base64,{image}"}
    calls = [{"type": "function_call", "call_id": each, "name": "look", "arguments": "{}"} for each in "ab"]
    outputs: list[Any] = [[shown, {"type": "input_text", "text": "A cat."}], "Nothing."]
    results = [
        {"type": "function_call_output", "call_id": each, "output": output}
        for each, output in zip("ab", outputs, strict=True)
    ]
    async with client_of(said("Nice.")) as (client, service):
        for after in ([], [{"role": "user", "content": "Well?"}]):
            history: Any = [{"role": "user", "content": "Look."}, *calls, *results, *after]
            await client.responses.create(model=PAIR, input=history)
    for asked in service.asked:
        assert isinstance(asked.prompt, tuple)
        _, _, *told = asked.prompt
        assert [(each.role, each.content) for each in told[:2]] == [(Role.TOOL, "A cat."), (Role.TOOL, "Nothing.")]
        assert told[2].role == Role.USER
        assert len(images_in(told[2].content)) == 1
        assert [each.content for each in told[3:]] == (["Well?"] if asked is service.asked[1] else [])


async def test_a_response_is_held_to_a_schema() -> None:
    text: Any = {"format": {"type": "json_schema", "name": "zone", "schema": PARAMETERS}}
    async with client_of() as (client, service):
        answer = await client.responses.create(model=PAIR, input="Where?", text=text)
    assert "zone" in (service.asked[0].options.sampling.grammar or "")
    assert answer.text is not None


async def test_a_response_says_how_much_the_model_reasons() -> None:
    async with client_of() as (client, service):
        answer = await client.responses.create(model=PAIR, input="Hello!", reasoning={"effort": "medium"})
    assert service.asked[0].options.reasoning == "medium"
    assert answer.reasoning is not None
    assert answer.reasoning.effort == "medium"


async def test_input_tokens_are_counted_without_a_reply() -> None:
    """With the tools that may be called, and the reasoning: both are in the prompt."""
    tools: Any = [{"type": "function", "name": name, "parameters": PARAMETERS} for name in ("get_time", "other")]
    only: Any = {"type": "function", "name": "get_time"}
    async with client_of(answers=[Rendered(0, "...", 17)]) as (client, service):
        counted = await client.responses.input_tokens.count(
            model=PAIR,
            instructions="Be brief.",
            input="What time?",
            reasoning={"effort": "low"},
            tools=tools,
            tool_choice=only,
        )
    assert (counted.object, counted.input_tokens) == ("response.input_tokens", 17)
    messages = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "What time?"))
    tool = Tool("get_time", "", json.dumps(PARAMETERS))
    assert (service.questions, service.asked) == ([Render(0, messages, (tool,), reasoning="low")], [])


async def test_input_tokens_of_what_is_not_stored_are_not_counted() -> None:
    await refused(
        lambda client: client.responses.input_tokens.count(input="And?", previous_response_id="resp_1"),
        "previous_response_id",
    )


async def test_an_engine_that_dies_in_the_middle_fails_the_response() -> None:
    async with client_of([*said("Hello", " you")[:-1], EngineError("The engine stopped.")]) as (client, _):
        stream = await client.responses.create(model=PAIR, input="Hello!", stream=True)
        events = [event async for event in stream]
    last = events[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.message == "The engine stopped."


@pytest.mark.parametrize(
    ("sent", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"background": True}, "background"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"input": []}, "input"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"input": [{"role": "robot", "content": ""}]}, "input[0].role"),
        ({"tools": [{"type": "web_search"}, {"type": "image_generation"}]}, "tools[0].type"),
        ({"tools": [{"type": "web_search"}, {"type": "function"}]}, "tools[1].name"),
        ({"tools": [{"type": "namespace", "name": "a", "tools": []}]}, "tools[0].type"),
        (
            {"tools": [{"type": "namespace", "name": "a", "tools": [{"type": "function"}]}]},
            "tools[0].tools[0].name",
        ),
        ({"text": {"format": {"type": "yaml"}}}, "text.format.type"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
    ],
)
async def test_a_wrong_field_is_named(sent: dict[str, Any], param: str) -> None:
    await refused(lambda client: client.responses.create(model=PAIR, input="Hello!", extra_body=sent), param)
