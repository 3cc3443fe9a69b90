"""Ollama's API, as its own client uses it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import ollama
import pytest

import localspec
from localspec.base.errors import EngineError
from localspec.engine.events import Alternative, Finished, FinishReason, Round, TokenLogprobs, ToolCall
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.images import images_in
from localspec.runtime.messages import Infill, Message, Role, Tool
from localspec.runtime.options import LoadOptions
from localspec.runtime.pair_info import PairInfo
from localspec.server.app import make_app
from localspec.server.engines import ServiceLimits
from localspec.server.service import BusyError, ServedModel
from tests.builtin import TARGET
from tests.server.fakes import CREATED, INFO, PAIR, FakeService, Step, said, served
from tests.server.test_engines import service
from tests.tiny_projectors import write_png

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER: Any = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Of a city.", "parameters": SCHEMA},
}
CALLS = [{"function": {"name": "get_weather"}}] * 129
WRITTEN = '{"name": "get_weather", "arguments": {"city": "Köln"}}'


@asynccontextmanager
async def client_of(*replies: Sequence[Step], **given: Any) -> AsyncGenerator[tuple[ollama.AsyncClient, FakeService]]:
    service = FakeService(replies, **given)
    async with served(make_app(service)) as url, ollama.AsyncClient(url) as client:
        yield client, service


def called() -> list[Step]:
    """A reply that reasons and makes a call."""
    *events, finished = said(f"<think>Hm.</think>{WRITTEN}", calls=[ToolCall("1", "get_weather", '{"city": "Köln"}')])
    assert isinstance(finished, Finished)
    held = [replace(each, held_n=len(WRITTEN)) if isinstance(each, Round) else each for each in events]
    return [*held, replace(finished, said_n=len("<think>Hm.</think>"))]


async def test_a_chat_in_one_piece_and_streamed() -> None:
    options = {"temperature": 0, "top_k": 5, "num_predict": 9, "seed": 3, "stop": ["END"], "num_ctx": 4096}
    async with client_of(said("Hel", "lo.")) as (client, service):
        whole = await client.chat(f"{PAIR}:latest", HELLO, options=options, keep_alive="5m")
        stream = [line async for line in await client.chat(PAIR, HELLO, stream=True)]
    assert (whole.message.role, whole.message.content, whole.message.thinking) == ("assistant", "Hello.", None)
    assert [line.message.content for line in stream] == ["Hello.", "", ""][: len(stream)]
    for last in (whole, stream[-1]):
        assert (last.model, last.done, last.done_reason) == (PAIR, True, "stop")
        assert (last.prompt_eval_count, last.eval_count, last.eval_duration) == (10, 3, 8_000_000)
        assert last.total_duration
    assert not any(line.done for line in stream[:-1])
    asked = service.asked[0]
    assert (asked.model, asked.prompt, asked.prefix) == (PAIR, (Message(Role.USER, "Hello"),), "")
    assert (asked.options.sampling.temperature, asked.options.sampling.top_k) == (0, 5)
    assert (asked.options.max_tokens, asked.options.seed, asked.options.stop) == (9, 3, ("END",))


async def test_calls_and_reasoning_have_fields_of_their_own() -> None:
    async with client_of(called(), called(), called(), said("Rain.")) as (client, service):
        answer = await client.chat(PAIR, HELLO, tools=[WEATHER])
        lines = [line async for line in await client.chat(PAIR, HELLO, tools=[WEATHER], stream=True)]
        silent = await client.chat(PAIR, HELLO, tools=[WEATHER], think=False)
        result = {"role": "tool", "tool_name": "get_weather", "content": "rain"}
        await client.chat(PAIR, [*HELLO, answer.message, result], tools=[WEATHER])
    assert (answer.message.content, answer.message.thinking, silent.message.thinking) == ("", "Hm.", None)
    for each in (answer, next(line for line in lines if line.message.tool_calls)):
        (call,) = each.message.tool_calls or ()
        assert (call.function.name, call.function.arguments) == ("get_weather", {"city": "Köln"})
    assert service.asked[0].options.tools == (Tool("get_weather", "Of a city.", json.dumps(SCHEMA)),)
    call_made = ToolCall("call00000", "get_weather", '{"city": "Köln"}')
    assert service.asked[-1].prompt == (
        Message(Role.USER, "Hello"),
        Message(Role.ASSISTANT, "<think>\nHm.\n</think>\n\n", (call_made,)),
        Message(Role.TOOL, "rain", call_id="call00000", name="get_weather"),
    )


async def test_a_request_switches_reasoning_on_or_off() -> None:
    """An effort of the user's settings stays where a request only wants some."""
    wanted: tuple[Any, ...] = (None, False, True, "low")
    async with client_of(*[said("Yes.")] * 8) as (client, service):
        for think in wanted:
            await client.chat(PAIR, HELLO, think=think)
        service.config = replace(service.config, reply=replace(service.config.reply, reasoning="high"))
        for think in wanted:
            await client.chat(PAIR, HELLO, think=think)
    asked = [asked.options.reasoning for asked in service.asked]
    assert asked == [None, "off", "on", "low", "high", "off", "high", "low"]


async def test_calls_have_the_ids_that_other_clients_ask_for() -> None:
    async with served(make_app(FakeService([called()]))) as url, httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/api/chat", json={"messages": HELLO, "tools": [WEATHER], "stream": False})
    assert [call["id"] for call in answer.json()["message"]["tool_calls"]] == ["1"]


async def test_results_belong_to_the_calls_whose_ids_they_name() -> None:
    """In whatever order they come, and whether they name their tool or not."""
    calls = [{"id": own_id, "function": {"name": "get_weather", "arguments": {"city": own_id}}} for own_id in "abc"]
    results = [{"role": "tool", "tool_call_id": own_id, "content": own_id} for own_id in ("c", "a", "none")]
    messages = [*HELLO, {"role": "assistant", "tool_calls": calls}, *results]
    service = FakeService([said("Rain.")])
    async with served(make_app(service)) as url, httpx2.AsyncClient() as client:
        await client.post(f"{url}/api/chat", json={"messages": messages})
    assert isinstance(service.asked[0].prompt, tuple)
    _, calling, *told = service.asked[0].prompt
    cities = {call.id: json.loads(call.arguments)["city"] for call in calling.calls}
    named = [(cities[each.call_id or ""], each.content) for each in told]
    assert named == [("c", "c"), ("a", "a"), ("b", "none")]


@pytest.mark.parametrize("keep_alive", [0, "0", "0s", "-0m", 5, "10m", -1, None])
@pytest.mark.parametrize("path", ["generate", "chat"])
async def test_who_wants_a_pair_unloaded_does_not_have_it_loaded(
    path: str, keep_alive: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `ollama stop` and the buttons of other programs ask; that the pair stays in memory is the server's choice."""
    loaded = list[str]()

    async def info(service: FakeService, model: str) -> PairInfo:
        loaded.append(model)
        return INFO

    monkeypatch.setattr(FakeService, "info", info)
    async with served(make_app(FakeService())) as url, httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/api/{path}", json={"model": PAIR, "keep_alive": keep_alive})
    unloads = str(keep_alive).strip("-sm") == "0"
    assert (answer.json()["done_reason"], loaded) == (("unload", []) if unloads else ("load", [PAIR]))


async def test_the_version_is_that_of_the_api() -> None:
    """VS Code refuses servers below 0.6.4, Codex below 0.13.4; Ollama has Anthropic's API from 0.14.0 on."""
    async with served(make_app(FakeService())) as url, httpx2.AsyncClient() as client:
        told = (await client.get(f"{url}/api/version")).json()
    assert tuple(map(int, told["version"].split("."))) >= (0, 14, 0)
    assert told["localspec"] == localspec.__version__


async def test_texts_raw_ones_and_gaps_are_completed() -> None:
    async with client_of(said("Yes.", reason=FinishReason.LENGTH)) as (client, service):
        answer = await client.generate(PAIR, "Well?", system="Be brief.", format="json")
        streamed = [line async for line in await client.generate(PAIR, "Well?", raw=True, stream=True)]
        await client.generate(PAIR, "def f(", suffix="return 1")
        loaded = await client.generate(PAIR, "")
    assert (answer.response, answer.done_reason, loaded.done_reason) == ("Yes.", "length", "load")
    assert "".join(line.response or "" for line in streamed) == "Yes."
    prompts = [asked.prompt for asked in service.asked]
    assert prompts == [
        (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Well?")),
        "Well?",
        Infill("def f(", "return 1"),
    ]
    assert service.asked[0].options.sampling.grammar
    assert service.asked[1].options.max_tokens is None


async def test_images_schemas_begun_replies_and_probabilities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    image = write_png(tmp_path / "cat.png", 8, 4)
    probabilities = TokenLogprobs(b"Yes", -0.5, (Alternative(5, b"No", -1.0),))
    started, round_, finished = said("Yes")
    assert isinstance(round_, Round)
    tokens = (replace(round_.tokens[0], logprobs=probabilities), *round_.tokens[1:])
    messages: list[Any] = [
        {"role": "user", "content": "What?", "images": [str(image)]},
        {"role": "assistant", "content": "It"},
    ]
    async with client_of([started, replace(round_, tokens=tokens), finished]) as (client, service):
        answer = await client.chat(PAIR, messages, format=SCHEMA, logprobs=True, top_logprobs=1)
    (asked,) = service.asked
    assert asked.prefix == "It"
    assert isinstance(asked.prompt, tuple)
    assert len(images_in(asked.prompt[0].content)) == 1
    assert asked.prompt[0].content.endswith("What?")
    assert asked.options.logprobs == 1
    assert asked.options.sampling.grammar
    (one,) = answer.logprobs or ()
    assert (one.token, one.logprob, (one.top_logprobs or [one])[0].token) == ("Yes", -0.5, "No")


async def test_pairs_are_listed_and_described() -> None:
    config = ChatConfig(LoadOptions(TARGET), pair_id=PAIR)
    async with client_of(config=config, pair=replace(INFO, device="CUDA0, 11/33 layers")) as (client, _):
        (listed,) = (await client.list()).models
        (running,) = (await client.ps()).models
        shown = await client.show(PAIR)
    assert listed.digest == running.digest
    assert len(listed.digest or "") == 64  # its own client shows the first twelve characters, and fails without them
    assert running.size_vram == 1_000
    assert running.expires_at is not None
    assert running.expires_at > datetime.now(UTC)
    assert (listed.model, listed.size, running.model, running.context_length) == (PAIR, 3_000, PAIR, 512)
    assert listed.modified_at is not None
    assert listed.modified_at.timestamp() == CREATED
    for details in (shown.details, listed.details, running.details):
        assert details is not None
        assert (details.format, details.family, details.families) == ("gguf", "llama", ["llama"])
        assert (details.parameter_size, details.quantization_level) == ("36.9M", "Q4_0")
    assert shown.template
    assert shown.modelinfo
    assert shown.modelinfo["general.architecture"] == "llama"
    assert shown.capabilities == ["completion", "tools"]


async def test_a_list_has_every_detail_of_a_model_whose_file_cannot_be_read(tmp_path: Path) -> None:
    """Clients that want all of them would read no list at all; a loaded embedding model has an end, too."""
    embedder = ServedModel("gone", "gone", CREATED, 1_000, loaded=True, embedder=tmp_path / "gone.gguf")
    async with served(make_app(FakeService(embedding_models=[embedder]))) as url, httpx2.AsyncClient() as client:
        answers = [(await client.get(f"{url}/api/{path}")).json()["models"] for path in ("tags", "ps")]
    for listed in answers:
        for model in listed:
            texts = ("parent_model", "format", "family", "parameter_size", "quantization_level")
            assert [type(model["details"][name]) for name in texts] == [str] * 5
    assert [(model["name"], "expires_at" in model) for model in answers[1]] == [(PAIR, True), ("gone", True)]


@pytest.mark.parametrize(
    ("path", "sent", "message"),
    [
        ("chat", {"model": "nobody", "messages": HELLO}, "no pair named nobody"),
        ("chat", {"messages": [{"role": "king"}]}, "messages[0].role has to be"),
        ("chat", {"messages": 5}, "messages has to be a list of objects"),
        ("chat", {"messages": [{"role": "assistant", "tool_calls": CALLS}]}, "a list of at most 128"),
        ("chat", {"messages": HELLO, "options": {"top_k": "many"}}, "options.top_k has to be"),
        ("chat", {"messages": HELLO, "format": {"type": "nothing"}}, "JSON Schema"),
        ("chat", {"messages": [{"role": "user", "images": [base64.b64encode(b"no").decode()]}]}, "image"),
        ("chat", {"messages": HELLO, "format": "xml"}, 'format has to be "json" or a JSON Schema'),
        ("generate", {"prompt": "Well?", "template": "{{ .Prompt }}"}, "template has to be empty"),
        ("generate", {"prompt": "Well?", "raw": True, "images": ["aa"]}, "images has to be left out"),
        ("show", {"model": "nobody"}, "no pair named nobody"),
    ],
)
async def test_errors_are_sentences(path: str, sent: dict[str, Any], message: str) -> None:
    service = FakeService([said("Yes.")])
    async with served(make_app(service)) as url, httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/api/{path}", json=sent)
    assert answer.status_code == (404 if "nobody" in message else 400)
    assert message in answer.json()["error"]
    assert not service.asked


async def test_a_load_counts_for_the_time_that_a_reply_may_take(tmp_path: Path) -> None:
    async with (
        service(tmp_path, limits=ServiceLimits(1, timeout_s=0.05)) as engines,
        engines._pool._one_load,
        served(make_app(engines)) as url,
        httpx2.AsyncClient() as client,
    ):
        answer = await client.post(f"{url}/api/chat", json={"messages": HELLO})
    assert (answer.status_code, "It took longer than 0.05 s" in answer.json()["error"]) == (503, True)


async def test_failures_before_and_in_a_stream_reach_the_client() -> None:
    async with client_of([BusyError("Full.")], [*said("Hel")[:2], EngineError("It stopped.")]) as (client, _):
        with pytest.raises(ollama.ResponseError, match="Full") as caught:
            await client.chat(PAIR, HELLO)
        assert caught.value.status_code == 503
        stream = await client.chat(PAIR, HELLO, stream=True)
        with pytest.raises(ollama.ResponseError, match="It stopped"):
            _ = [line async for line in stream]
