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
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.base.errors import OWN_FOLDER, EngineError, InputError, LocalSpecError, StoreError, refused
from localspec.base.typed_json import misfit
from localspec.runtime.images import keep_image
from localspec.runtime.messages import ReplyOptions, TokenIds
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.remote.protocol import ASK, IMAGES, LOAD, PAIRS
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
from localspec.server.failures import for_clients
from localspec.server.fields import check_values
from localspec.server.openai.options import MOST_STOPS
from localspec.server.service import Endpoints, ReplyRequest, ServedModel, Service
from localspec.server.streaming import StreamResponse


async def _pairs(service: Service, request: Request) -> Response:
    pairs = [_pair(each) for each in await service.listed() if each.embedder is None]
    return JSONResponse({"localspec": version("localspec"), "pairs": pairs})


async def _load(service: Service, request: Request) -> Response:
    async def answers() -> AsyncGenerator[Answer, None]:
        yield Loaded(_nameless(await service.info(pair)))

    pair = request.query_params.get("pair", "")
    await request.body()  # none, but only then is the client watched
    return _answered(answers(), None)


async def _ask(service: Service, request: Request) -> Response:
    asked = await asyncio.to_thread(_request, await request.body())
    pair = request.query_params.get("pair", "") or service.answering("")
    info = next((each.info for each in service.models() if each.id == pair), None)
    _check(asked, info)
    return _answered(_answers(service, pair, asked), asked.request_id)


async def _keep(service: Service, request: Request) -> Response:
    try:
        kept = await asyncio.to_thread(keep_image, await request.body())
    except ValueError:
        raise InputError("The image is no PNG of the form that LocalSpec keeps.", _VERSIONS) from None
    except OSError as error:
        raise StoreError(*refused("The image cannot be kept", error, OWN_FOLDER)) from error
    return JSONResponse({"sha256": kept.sha256})


def _failed(error: LocalSpecError, request_id: int | None) -> Failed:
    message, hint = for_clients(error, error.message), for_clients(error, error.hint)
    return Failed(request_id, error.exit_code, message, hint)


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


def _answered(answers: AsyncGenerator[Answer, None], request_id: int | None) -> Response:
    """The answers as a stream, with empty lines where nothing else comes."""
    return StreamResponse(
        _lines(answers), lambda error: encode(_failed(error, request_id)), "application/x-ndjson", beat=lambda: b"\n"
    )


async def _lines(answers: AsyncGenerator[Answer, None]) -> AsyncGenerator[bytes]:
    async with aclosing(answers):
        async for answer in answers:
            yield encode(answer)


ENDPOINTS: Endpoints = (
    ("POST", IMAGES, _keep),
    ("GET", PAIRS, _pairs),
    ("POST", LOAD, _load),
    ("POST", ASK, _ask),
)
