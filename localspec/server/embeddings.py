"""Embeddings of texts for other programs: OpenAI's ``/v1/embeddings`` and Ollama's ``/api/embed``.

They come from an embedding model in a process of its own, beside the pairs: the one that a request names by its file,
or else the smallest on this machine. It ends when nothing was asked of it for a while.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localspec.base.errors import InputError, NotFoundError
from localspec.base.visible import visible_line
from localspec.models.pairs.embedder import find_embedders
from localspec.runtime.embedding.process import EmbeddingProcess, Vector
from localspec.server.failures import InvalidFieldError
from localspec.server.fields import Fields
from localspec.server.keys import RateLimits
from localspec.server.ollama_models import pair_id
from localspec.server.service import CLIENT, STOPPED, STOPPING, BusyError, ServedModel

PATH = "/v1/embeddings"
MOST_TEXTS = 2048
"""The most texts of a request, as OpenAI has it."""
IDLE_S = 300.0
_FOUND_S = 60.0
"""Seconds for which the models that were found are taken to be all."""
_NONE = "There is no embedding model on this machine."
_NONE_HINT = "Put one (a small GGUF such as bge-small or nomic-embed-text) where `localspec pairs scan` looks."


class TextEmbedder(Protocol):
    """As ``EmbeddingProcess``."""

    most_tokens: int

    def vector(self, text: str) -> Vector: ...
    def close(self) -> None: ...


class Embeddings:
    """The embedding models of this machine, one of which is loaded at a time. To be used in one event loop."""

    def __init__(
        self,
        rates: RateLimits | None = None,
        start: Callable[[Path], TextEmbedder] = EmbeddingProcess.of,
        find: Callable[[Mapping[str, str]], Sequence[Path]] = find_embedders,
        *,
        idle_s: float = IDLE_S,
    ) -> None:
        self._rates = rates or RateLimits()
        self._start, self._find, self._idle_s = start, find, idle_s
        # Its one thread asks one text after the other, so that requests take turns.
        self._thread = ThreadPoolExecutor(1, "embeddings")
        self._process: TextEmbedder | None = None
        self._path: Path | None = None
        self._found: Sequence[Path] = ()
        self._found_at = -inf
        self._idle: asyncio.TimerHandle | None = None
        self._asked_n = 0
        """Requests under way."""
        self._stopping = self._closed = False

    async def models(self) -> Sequence[ServedModel]:
        """The embedding models, the smallest first."""
        return await asyncio.to_thread(self._listed)  # not in the thread of texts, which may take long

    async def vectors(
        self, model: str, texts: Sequence[str], *, cut: bool, by_name: bool = False
    ) -> tuple[str, list[Vector]]:
        """The name of the model that answers, and a vector for each text. With ``cut`` long texts are cut.

        With ``by_name`` no other model answers for a name that none has. Raises LocalSpecError.
        """
        if self._stopping:
            raise BusyError(*STOPPING)
        client, loop = CLIENT.get(), asyncio.get_running_loop()
        self._rates.admit(client)
        found: list[Vector] = []
        self._asked_n += 1
        try:
            path = await loop.run_in_executor(self._thread, self._chosen, model, by_name)
            name = visible_line(path.stem)
            for number, text in enumerate(texts, 1):
                if self._closed:
                    raise BusyError(*STOPPED)
                vector, most_n = await loop.run_in_executor(self._thread, self._vector, path, text)
                if vector.tokens_n > most_n and not cut:
                    which = f"Text {number} of {len(texts)}"
                    raise InputError(
                        f"{which} has {vector.tokens_n:,} tokens, but {name} reads {most_n:,} at most.",
                        "Send it in pieces.",
                    )
                found.append(replace(vector, tokens_n=min(vector.tokens_n, most_n)))
        finally:
            self._asked_n -= 1
            self._rates.spend(client, sum(vector.tokens_n for vector in found))
            self._wait_for_more(loop)
        return name, found

    def _wait_for_more(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the process ended if nothing is asked for a while."""
        if self._idle:
            self._idle.cancel()
        if not self._closed:
            self._idle = loop.call_later(self._idle_s, self._thread.submit, self._end)

    @property
    def busy(self) -> bool:
        """True while a request is under way."""
        return self._asked_n > 0

    def stop(self) -> None:
        """Refuse new requests; those under way go on."""
        self._stopping = True

    def fail_all(self) -> None:
        """Fail every request under way, so that its client is told why there is no more."""
        self._stopping = self._closed = True

    async def close(self) -> None:
        """End the model's process. Texts that are waited for fail."""
        self.fail_all()
        if self._idle:
            self._idle.cancel()
        if self._process:
            self._process.close()  # its thread may be waiting for an answer
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._end()

    # In the thread

    def _chosen(self, model: str, by_name: bool) -> Path:
        """The file of the model that answers for a name. Raises NotFoundError if there is none."""
        found = self._here(anew=not self._found)
        if not found:
            raise NotFoundError(_NONE, _NONE_HINT)
        named = next((path for path in found if model in (path.stem, path.name)), None)
        if named is None and model and by_name:
            raise NotFoundError(f"There is no embedding model named {model}.", "GET /api/tags lists them.")
        return named or found[0]

    def _here(self, *, anew: bool = False) -> Sequence[Path]:
        """The files that were found not long ago."""
        now = time.monotonic()
        if anew or now > self._found_at + _FOUND_S:
            self._found, self._found_at = self._find(os.environ), now
        return self._found

    def _listed(self) -> Sequence[ServedModel]:
        listed = []
        for path in self._here():
            with suppress(OSError):  # it has just gone
                facts, name = path.stat(), visible_line(path.stem)
                loaded = self._process is not None and path == self._path
                created, size = int(facts.st_mtime), facts.st_size
                listed.append(ServedModel(name, name, created, size, loaded=loaded, embedder=path))
        return listed

    def _vector(self, path: Path, text: str) -> tuple[Vector, int]:
        """The vector of a text, and the most tokens that count of one. Raises EngineError."""
        if self._process is None or path != self._path:
            self._end()
            self._process, self._path = self._start(path), path
        try:
            return self._process.vector(text), self._process.most_tokens
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


def routes(embeddings: Embeddings) -> list[Route]:
    """The endpoints over ``embeddings``."""
    endpoints: dict[str, Callable[[Embeddings, Request], Awaitable[Response]]] = {
        PATH: _openai,
        "/embeddings": _openai,
        "/api/embed": _ollama,
        "/api/embeddings": _ollama_single,
    }
    return [Route(path, partial(answer, embeddings), methods=["POST"]) for path, answer in endpoints.items()]


async def _openai(embeddings: Embeddings, request: Request) -> Response:
    fields = await Fields.of(request)
    texts = _texts(fields)
    if (form := fields.text("encoding_format", "float")) not in ("float", "base64"):
        fields.refuse("encoding_format", '"float" or "base64"')
    model, vectors = await embeddings.vectors(fields.text("model", ""), texts, cut=False)
    _check_width(fields, model, vectors)
    tokens_n = sum(vector.tokens_n for vector in vectors)
    rest = {"object": "list", "model": model, "usage": {"prompt_tokens": tokens_n, "total_tokens": tokens_n}}
    shape = '{{"object": "embedding", "index": {index}, "embedding": {vector}}}'
    return await _answer("data", vectors, rest, shape, _base64 if form == "base64" else _numbers)


async def _ollama(embeddings: Embeddings, request: Request) -> Response:
    started, fields = time.monotonic_ns(), await Fields.of(request)
    texts, cut = _texts(fields), fields.flag("truncate", default=True)
    model, vectors = await embeddings.vectors(pair_id(fields), texts, cut=cut, by_name=True)
    _check_width(fields, model, vectors)
    rest = {
        "model": model,
        "total_duration": time.monotonic_ns() - started,
        "load_duration": 0,
        "prompt_eval_count": sum(vector.tokens_n for vector in vectors),
    }
    return await _answer("embeddings", vectors, rest)


async def _ollama_single(embeddings: Embeddings, request: Request) -> Response:
    """The older endpoint, with one text and its vector."""
    fields = await Fields.of(request)
    _, (vector,) = await embeddings.vectors(pair_id(fields), [fields.text("prompt")], cut=True, by_name=True)
    return JSONResponse({"embedding": vector.values.tolist()})


def _texts(fields: Fields) -> Sequence[str]:
    listed = fields.raw("input")
    if isinstance(listed, list) and listed and not any(isinstance(each, str) for each in listed):
        raise InvalidFieldError(
            "input has to be a text or a list of texts; tokens of another model's vocabulary are not accepted.",
            "With LangChain, set check_embedding_ctx_length=False.",
            param="input",
        )
    texts = fields.texts("input")
    if not 1 <= len(texts) <= MOST_TEXTS:
        fields.refuse("input", f"a text or a list of 1 to {MOST_TEXTS} texts")
    return texts


def _check_width(fields: Fields, model: str, vectors: Sequence[Vector]) -> None:
    width = len(vectors[0].values)
    if fields.whole("dimensions") not in (None, width):
        raise InvalidFieldError(
            f"The embeddings of {model} have {width} dimensions.", "Leave dimensions out.", param="dimensions"
        )


def _numbers(vector: Vector) -> str:
    return json.dumps(vector.values.tolist())


def _base64(vector: Vector) -> str:
    """The numbers with 32 bits each, the lowest byte first, as the client of OpenAI asks for."""
    return json.dumps(base64.b64encode(vector.values.astype("<f4").tobytes()).decode("ascii"))


async def _answer(
    name: str,
    vectors: Sequence[Vector],
    rest: Mapping[str, Any],
    shape: str = "{vector}",
    write: Callable[[Vector], str] = _numbers,
) -> Response:
    """A JSON object of ``rest`` and a list of vectors, written in a thread, one by one, so that replies go on."""

    def text() -> str:
        listed = ", ".join(shape.format(index=index, vector=write(vector)) for index, vector in enumerate(vectors))
        return f'{json.dumps(rest)[:-1]}, "{name}": [{listed}]}}'

    return Response(await asyncio.to_thread(text), media_type="application/json")
