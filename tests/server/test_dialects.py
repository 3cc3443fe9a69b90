"""All APIs over one pair: the same text, the same call, the same limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import httpx2
import pytest

from localspec.engine.events import Started
from localspec.runtime.messages import Message
from localspec.server.app import make_app
from localspec.server.fields import MOST_COLONS, MOST_OBJECTS, MOST_SEPARATORS, check_values, fields_of_json
from tests.server.fakes import ELSEWHERE, PAIR, FakeService, said
from tests.server.fakes import served as served_app
from tests.server.test_serve import served

ASKED: list[dict[str, Any]] = [{"role": "user", "content": "What is LocalSpec?"}]
PARAMETERS = {"type": "object", "properties": {}}
TIME: dict[str, Any] = {"name": "get_time", "description": "The time of this machine.", "parameters": PARAMETERS}
NOW: list[dict[str, Any]] = [{"role": "user", "content": "What time is it?"}]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", {"messages": ASKED}, 400),
        ("/v1/chat/completions", {"messages": ASKED, "n": 2}, 400),
        ("/v1/responses", {"input": "What is LocalSpec?"}, 400),
        ("/v1/messages", {"messages": ASKED}, 400),
        ("/api/chat", {"messages": ASKED}, 200),
    ],
)
async def test_a_conversation_that_is_too_long_is_refused_but_by_ollama(
    path: str, body: dict[str, Any], status: int, stream: bool
) -> None:
    """Ollama leaves the oldest messages out, and its clients count on it; others look for words of the refusal."""
    started, *rest = said("Yes.")
    assert isinstance(started, Started)
    for less in (replace(started, dropped_n=2), replace(started, cut_n=1)):
        app = make_app(FakeService([[less, *rest]]))
        async with served_app(app) as url, httpx2.AsyncClient(base_url=url) as client:
            answer = await client.post(path, json={**body, "stream": stream})
        assert answer.status_code == status
        for words in ("prompt is too long", "exceeds the available context size"):
            assert (words in answer.text) is (status == 400)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": ASKED}),
        ("/v1/completions", {"prompt": "Once"}),
        ("/v1/responses", {"input": "What is LocalSpec?"}),
        ("/v1/messages", {"messages": ASKED}),
        ("/completion", {"prompt": "Once"}),
    ],
)
async def test_a_program_may_send_any_name_of_a_model(path: str, body: dict[str, Any]) -> None:
    """The server's own pair answers and says so. A pair that is known and not here is asked for in vain."""
    async with served_app(make_app(FakeService([said("Yes.")]))) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post(path, json={**body, "model": "gpt-5"})
        refused = await client.post(path, json={**body, "model": ELSEWHERE})
    assert (answer.status_code, answer.json()["model"], refused.status_code) == (200, PAIR, 404)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": ASKED, "stop": ["a"] * 129}),
        ("/v1/completions", {"prompt": "Once", "stop": ["a"] * 129}),
        ("/v1/messages", {"messages": ASKED, "stop_sequences": ["a"] * 129}),
        ("/api/chat", {"messages": ASKED, "options": {"stop": ["a"] * 129}}),
        ("/completion", {"prompt": "Once", "stop": ["a"] * 129}),
    ],
)
async def test_stop_strings_are_so_many_at_most(path: str, body: dict[str, Any]) -> None:
    """They are looked for in each token, while other replies wait."""
    service = FakeService([said("Yes.")])
    async with served_app(make_app(service)) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post(path, json=body)
    assert (answer.status_code, "at most 128" in answer.text, service.asked) == (400, True, [])


@pytest.mark.parametrize(
    "content", ["", "[" * MOST_SEPARATORS, ":" * MOST_COLONS], ids=["objects", "separators", "colons"]
)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/responses/input_tokens",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/api/chat",
        "/completion",
        "/apply-template",
    ],
)
async def test_a_request_with_more_values_than_any_context_holds_is_refused(path: str, content: str) -> None:
    """It would have to be read value by value, while no other request is answered."""
    messages_n = 1 if content else MOST_OBJECTS
    name = "input" if path.startswith("/v1/responses") else "messages"
    service = FakeService([said("Yes.")])
    async with served_app(make_app(service)) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post(path, json={name: [{"role": "user", "content": content}] * messages_n})
    assert (answer.status_code, "no context holds as many" in answer.text) == (413, True)
    assert not service.asked
    assert not service.questions


@pytest.mark.parametrize(("path", "role"), [("/v1/chat/completions", "system"), ("/v1/messages", "user")])
async def test_messages_that_become_one_are_copied_once(path: str, role: str) -> None:
    """If each copied those before it, this conversation would take minutes, and the event loop would stand still."""
    messages_n, text = 29_000, "x" * 1_000
    service = FakeService([said("Yes.")])
    conversation = [*[{"role": role, "content": text}] * messages_n, {"role": "assistant", "content": "Yes?"}, *ASKED]
    async with served_app(make_app(service)) as url, httpx2.AsyncClient(base_url=url, timeout=60) as client:
        answer = await client.post(path, json={"messages": conversation})
    assert answer.status_code == 200, answer.text
    first, *others = cast(Sequence[Message], service.asked[0].prompt)
    assert (len(first.content), len(others)) == (messages_n * (len(text) + 2) - 2, 2)


def test_as_many_values_as_may_be_are_read() -> None:
    objects: list[Any] = [{"name": 0}] * (MOST_OBJECTS - 1)
    colons_n = MOST_COLONS - len(objects) - 2
    values = [":" * colons_n, *[0] * (MOST_SEPARATORS - 2 * len(objects) - 3)]
    body = json.dumps({"objects": objects, "values": values}).encode()
    check_values(body)
    assert fields_of_json(body).values == {"objects": objects, "values": values}


def test_every_api_has_the_same_greedy_text_and_the_same_call() -> None:
    with served() as (_, url), httpx2.Client(base_url=url, timeout=60.0) as client:

        def ask(path: str, **body: Any) -> Any:
            answer = client.post(path, json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

        prompt = ask("/apply-template", messages=ASKED)["prompt"]
        tokens = ask("/tokenize", content=prompt, add_special=True)["tokens"]
        replies = [
            ask("/v1/chat/completions", messages=ASKED, temperature=0)["choices"][0]["message"]["content"],
            ask("/v1/responses", input=ASKED, temperature=0)["output"][0]["content"][0]["text"],
            ask("/v1/messages", messages=ASKED, temperature=0)["content"][0]["text"],
            ask("/api/chat", messages=ASKED, options={"temperature": 0}, stream=False)["message"]["content"],
            ask("/completion", prompt=prompt, temperature=0)["content"],
            ask("/completion", prompt=tokens, temperature=0)["content"],
        ]
        assert len(set(replies)) == 1
        assert "LocalSpec" in replies[0]
        assert ask("/detokenize", tokens=tokens)["content"] == prompt
        assert ask("/v1/messages/count_tokens", messages=ASKED) == {"input_tokens": len(tokens)}
        counted = ask("/v1/responses/input_tokens", input=ASKED)
        assert counted == {"object": "response.input_tokens", "input_tokens": len(tokens)}

        function = {"type": "function", "function": TIME}
        anthropics = {**TIME, "input_schema": PARAMETERS}
        chat = ask("/v1/chat/completions", messages=NOW, tools=[function], temperature=0)["choices"][0]["message"]
        blocks = ask("/v1/messages", messages=NOW, tools=[anthropics], temperature=0)["content"]
        message = ask("/api/chat", messages=NOW, tools=[function], options={"temperature": 0}, stream=False)["message"]
        calls = [
            (chat["tool_calls"][0]["function"]["name"], json.loads(chat["tool_calls"][0]["function"]["arguments"])),
            (blocks[-1]["name"], blocks[-1]["input"]),
            (message["tool_calls"][0]["function"]["name"], message["tool_calls"][0]["function"]["arguments"]),
        ]
        assert calls == [("get_time", {})] * 3
        assert (chat["content"], message["content"], len(blocks)) == (None, "", 1)

        begun = {"messages": NOW, "tools": [function], "tool_choice": "required"}
        cuts = [
            ask("/v1/chat/completions", **begun, **cut)["choices"][0] for cut in ({"max_tokens": 8}, {"stop": ["\n"]})
        ]
        assert [(cut["message"]["content"], cut["finish_reason"]) for cut in cuts] == [("", "length"), ("", "stop")]

        result = {"type": "tool_result", "tool_use_id": blocks[-1]["id"], "content": "23:04"}
        said = [*NOW, {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
        (block,) = ask("/v1/messages", messages=said, tools=[anthropics], temperature=0)["content"]
        assert "23:04" in block["text"]
