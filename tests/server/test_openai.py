"""OpenAI's chat completions and completions as its own client sees them, over loopback."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from starlette.middleware import Middleware

from localspec.base.errors import EngineError
from localspec.engine.events import Alternative, Event, FinishReason, Started, TokenLogprobs
from localspec.engine.settings import Sampling
from localspec.runtime.images import images_in
from localspec.runtime.messages import Infill, Message, Role, TokenIds, Tool
from localspec.runtime.worker.messages import Score, Scored, Tokenize, Tokenized
from localspec.server import fields
from localspec.server.app import make_app
from localspec.server.middleware import EndsWithClient
from localspec.server.openai.messages import joined
from localspec.server.service import BusyError, ReplyRequest
from tests.server.fakes import ELSEWHERE, PAIR, FakeService, said, served
from tests.server.openai_client import CALL, HELLO, OTHER, PARAMETERS, TOOLS, called, client_of, refused, weighed
from tests.tiny_projectors import write_png


class TestChat:
    async def test_a_reply_in_one_piece(self) -> None:
        async with client_of() as (client, service):
            answer = await client.chat.completions.create(model=PAIR, messages=HELLO, seed=3, max_tokens=9, stop="END")
        (choice,) = answer.choices
        assert (choice.message.content, choice.finish_reason, answer.model) == ("Hello you.", "stop", PAIR)
        usage = answer.usage
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (10, 4, 14)
        assert usage.prompt_tokens_details is not None
        assert usage.prompt_tokens_details.cached_tokens == 4
        details = usage.completion_tokens_details
        assert details is not None
        assert (details.accepted_prediction_tokens, details.rejected_prediction_tokens) == (2, 2)
        timings = (answer.model_extra or {})["timings"]
        assert (timings["draft_n"], timings["draft_n_accepted"], timings["cache_n"]) == (4, 2, 4)
        (asked,) = service.asked
        assert asked.prompt == (Message(Role.USER, "Hello!"),)
        assert (asked.options.seed, asked.options.max_tokens, asked.options.stop) == (3, 9, ("END",))

    async def test_a_stream_says_the_same(self) -> None:
        async with client_of(said("<think>", "Hm", "</think>", "Yes", ".")) as (client, _):
            stream = await client.chat.completions.create(
                model=PAIR, messages=HELLO, stream=True, stream_options={"include_usage": True}
            )
            chunks = [chunk async for chunk in stream]
            whole = await client.chat.completions.create(model="", messages=HELLO)
        deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
        assert deltas[0].role == "assistant"
        assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content == "Yes."
        reasoning = [(delta.model_extra or {}).get("reasoning_content", "") for delta in deltas]
        assert "".join(reasoning) == (whole.choices[0].message.model_extra or {})["reasoning_content"] == "Hm"
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
        assert all(chunk.usage is None for chunk in chunks[:-1])
        assert chunks[-1].choices == []
        assert chunks[-1].usage == whole.usage
        assert whole.usage is not None
        assert whole.usage.completion_tokens_details is not None
        assert whole.usage.completion_tokens_details.reasoning_tokens == 3
        assert len({chunk.id for chunk in chunks}) == 1

    async def test_reasoning_that_the_prompt_has_begun_is_counted(self) -> None:
        begun, *events = said("Hm", "</think>", "\n", "Yes")
        assert isinstance(begun, Started)
        async with client_of([replace(begun, reasons=True), *events]) as (client, _):
            answer = await client.chat.completions.create(model=PAIR, messages=HELLO)
        assert answer.choices[0].message.content == "Yes"
        assert answer.usage is not None
        assert answer.usage.completion_tokens_details is not None
        assert answer.usage.completion_tokens_details.reasoning_tokens == 3

    async def test_an_image_is_a_part_of_a_message(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
        write_png(tmp_path / "cat.png", 8, 4)
        url = "data:image/png;base64," + base64.b64encode((tmp_path / "cat.png").read_bytes()).decode()
        chat = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
        items = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": url}]
        async with client_of() as (client, service):
            messages: Any = [{"role": "user", "content": chat}]
            await client.chat.completions.create(model=PAIR, messages=messages)
            messages = [{"role": "user", "content": items}]
            await client.responses.create(model=PAIR, input=messages)
        first, second = (asked.prompt for asked in service.asked)
        assert first == second
        assert isinstance(first, tuple)
        assert len(images_in(first[0].content)) == 1

    @pytest.mark.parametrize("text", ["", "I look."])
    async def test_calls_are_told_apart_from_text(self, text: str) -> None:
        async with client_of(called(text)) as (client, service):
            whole = await client.chat.completions.create(model=PAIR, messages=HELLO, tools=TOOLS)
            stream = await client.chat.completions.create(model=PAIR, messages=HELLO, tools=TOOLS, stream=True)
            deltas = [chunk.choices[0].delta async for chunk in stream]
        choice = whole.choices[0]
        assert (choice.message.content or "", choice.finish_reason) == (text, "tool_calls")
        (call,) = choice.message.tool_calls or []
        assert call.type == "function"
        assert (call.id, call.function.name, call.function.arguments) == ("call00001", "get_time", CALL.arguments)
        assert "".join(delta.content or "" for delta in deltas) == text
        ((streamed,),) = [delta.tool_calls for delta in deltas if delta.tool_calls]
        assert streamed.function is not None
        assert (streamed.id, streamed.function.arguments) == (call.id, call.function.arguments)
        assert service.asked[0].options.tools == (Tool("get_time", "", json.dumps(PARAMETERS)),)

    @pytest.mark.parametrize(
        ("choice", "tools_n", "must_call"),
        [
            ("auto", 2, False),
            ("none", 0, False),
            ("required", 2, True),
            ({"type": "function", "function": {"name": "get_time"}}, 1, True),
            ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": TOOLS}}, 1, False),
            ({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": TOOLS}}, 1, True),
            ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_time"}]}, 1, False),
        ],
    )
    async def test_the_choice_of_a_tool(self, choice: Any, tools_n: int, must_call: bool) -> None:
        async with client_of() as (client, service):
            await client.chat.completions.create(
                model=PAIR, messages=HELLO, tools=[*TOOLS, OTHER], tool_choice=choice, parallel_tool_calls=False
            )
        options = service.asked[0].options
        assert (len(options.tools), options.must_call, options.one_call) == (tools_n, must_call, tools_n > 0)

    async def test_a_conversation_with_every_role(self) -> None:
        call = {"id": CALL.id, "type": "function", "function": {"name": CALL.name, "arguments": CALL.arguments}}
        parts = [{"type": "text", "text": "What "}, {"type": "text", "text": "time?"}]
        messages: Any = [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "Hm."},
            {"role": "tool", "tool_call_id": CALL.id, "content": "12:00"},
            {"role": "assistant", "content": None, "refusal": "No."},
            {"role": "assistant", "content": None},
            {"role": "assistant", "content": "It is ", "reasoning_content": "Noon.", "refusal": None},
        ]
        async with client_of() as (client, service):
            await client.chat.completions.create(model=PAIR, messages=messages)
        (asked,) = service.asked
        assert asked.prompt == (
            Message(Role.SYSTEM, "Be brief.\n\nBe kind."),
            Message(Role.USER, "What time?"),
            Message(Role.ASSISTANT, "<think>\nHm.\n</think>\n\n", (CALL,)),
            Message(Role.TOOL, "12:00", call_id=CALL.id, name="get_time"),
            Message(Role.ASSISTANT, "No."),
            Message(Role.ASSISTANT, ""),
        )
        assert asked.prefix == "<think>\nNoon.\n</think>\n\nIt is "

    async def test_a_begun_reply_may_be_sent_as_vllm_and_llama_server_want_it(self) -> None:
        messages: Any = [*HELLO, {"role": "assistant", "content": "It is "}]
        how = {"add_generation_prompt": False, "continue_final_message": True}
        async with client_of() as (client, service):
            await client.chat.completions.create(model=PAIR, messages=messages, extra_body=how)
        assert service.asked[0].prefix == "It is "

    def test_a_result_has_the_name_of_the_latest_call_with_its_id(self) -> None:
        """Some programs number the calls of each message from the first on."""
        calls = [replace(CALL, name=name) for name in ("get_time", "count_words")]
        called = [(Message(Role.ASSISTANT, "", (call,)), Message(Role.TOOL, "", call_id=CALL.id)) for call in calls]
        messages = joined([message for pair in called for message in pair])
        assert [each.name for each in messages if each.role is Role.TOOL] == ["get_time", "count_words"]

    async def test_one_of_several_replies_that_fails_does_not_wait_for_the_others(self) -> None:
        told_n = 0

        class Long(FakeService):
            async def reply(self, asked: ReplyRequest) -> AsyncGenerator[Event, None]:
                if self.asked:
                    raise EngineError("It fell over.")
                self.asked.append(asked)
                nonlocal told_n
                while told_n < 2000:
                    told_n += 1
                    await asyncio.sleep(0)
                    yield said("on", "and")[1]

        async with served(make_app(Long())) as url, httpx2.AsyncClient() as client:
            answer = await client.post(f"{url}/v1/chat/completions", json={"messages": HELLO, "n": 2})
        assert answer.status_code == 500
        assert told_n < 100
        assert "It fell over." in answer.json()["error"]["message"]

    async def test_several_replies_have_seeds_in_a_row(self) -> None:
        replies = [said("a"), said("b", reason=FinishReason.LENGTH), said("c")]
        async with client_of(*replies) as (client, service):
            whole = await client.chat.completions.create(model=PAIR, messages=HELLO, n=3, seed=5)
            service.asked.clear()
            stream = await client.chat.completions.create(model=PAIR, messages=HELLO, n=3, seed=5, stream=True)
            texts = ["", "", ""]
            async for chunk in stream:
                texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
        assert [choice.message.content for choice in whole.choices] == texts == ["a", "b", "c"]
        assert [choice.finish_reason for choice in whole.choices] == ["stop", "length", "stop"]
        assert [asked.options.seed for asked in service.asked] == [5, 6, 7]
        assert whole.usage is not None
        assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (10, 5)

    async def test_log_probabilities_are_of_the_tokens_that_are_said(self) -> None:
        async with client_of(weighed(said("Ye", "s"))) as (client, service):
            whole = await client.chat.completions.create(model=PAIR, messages=HELLO, logprobs=True, top_logprobs=1)
            stream = await client.chat.completions.create(
                model=PAIR, messages=HELLO, logprobs=True, top_logprobs=1, stream=True
            )
            streamed = [chunk.choices[0].logprobs async for chunk in stream if chunk.choices[0].logprobs]
        assert service.asked[0].options.logprobs == 1
        logprobs = whole.choices[0].logprobs
        assert logprobs is not None
        tokens = logprobs.content or []
        assert [(token.token, token.logprob, bytes(token.bytes or [])) for token in tokens] == [
            ("Ye", -0.5, b"Ye"),
            ("s", -0.5, b"s"),
        ]
        (other,) = tokens[0].top_logprobs
        assert (other.token, other.logprob, other.bytes) == ("�", -9999.0, [0xC3])
        assert [token for each in streamed for token in each.content or []] == tokens

    @pytest.mark.parametrize("stream", [False, True])
    async def test_origins_are_told_when_asked_for(self, stream: bool) -> None:
        body = {"messages": HELLO, "stream": stream, "localspec": {"origins": True}}
        async with client_of() as (client, _), httpx2.AsyncClient() as plain:
            answer = await plain.post(f"{client.base_url}chat/completions", json=body)
            without = await plain.post(f"{client.base_url}chat/completions", json={**body, "localspec": {}})
        assert "origin" not in without.text
        if stream:
            chunks = [json.loads(line[6:]) for line in answer.text.split("\n\n") if line.startswith("data: {")]
            rounds = [own for chunk in chunks for choice in chunk["choices"] if (own := choice.get("localspec"))]
        else:
            rounds = answer.json()["choices"][0]["localspec"]["rounds"]
        tokens = [token for each in rounds for token in each["tokens"]]
        assert [token["text"] for token in tokens] == ["Hello", " you", ".", ""]
        assert [token["origin"] for token in tokens] == ["accepted", "corrected"] * 2
        assert rounds[0]["rejected"] == [{"id": 99, "text": "no"}]

    @pytest.mark.parametrize(
        ("sent", "check"),
        [
            ({"temperature": 0.1, "top_k": 5}, lambda sampling: (sampling.temperature, sampling.top_k) == (0.1, 5)),
            ({"response_format": {"type": "json_object"}}, lambda sampling: sampling.grammar),
            (
                {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": PARAMETERS}}},
                lambda sampling: "zone" in sampling.grammar,
            ),
            ({"grammar": 'root ::= "yes"'}, lambda sampling: sampling.grammar == 'root ::= "yes"'),
            ({"response_format": {"type": "text"}, "grammar": ""}, lambda sampling: sampling.grammar is None),
            (
                {"response_format": {"type": "text", "schema": None}, "grammar": 'root ::= "yes"'},
                lambda sampling: sampling.grammar == 'root ::= "yes"',
            ),
        ],
    )
    async def test_sampling_and_form(self, sent: dict[str, Any], check: Callable[[Sampling], bool]) -> None:
        async with client_of() as (client, service):
            await client.chat.completions.create(model=PAIR, messages=HELLO, extra_body=sent)
        assert check(service.asked[0].options.sampling)

    @pytest.mark.parametrize(
        ("sent", "param"),
        [
            ({"messages": []}, "messages"),
            ({"messages": "Hello"}, "messages"),
            ({"messages": [{"role": "robot", "content": ""}]}, "messages[0].role"),
            ({"messages": [{"role": "user"}]}, "messages[0].content"),
            ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
            ({"messages": [{"role": "assistant"}]}, "messages[0].content"),
            ({"messages": [{"role": "user", "content": [{"type": "sound"}]}]}, "messages[0].content[0].type"),
            ({"messages": [{"role": "tool", "content": ""}]}, "messages[0].tool_call_id"),
            ({"n": 0}, "n"),
            ({"n": 17}, "n"),
            ({"max_tokens": 0}, "max_tokens"),
            ({"max_completion_tokens": 5, "max_tokens": 0}, "max_tokens"),
            ({"stop": 5}, "stop"),
            ({"stream": "yes"}, "stream"),
            ({"top_logprobs": 21}, "top_logprobs"),
            ({"temperature": "hot"}, "temperature"),
            ({"logit_bias": {"x": 1}}, "logit_bias"),
            ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
            ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
            ({"tools": [*TOOLS, *TOOLS]}, "tools"),
            ({"tool_choice": "required"}, "tools"),
            ({"tool_choice": {"type": "function", "function": {"name": "other"}}, "tools": TOOLS}, "tool_choice"),
            (
                {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [OTHER]}, "tools": TOOLS},
                "tool_choice.tools",
            ),
            (
                {"tool_choice": {"type": "allowed_tools", "mode": "any", "tools": TOOLS}, "tools": TOOLS},
                "tool_choice.mode",
            ),
            ({"max_completion_tokens": 1e30}, "max_completion_tokens"),
            ({"chat_template": "{{ messages }}"}, "chat_template"),
            ({"chat_template_kwargs": {"date_string": "today"}}, "chat_template_kwargs"),
            ({"chat_template_kwargs": {"enable_thinking": "no"}}, "chat_template_kwargs.enable_thinking"),
            ({"reasoning_effort": "enormous"}, "reasoning_effort"),
            ({"add_generation_prompt": False}, "add_generation_prompt"),
            ({"add_generation_prompt": False, "continue_final_message": True}, "add_generation_prompt"),
            ({"functions": []}, "functions"),
            ({"response_format": {"type": "yaml"}}, "response_format.type"),
            ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format.json_schema.schema"),
            ({"grammar": "root ::= yes"}, "grammar"),
            ({"json_schema": {"type": "object", "minProperties": 9}}, "json_schema"),
            ({"grammar": 'root ::= "a"', "json_schema": {}}, "json_schema"),
        ],
    )
    async def test_a_wrong_field_is_named(self, sent: dict[str, Any], param: str) -> None:
        await refused(lambda client: client.chat.completions.create(model=PAIR, messages=HELLO, extra_body=sent), param)

    async def test_a_request_says_how_much_the_model_reasons(self) -> None:
        """In OpenAI's words, or by the switches of chat templates, as vLLM and llama-server take them."""
        wanted: tuple[tuple[dict[str, Any], str | None], ...] = (
            ({}, None),
            ({"reasoning_effort": "none"}, "off"),
            ({"reasoning_effort": "minimal"}, "low"),
            ({"reasoning_effort": "xhigh"}, "high"),
            ({"chat_template_kwargs": {"enable_thinking": False}}, "off"),
            ({"chat_template_kwargs": {"thinking": True}}, "on"),
            ({"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "low"}}, "low"),
            ({"chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "high"}, "off"),
            ({"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "none"}, "on"),
        )
        async with client_of(*[said("Yes.")] * len(wanted)) as (client, service):
            for sent, _ in wanted:
                await client.chat.completions.create(model=PAIR, messages=HELLO, extra_body=sent)
        assert [asked.options.reasoning for asked in service.asked] == [reasoning for _, reasoning in wanted]


class TestText:
    async def test_a_text_is_gone_on_with(self) -> None:
        async with client_of() as (client, service):
            whole = await client.completions.create(model=PAIR, prompt="Once", max_tokens=5)
            stream = await client.completions.create(
                model=PAIR, prompt="Once", stream=True, stream_options={"include_usage": True}
            )
            chunks = [chunk async for chunk in stream]
        assert (whole.choices[0].text, whole.choices[0].finish_reason) == ("Hello you.", "stop")
        assert "".join(chunk.choices[0].text for chunk in chunks[:-1]) == "Hello you."
        assert chunks[-2].choices[0].finish_reason == "stop"
        assert chunks[-1].usage == whole.usage
        assert [(asked.prompt, asked.options.max_tokens) for asked in service.asked] == [("Once", 5), ("Once", 16)]

    @pytest.mark.parametrize(
        ("prompt", "expected"),
        [
            (["a", "b"], ["a", "a", "b", "b"]),
            ([5, 6], [TokenIds((5, 6))] * 2),
            ([[5], [6]], [TokenIds((5,)), TokenIds((5,)), TokenIds((6,)), TokenIds((6,))]),
        ],
    )
    async def test_several_prompts(self, prompt: Any, expected: list[object]) -> None:
        replies = [said(f"{i}") for i in range(4)]
        async with client_of(*replies) as (client, service):
            whole = await client.completions.create(model=PAIR, prompt=prompt, n=2)
        assert [asked.prompt for asked in service.asked] == expected
        assert [choice.text for choice in whole.choices] == ["0", "1", "2", "3"][: len(expected)]
        assert whole.usage is not None
        assert whole.usage.prompt_tokens == 10 * len(expected) // 2

    async def test_a_gap_is_filled(self) -> None:
        async with client_of() as (client, service):
            await client.completions.create(model=PAIR, prompt="def", suffix="return")
        assert service.asked[0].prompt == Infill("def", "return")

    async def test_log_probabilities(self) -> None:
        async with client_of(weighed(said("Ye", "s"))) as (client, _):
            whole = await client.completions.create(model=PAIR, prompt="Well", logprobs=1)
        logprobs = whole.choices[0].logprobs
        assert logprobs is not None
        assert (logprobs.tokens, logprobs.token_logprobs, logprobs.text_offset) == (["Ye", "s"], [-0.5, -0.5], [0, 2])
        assert logprobs.top_logprobs == [{"�": -9999.0}] * 2

    async def test_an_empty_text_has_empty_log_probabilities(self) -> None:
        async with client_of(said("")) as (client, _):
            whole = await client.completions.create(model=PAIR, prompt="Well", logprobs=1)
        logprobs = whole.choices[0].logprobs
        assert logprobs is not None
        assert (logprobs.tokens, logprobs.token_logprobs, logprobs.text_offset) == ([], [], [])

    @pytest.mark.parametrize("max_tokens", [0, 1])
    async def test_a_prompt_is_echoed_with_its_log_probabilities(self, max_tokens: int) -> None:
        """As harnesses for evaluation ask, to weigh a text that the model did not write."""
        scored = tuple(TokenLogprobs(piece, -1.0, (Alternative(1, piece, -1.0),)) for piece in (b"ll", b"!"))
        async with client_of(weighed(said(" Yes"))) as (client, service):
            service.answers = [Tokenized(0, (7, 8, 9), (b"We", b"ll", b"!")), Scored(0, scored)]
            whole = await client.completions.create(
                model=PAIR, prompt="Well!", logprobs=1, echo=True, max_tokens=max_tokens
            )
        (choice,) = whole.choices
        assert choice.text == "Well!" + " Yes" * max_tokens
        logprobs = choice.logprobs
        assert logprobs is not None
        assert logprobs.tokens == ["We", "ll", "!"] + [" Yes"] * max_tokens
        assert logprobs.token_logprobs == [None, -1.0, -1.0] + [-0.5] * max_tokens
        assert logprobs.text_offset == [0, 2, 4, 5][: 3 + max_tokens]
        assert service.questions == [Tokenize(0, "Well!", special=True, bos=True), Score(0, (7, 8, 9), 1, 3, 1)]
        assert len(service.asked) == max_tokens
        assert whole.usage is not None
        assert whole.usage.prompt_tokens == (10 if max_tokens else 3)

    @pytest.mark.parametrize(
        ("sent", "param"),
        [
            ({"prompt": []}, "prompt"),
            ({"prompt": ["a", 5]}, "prompt"),
            ({"prompt": ["a", ""]}, "prompt"),
            ({"prompt": [[]]}, "prompt"),
            ({"prompt": ["a"] * 129}, "prompt"),
            ({"prompt": ["a"] * 100, "n": 2}, "n"),
            ({"best_of": 2}, "best_of"),
            ({"logprobs": 21}, "logprobs"),
            ({"suffix": "b", "echo": True}, "echo"),
            ({"max_tokens": 0}, "max_tokens"),
        ],
    )
    async def test_a_wrong_field_is_named(self, sent: dict[str, Any], param: str) -> None:
        await refused(lambda client: client.completions.create(model=PAIR, prompt="a", extra_body=sent), param)


async def test_the_pairs_are_models() -> None:
    async with client_of() as (client, _):
        (model,) = (await client.models.list()).data
        assert (model.id, model.owned_by) == (PAIR, "localspec")
        assert await client.models.retrieve(PAIR) == model
        async with httpx2.AsyncClient() as plain:  # llama-server's clients leave the version out
            answer = await plain.get(f"{client.base_url}".removesuffix("v1/") + "models")
            assert answer.json()["data"][0]["id"] == PAIR
            assert (await plain.get(f"{client.base_url}models/")).json() == answer.json()
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("other")


class TestFailures:
    async def test_a_pair_that_is_not_here_is_not_found(self) -> None:
        async with client_of() as (client, _):
            with pytest.raises(openai.NotFoundError, match=f"no pair named {ELSEWHERE}"):
                await client.chat.completions.create(model=ELSEWHERE, messages=HELLO)

    @pytest.mark.parametrize("stream", [False, True])
    async def test_a_refusal_before_the_first_event_has_its_status(self, stream: bool) -> None:
        async with client_of([BusyError("The queue is full.", "Try again later.")]) as (client, _):
            with pytest.raises(openai.InternalServerError, match="The queue is full") as caught:
                await client.chat.completions.create(model=PAIR, messages=HELLO, stream=stream)
        assert caught.value.status_code == 503

    async def test_an_engine_that_dies_in_the_middle_ends_the_stream_with_a_sentence(self) -> None:
        dying = [*said("Hello", " you")[:-1], EngineError("The engine stopped.", "Try again.")]
        async with client_of(dying) as (client, _):
            stream = await client.chat.completions.create(model=PAIR, messages=HELLO, stream=True)
            with pytest.raises(openai.APIError, match="The engine stopped"):
                _ = [chunk async for chunk in stream]
            with pytest.raises(openai.InternalServerError, match="The engine stopped"):
                await client.chat.completions.create(model=PAIR, messages=HELLO, n=2)

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("n", [1, 2])
    @pytest.mark.parametrize("begun", [False, True])
    async def test_a_reply_ends_when_its_client_hangs_up(self, stream: bool, n: int, begun: bool) -> None:
        never = asyncio.Event()
        events = said("Hello", " you")
        service = FakeService([[*events[:2], never, *events[2:]] if begun else [never, *events]])
        async with served(make_app(service, middleware=[Middleware(EndsWithClient)])) as url:
            host, port = url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            body = json.dumps({"messages": HELLO, "stream": stream, "n": n}).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            while len(service.asked) < n:
                await asyncio.sleep(0)
            if stream and begun:
                assert b"200 OK" in await reader.readuntil(b"\n")
            writer.close()
            async with asyncio.timeout(10):
                while service.closed_n < n:
                    await asyncio.sleep(0)


@pytest.mark.parametrize(("size", "elsewhere"), [(10, False), (1_000_000, True)])
async def test_a_large_body_is_read_beside_replies(monkeypatch: pytest.MonkeyPatch, size: int, elsewhere: bool) -> None:
    """In another thread than theirs."""
    threads: list[int] = []

    def read(body: bytes) -> fields.Fields:
        threads.append(threading.get_ident())
        return fields_of_json(body)

    fields_of_json = fields.fields_of_json
    monkeypatch.setattr(fields, "fields_of_json", read)
    async with client_of(said("Yes.")) as (client, _):
        messages = [{"role": "user", "content": "a" * size}]
        await client.chat.completions.create(model=PAIR, messages=messages)  # type: ignore[arg-type]
    assert [thread != threading.get_ident() for thread in threads] == [elsewhere]
