"""The page in OpenAPI says what the server reads: each field, and the values that it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator
from starlette.requests import Request

from localspec.engine.events import FinishReason
from localspec.runtime.worker.messages import Rendered, Tokenized
from localspec.server.app import make_app
from localspec.server.embeddings import Embeddings, routes
from localspec.server.fields import Fields, fields_of_json
from localspec.server.openai.openapi import POSTS
from tests.server.fakes import PAIR, FakeService, said
from tests.server.test_embeddings import Started, two_files

NUMBERS: tuple[Any, ...] = (-5, 1, 1.5, 1.0, 10**9, 3 * 10**9, 5e9, 10**17, 10**20, [5], [3 * 10**9], [[5], [10**20]])
OBJECTS: tuple[Any, ...] = ({"a": 5}, [{"a": 5}], [{"type": None, "name": "a"}], {"type": "text", "json_schema": {}})
CANDIDATES = (*NUMBERS, *OBJECTS, {"include_usage": 5}, {"5": 1e10}, "wrong", True, False, 0, "", [], {}, None)
REFUSED = {
    *("functions", "function_call", "chat_template", "add_generation_prompt"),
    *("previous_response_id", "conversation", "background", "prompt", "include", "top_logprobs"),
}
"""Fields that are read to be refused with a sentence of their own."""
FIRST: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello!"}], "prompt": "Once", "input": "Hello!"}
by_path = pytest.mark.parametrize(("path", "fields"), [(path, fields) for path, _, fields in POSTS])


class Noted(dict[str, Any]):
    """The body of a request that notes the fields that are asked for."""

    def __init__(self, values: dict[str, Any], asked: set[str]) -> None:
        super().__init__(values)
        self._asked = asked

    def get(self, key: str, default: Any = None) -> Any:
        self._asked.add(key)
        return super().get(key, default)


def client(path: str = "") -> httpx2.AsyncClient:
    """``path`` is the endpoint that is to be asked."""
    counts = path.endswith("input_tokens")
    answers = [Rendered(0, "<user>Hello!", 5)] * 99 if counts else [Tokenized(0, (1,), (b"Once",))] * 9
    service = FakeService([said("Yes", reason=FinishReason.LENGTH)], answers)
    app = make_app(service, routes=routes(Embeddings(start=Started(), find=two_files)))
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost")


@by_path
async def test_every_field_that_is_read_is_on_the_page(
    path: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()

    async def noted(request: Request) -> Fields:
        return Fields(Noted(dict(fields_of_json(await request.body()).values), asked))

    monkeypatch.setattr(Fields, "of", noted)
    first = next(iter(fields))
    async with client(path) as http:
        for stream in (False, True):
            answer = await http.post(path, json={first: FIRST[first], "stream": stream})
            assert answer.status_code == 200
    assert asked - (REFUSED - fields.keys()) == fields.keys()


def wrong(schema: dict[str, Any]) -> Iterator[Any]:
    """Values that a schema does not allow."""
    validator = Draft202012Validator(schema)
    return (value for value in CANDIDATES if not validator.is_valid(value))


@by_path
async def test_the_page_and_the_server_refuse_the_same(path: str, fields: dict[str, Any]) -> None:
    """One field at a time; a value that the page allows may be refused only for what a schema cannot say."""
    first = next(iter(fields))
    async with client(path) as http:
        for name, schema in fields.items():
            for value, stream in zip(wrong(schema), cycle((False, True)), strict=False):
                answer = await http.post(path, json={first: FIRST[first], "stream": stream, name: value})
                assert answer.status_code == 400, (name, value)
                assert answer.json()["error"]["param"].startswith(name), (name, value)
            for value in map(json.dumps, (each for each in CANDIDATES if Draft202012Validator(schema).is_valid(each))):
                sent = f'{{"{first}": {json.dumps(FIRST[first])}, "{name}": {value}}}'
                answer = await http.post(path, content=sent)
                unsaid = name in ("model", "grammar", "json_schema", "best_of", "suffix", "dimensions")
                allowed = answer.status_code == 200 or (value == "null" and name == first)
                assert allowed or (unsaid and answer.status_code < 500), (name, value, answer.text)


async def test_the_page_is_sound() -> None:
    async with client() as http:
        page = (await http.get("/openapi.json")).json()
        models = (await http.get("/v1/models")).json()
    for path, _, fields in POSTS:
        body = page["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        Draft202012Validator.check_schema(body)
        assert body["properties"] == json.loads(json.dumps(fields))
    assert models["data"][0]["id"] == PAIR
