"""Embeddings over HTTP, as the clients of OpenAI and Ollama ask for them."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import ollama
import openai
import pytest
from starlette.middleware import Middleware

from localspec.base.errors import EngineError
from localspec.runtime.embedding.process import Vector
from localspec.server.app import make_app
from localspec.server.embeddings import MOST_TEXTS, Embeddings, routes
from localspec.server.keys import ApiKey, RateLimits
from localspec.server.middleware import EndsWithClient
from localspec.server.service import BusyError
from tests.builtin import TARGET
from tests.server.fakes import PAIR, FakeService, served
from tests.server.test_engines import service, until
from tests.tiny_embedders import N_CTX, WIDTH, write_embedder

MOST_TOKENS = 4
FILES = (Path("small.gguf"), Path("large.gguf"))
NAMES = ("large", "small.gguf", "text-embedding-3-small", "")


@dataclass
class FakeEmbedder:
    """Counts words as tokens; the text "fail" ends it, and the text "wait" is answered once ``go`` is set."""

    path: Path
    go: threading.Event = field(default_factory=threading.Event)
    texts: list[str] = field(default_factory=list)
    closed: bool = False
    most_tokens: int = MOST_TOKENS

    def vector(self, text: str) -> Vector:
        self.texts.append(text)
        if text == "wait":
            self.go.wait(60)
        if text == "fail":
            raise EngineError("The embedding model failed (it ended).")
        return Vector(np.array([len(text), 1], np.float32), len(text.split()))

    def close(self) -> None:
        self.closed = True
        self.go.set()


@dataclass
class Started:
    """The processes that were started."""

    embedders: list[FakeEmbedder] = field(default_factory=list)

    def __call__(self, path: Path) -> FakeEmbedder:
        self.embedders.append(FakeEmbedder(path))
        return self.embedders[-1]

    @property
    def latest(self) -> FakeEmbedder:
        return self.embedders[-1]


def two_files(environ: Mapping[str, str]) -> Sequence[Path]:
    """The models of a machine, the smallest first."""
    return FILES


@asynccontextmanager
async def client_of(
    start: Started, find: Callable[[Mapping[str, str]], Sequence[Path]] = two_files, **given: Any
) -> AsyncGenerator[httpx2.AsyncClient]:
    embeddings = Embeddings(start=start, find=find, **given)
    app = make_app(FakeService(), routes=routes(embeddings), middleware=[Middleware(EndsWithClient)])
    async with (
        served(app) as url,
        httpx2.AsyncClient(base_url=url, timeout=60) as client,
    ):
        yield client
    await embeddings.close()


async def test_words_of_one_meaning_are_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real model, asked by the clients of OpenAI and Ollama; a text is taken as it is, whatever its length."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path))
    write_embedder(tmp_path / "embed.gguf", name="Nomic")
    shutil.copy(TARGET, tmp_path / "chat.gguf")
    embeddings = Embeddings()
    async with served(make_app(FakeService(), routes=routes(embeddings))) as url:
        texts = ["car", "automobile", "ocean"]
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
            packed = await client.embeddings.create(model="text-embedding-3-small", input=texts)
            listed = await client.embeddings.create(model="embed", input="car", encoding_format="float")
            with pytest.raises(
                openai.BadRequestError, match=f"Text 2 of 2 has 402 tokens, but embed reads {N_CTX} at most"
            ):
                await client.embeddings.create(model="embed", input=["car", "sea " * 400])
        async with ollama.AsyncClient(url) as other:
            same = await other.embed("embed:latest", texts)
            older = await other.embeddings("embed", "car")
            cut = await other.embed("embed", "sea " * 400)
    await embeddings.close()
    car, automobile, ocean = (np.array(each.embedding) for each in packed.data)
    assert (packed.model, packed.usage.prompt_tokens, [each.index for each in packed.data]) == ("embed", 9, [0, 1, 2])
    assert len(car) == WIDTH
    assert float(np.linalg.norm(car)) == pytest.approx(1, abs=1e-5)
    assert float(car @ automobile) > float(car @ ocean) + 0.2
    assert np.allclose(listed.data[0].embedding, car, atol=1e-6)
    assert np.allclose(same.embeddings, [car, automobile, ocean], atol=1e-6)
    assert np.allclose(older.embedding, car, atol=1e-6)
    assert (same.model, same.prompt_eval_count) == ("embed", 9)
    assert cut.prompt_eval_count == N_CTX


async def test_a_model_is_chosen_by_its_file() -> None:
    """Any other name is answered by the smallest; one model is loaded at a time."""
    start = Started()
    async with client_of(start) as client:
        for name in NAMES:
            answer = (await client.post("/v1/embeddings", json={"model": name, "input": "a"})).json()
            assert answer["model"] == ("large" if name == "large" else "small")
        assert [each.path for each in start.embedders] == [FILES[1], FILES[0]]
        assert [each.closed for each in start.embedders] == [True, False]
    assert start.latest.closed


@pytest.mark.parametrize(("path", "name"), [("/api/embed", "input"), ("/api/embeddings", "prompt")])
async def test_ollamas_clients_choose_from_its_list(path: str, name: str) -> None:
    """No other model answers for a name that none has."""
    async with client_of(Started()) as client:
        statuses = [(await client.post(path, json={"model": model, name: "a"})).status_code for model in NAMES]
    assert statuses == [200, 200, 404, 200]


async def test_models_are_listed_beside_the_pairs(tmp_path: Path) -> None:
    """Marked, so that chats do not offer them."""
    embedder = write_embedder(tmp_path / "embed.gguf")
    embeddings = Embeddings(start=Started(), find=lambda environ: (tmp_path / "gone.gguf", embedder))
    service = FakeService(embedding_models=await embeddings.models())
    async with served(make_app(service)) as url, httpx2.AsyncClient(base_url=url) as client:
        listed = (await client.get("/v1/models")).json()["data"]
        tags = (await client.get("/api/tags")).json()["models"]
        shown = (await client.post("/api/show", json={"model": "embed:latest"})).json()
    await embeddings.close()
    for models, key in ((listed, "id"), (tags, "model")):
        assert [(each[key], each.get("capabilities")) for each in models] == [(PAIR, None), ("embed", ["embedding"])]
    assert tags[1]["size"] == embedder.stat().st_size
    assert (shown["capabilities"], shown["details"]["family"]) == (["embedding"], "bert")


async def test_the_disk_is_not_searched_for_every_request() -> None:
    """Nor believed to be empty: a model that is put there is found by the next request."""
    searched: list[Sequence[Path]] = []

    def search(environ: Mapping[str, str]) -> Sequence[Path]:
        searched.append(FILES if searched else ())
        return searched[-1]

    async with client_of(Started(), find=search) as client:
        answers = [await client.post("/v1/embeddings", json={"model": "other", "input": "a"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404, 200, 200]
    assert len(searched) == 2


async def test_without_a_model_the_answer_says_where_one_belongs() -> None:
    async with client_of(Started(), find=lambda environ: ()) as client:
        answer = await client.post("/api/embed", json={"input": "a"})
    assert answer.status_code == 404
    assert "There is no embedding model on this machine." in answer.json()["error"]
    assert "pairs scan" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": ["a"] * (MOST_TEXTS + 1)}, "input"),
        ({"input": [1, 2]}, "tokens of another model's vocabulary"),
        ({"input": [[1, 2], [3]]}, "check_embedding_ctx_length=False"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "a", "dimensions": 3}, "embeddings of small have 2 dimensions"),
        ({"input": "one two three four five"}, "Text 1 of 1 has 5 tokens, but small reads 4 at most"),
    ],
)
async def test_what_cannot_be_answered_is_refused_in_a_sentence(body: dict[str, Any], named: str) -> None:
    async with client_of(Started()) as client:
        answer = await client.post("/v1/embeddings", json=body)
    assert answer.status_code == 400
    assert named in answer.text


async def test_requests_take_turns_text_by_text() -> None:
    """A single text does not wait for the end of a long list."""
    start = Started()
    async with client_of(start) as client:
        many = asyncio.create_task(client.post("/v1/embeddings", json={"input": ["wait", *"bcdefgh"]}))
        await until(lambda: bool(start.embedders) and start.latest.texts == ["wait"])
        one = asyncio.create_task(client.post("/v1/embeddings", json={"input": "one"}))
        await asyncio.sleep(0)
        start.latest.go.set()
        answers = await asyncio.gather(many, one)
    assert [len(answer.json()["data"]) for answer in answers] == [8, 1]
    assert start.latest.texts.index("one") < 8


async def test_a_client_that_hangs_up_is_worked_for_no_longer() -> None:
    start = Started()
    async with client_of(start) as client:
        asking = asyncio.create_task(client.post("/v1/embeddings", json={"input": ["wait"] * MOST_TEXTS}))
        await until(lambda: bool(start.embedders) and bool(start.latest.texts))
        asking.cancel()
        await asyncio.wait({asking})
        start.latest.go.set()
        answer = await client.post("/v1/embeddings", json={"input": "after"})
        assert answer.status_code == 200
    assert len(start.latest.texts) < MOST_TEXTS


async def test_a_model_that_failed_is_started_anew() -> None:
    start = Started()
    async with client_of(start) as client:
        failed = await client.post("/v1/embeddings", json={"input": "fail"})
        again = await client.post("/v1/embeddings", json={"input": "works"})
    assert (failed.status_code, again.status_code) == (500, 200)
    assert "The embedding model failed" in failed.text
    assert [each.closed for each in start.embedders] == [True, True]


async def test_a_model_that_nobody_asks_is_put_away() -> None:
    start = Started()
    async with client_of(start, idle_s=0.02) as client:
        await client.post("/v1/embeddings", json={"input": "a"})
        await until(lambda: start.latest.closed)
        await client.post("/v1/embeddings", json={"input": "a"})
        assert len(start.embedders) == 2


@pytest.mark.parametrize("cut_off", [False, True])
async def test_a_stop_lets_texts_end_and_takes_no_more(tmp_path: Path, cut_off: bool) -> None:
    """As with replies; those whose time is up are told why there is no answer."""
    start = Started()
    embeddings = Embeddings(start=start, find=two_files)
    async with service(tmp_path, vectors=embeddings) as engines:
        asking = asyncio.create_task(embeddings.vectors("", ["wait", "next"], cut=True))
        await until(lambda: bool(start.embedders) and start.latest.texts == ["wait"])
        engines.stop()
        with pytest.raises(BusyError, match="The server is stopping"):
            await embeddings.vectors("", ["new"], cut=True)
        assert engines.busy
        if cut_off:
            engines.fail_all()
        start.latest.go.set()
        (outcome,) = await asyncio.gather(asking, return_exceptions=True)
        assert ("The server stopped before" in str(outcome)) is cut_off
        assert start.latest.texts == (["wait"] if cut_off else ["wait", "next"])
        assert not engines.busy
    await embeddings.close()


async def test_the_end_of_the_server_waits_for_no_text() -> None:
    """The process is closed while its thread still waits for an answer, and the other texts are left."""
    start = Started()
    embeddings = Embeddings(start=start, find=two_files)
    asking = asyncio.create_task(embeddings.vectors("", ["wait", "next"], cut=True))
    await until(lambda: bool(start.embedders) and start.latest.texts == ["wait"])
    await embeddings.close()
    with pytest.raises(BusyError):
        await asking
    assert start.latest.closed
    assert start.latest.texts == ["wait"]


@pytest.mark.parametrize("key", [ApiKey("", b"", requests_per_minute=1), ApiKey("", b"", tokens_per_minute=2)])
async def test_texts_count_for_the_limits_of_a_key(key: ApiKey) -> None:
    """Requests and tokens, as those of replies do."""
    start = Started()
    async with client_of(start, rates=RateLimits([key])) as client:
        statuses = [
            (await client.post("/v1/embeddings", json={"input": "one two three"})).status_code for _ in range(2)
        ]
    assert statuses == [200, 429]
    assert len(start.latest.texts) == 1
