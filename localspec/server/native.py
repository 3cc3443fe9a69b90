"""LocalSpec's own endpoints, for a chat that runs elsewhere (``--connect``): the messages of the engine process.

``GET /localspec/v1/pairs``
    The version of LocalSpec, and all pairs.
``POST /localspec/v1/images``
    Keep an image that messages name by its digest: the body is a PNG of the form that ``runtime.images`` has.
``POST /localspec/v1/load?pair=ID``
    Load a pair; the answer is one line with ``Loaded`` or ``Failed``.
``POST /localspec/v1/ask?pair=ID``
    The body is one line with a request that has a number, as ``runtime.worker.codec`` writes it; the answer is the
    lines that the engine process would answer with.

No ID is the server's own pair. An answer that takes long begins with empty lines, and has some between its lines, so
that the client can tell a busy server from one that is gone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from localspec.base.errors import OWN_FOLDER, EngineError, InputError, LocalSpecError, StoreError, refused
from localspec.base.typed_json import misfit
from localspec.runtime.images import keep_image
from localspec.runtime.messages import ReplyOptions, TokenIds
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.remote.protocol import ASK, HEARTBEAT_S, IMAGES, LOAD, PAIRS
from localspec.runtime.sampling import check_ranges
from localspec.runtime.worker.codec import decode_request, encode
from localspec.runtime.worker.messages import (
    Answer,
    Complete,
    Detokenize,
    Emitted,
    Failed,
    Inspect,
    Inspected,
    Loaded,
    Numbered,
    Score,
    Scored,
    TextAnswer,
    Weigh,
    Weighed,
    Write,
)
from localspec.server.failures import failure_response
from localspec.server.fields import check_values
from localspec.server.openai.options import MOST_STOPS
from localspec.server.service import ReplyRequest, ServedModel, Service

_EMPTY_LINE = b"\n"


def routes(service: Service) -> list[Route]:
    """The endpoints over ``service``."""
    return [
        Route(IMAGES, _keep, methods=["POST"]),
        Route(PAIRS, partial(_pairs, service), methods=["GET"]),
        Route(LOAD, partial(_load, service), methods=["POST"]),
        Route(ASK, partial(_ask, service), methods=["POST"]),
    ]


async def _pairs(service: Service, request: Request) -> Response:
    pairs = [_pair(each) for each in await service.listed() if each.embedder is None]
    return JSONResponse({"localspec": version("localspec"), "pairs": pairs})


async def _load(service: Service, request: Request) -> Response:
    async def answers() -> AsyncGenerator[Answer, None]:
        yield Loaded(_nameless(await service.info(pair)))

    pair = request.query_params.get("pair", "")
    await request.body()  # none, but only then is the client watched
    return await _answered(request, answers(), None)


async def _ask(service: Service, request: Request) -> Response:
    asked = await asyncio.to_thread(_request, await request.body())
    pair = request.query_params.get("pair", "") or service.answering("")
    info = next((each.info for each in service.models() if each.id == pair), None)
    _check(asked, info)
    return await _answered(request, _answers(service, pair, asked), asked.request_id)


async def _keep(request: Request) -> Response:
    try:
        kept = await asyncio.to_thread(keep_image, await request.body())
    except ValueError:
        raise InputError("The image is no PNG of the form that LocalSpec keeps.", _VERSIONS) from None
    except OSError as error:
        raise StoreError(*refused("The image cannot be kept", error, OWN_FOLDER)) from error
    return JSONResponse({"sha256": kept.sha256})


def _failed(error: LocalSpecError, request_id: int | None) -> Failed:
    return Failed(request_id, error.exit_code, error.message, error.hint)


def _pair(model: ServedModel) -> dict[str, Any]:
    info = json.loads(encode(Loaded(_nameless(model.info))))["info"] if model.info is not None else None
    return {
        "id": model.id,
        "name": model.name,
        "created": model.created,
        "size_bytes": model.size_bytes,
        "loaded": model.loaded,
        "info": info,
    }


def _nameless(info: PairInfo) -> PairInfo:
    """The facts without the folders of this machine."""
    draft, projector = (Path(file.name) if file is not None else None for file in (info.draft, info.projector))
    return replace(info, target=Path(info.target.name), draft=draft, projector=projector)


def _request(body: bytes) -> Numbered:
    """Raises InputError if the body is no request with a number, HttpError if it has too many values."""
    check_values(body)
    try:
        request = decode_request(body)
    except EngineError as error:
        raise InputError(f"The request is not understood: {error.message}", _VERSIONS) from None
    if not isinstance(request, Numbered):
        raise InputError(f"A {type(request).__name__} cannot be asked for here.", _VERSIONS)
    if (field := misfit(request)) is not None:
        raise InputError(f"{field} has a value that it cannot have.", _VERSIONS)
    return request


_VERSIONS = "Are both LocalSpecs of the same version?"


def _check(request: Numbered, info: PairInfo | None) -> None:
    """Raise InputError or UsageError for values that would break the engine."""
    if isinstance(request, Write | Inspect | Weigh):
        _check_options(request.options)
    ids: Sequence[int] = ()
    inside = True
    match request:
        case Detokenize(ids=ids) | Complete(prompt=TokenIds(ids=ids)):
            pass
        case Inspect(reply=ids, position=position):
            inside = 0 <= position < len(ids)
        case Weigh(reply=ids, start=start, stop=stop) | Score(ids=ids, start=start, stop=stop):
            inside = 0 <= start <= stop <= len(ids)
    if not inside or any(not 0 <= each < (info.n_vocab if info else 2**31) for each in ids):
        raise InputError("The request names a token that is not there.", _VERSIONS)


def _check_options(options: ReplyOptions) -> None:
    check_ranges(options.sampling)
    options.sampling.check()
    numbers = (options.max_tokens, options.logprobs, options.seed)
    if any(each is not None and not 0 <= each < 2**32 for each in numbers):
        raise InputError("A number of the options is out of its range.", _VERSIONS)
    if not all(options.stop) or len(options.stop) > MOST_STOPS:
        raise InputError(f"A stop is empty, or there are more than {MOST_STOPS}.", _VERSIONS)
    for tool in options.tools:
        try:
            known = isinstance(json.loads(tool.parameters), dict)
        except ValueError:
            known = False
        if not known:
            raise InputError("The parameters of a tool are no JSON Schema.", _VERSIONS)


async def _answers(service: Service, pair: str, asked: Numbered) -> AsyncGenerator[Answer, None]:
    """The answers of the engine process, with the client's own number."""
    if isinstance(asked, Write):
        reply = service.reply(ReplyRequest(pair, asked.prompt, asked.options, asked.prefix))
        async with aclosing(reply) as events:
            async for event in events:
                yield Emitted(asked.request_id, event)
    else:
        answer = await service.ask(pair, asked)
        if isinstance(answer, Inspected | Weighed | Scored | TextAnswer):
            answer = replace(answer, request_id=asked.request_id)
        yield answer


async def _answered(request: Request, answers: AsyncGenerator[Answer, None], request_id: int | None) -> Response:
    """The answers as a stream; what fails soon, and before the first of them, has its own status."""
    lines = _Lines(answers, request_id)
    try:
        return _Stream(lines, await lines.begin())
    except LocalSpecError as error:
        await lines.close()
        return failure_response(request, error)
    except asyncio.CancelledError:  # the client has hung up
        await lines.close()
        raise


class _Stream(StreamingResponse):
    """Closes its lines, also if it ends before the first of them."""

    def __init__(self, lines: _Lines, first: bytes | None) -> None:
        super().__init__(lines.rest(first), media_type="application/x-ndjson")
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._lines.close()


class _Lines:
    """Answers as lines, with empty ones where nothing else comes."""

    def __init__(self, answers: AsyncGenerator[Answer, None], request_id: int | None) -> None:
        self._answers = answers
        self._request_id = request_id
        self._next = asyncio.ensure_future(anext(answers, None))
        self._closing: asyncio.Task[None] | None = None

    async def begin(self) -> bytes | None:
        """The first line; an empty one if it takes long, None if there will be none. Raises LocalSpecError."""
        return await self._line()

    async def rest(self, first: bytes | None) -> AsyncGenerator[bytes, None]:
        """All lines from the first on; the last is a failure if one comes in between."""
        try:
            line = first
            while line is not None:
                yield line
                line = await self._line()
        except LocalSpecError as error:
            yield encode(_failed(error, self._request_id))

    async def close(self) -> None:
        """End what is under way, in a task that goes on if this one is cancelled."""
        self._closing = self._closing or asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._next.cancel()
        await asyncio.wait({self._next})
        if not self._next.cancelled():
            self._next.exception()  # asked for, so that asyncio does not report it as lost
        await self._answers.aclose()

    async def _line(self) -> bytes | None:
        if (await asyncio.wait({self._next}, timeout=HEARTBEAT_S))[0]:
            answer = self._next.result()
            if answer is None:
                return None
            self._next = asyncio.ensure_future(anext(self._answers, None))
            return encode(answer)
        return _EMPTY_LINE
