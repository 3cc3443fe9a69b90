"""llama-server's own endpoints beside its completions: health, facts, tokens and prompts."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localspec import __version__
from localspec.gguf import read_header
from localspec.runtime.messages import Role
from localspec.runtime.worker.messages import Detokenize, Detokenized, Render, Rendered, Tokenize, Tokenized
from localspec.server.completion import complete, fill_in, generation_settings
from localspec.server.fields import Fields
from localspec.server.openai.messages import messages_of, tools_of
from localspec.server.service import ServedModel, Service


def routes(service: Service) -> list[Route]:
    """The routes of these endpoints."""

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def props(request: Request) -> Response:
        return JSONResponse(await _props(service, request.query_params.get("model", "")))

    async def slots(request: Request) -> Response:
        return JSONResponse(await _slots(service, request.query_params.get("model", "")))

    async def tokenize(request: Request) -> Response:
        return JSONResponse(await _tokenize(service, await Fields.of(request)))

    async def detokenize(request: Request) -> Response:
        return JSONResponse(await _detokenize(service, await Fields.of(request)))

    async def apply_template(request: Request) -> Response:
        return JSONResponse(await _apply_template(service, await Fields.of(request)))

    async def completion(request: Request) -> Response:
        return await complete(service, await Fields.of(request))

    async def infill(request: Request) -> Response:
        return await fill_in(service, await Fields.of(request))

    gets = {"/health": health, "/v1/health": health, "/props": props, "/slots": slots}
    posts = {
        "/tokenize": tokenize,
        "/detokenize": detokenize,
        "/apply-template": apply_template,
        "/completion": completion,
        "/completions": completion,
        "/infill": infill,
    }
    return [
        *(Route(path, answer) for path, answer in gets.items()),
        *(Route(path, answer, methods=["POST"]) for path, answer in posts.items()),
    ]


async def _loaded(service: Service, model: str) -> ServedModel:
    """The pair, which is loaded if need be. Raises LocalSpecError."""
    pair_id = service.settings(model).pair_id
    await service.info(model)
    models = service.models()
    return next((each for each in models if model and each.id in (model, pair_id)), models[0])


async def _props(service: Service, model: str) -> dict[str, Any]:
    config, pair = service.settings(model), await _loaded(service, model)
    header = await asyncio.to_thread(read_header, config.load.target)
    return {
        "default_generation_settings": {**_slot(pair, 0), "params": generation_settings(config.reply)},
        "total_slots": pair.places_n,
        "model_alias": pair.id,
        "model_path": config.load.target.name,
        "modalities": {"vision": config.load.projector is not None, "audio": False},
        "chat_template": (header.chat_template or "").encode(errors="replace").decode(),
        "build_info": f"localspec-{__version__}",
    }


async def _slots(service: Service, model: str) -> list[dict[str, Any]]:
    """The places for replies: those in use come first. What stands in them is told to nobody."""
    pair = await _loaded(service, model)
    return [_slot(pair, i) for i in range(pair.places_n)]


def _slot(pair: ServedModel, index: int) -> dict[str, Any]:
    info = pair.info
    return {
        "id": index,
        "n_ctx": info.n_ctx if info else 0,
        "speculative": info is not None and (info.draft is not None or bool(info.drafters)),
        "is_processing": index < pair.replies_n,
    }


async def _tokenize(service: Service, fields: Fields) -> dict[str, Any]:
    text = fields.text("content", "")
    asked = Tokenize(0, text, fields.flag("parse_special", default=True), fields.flag("add_special"))
    answer = await service.ask(fields.text("model", ""), asked)
    assert isinstance(answer, Tokenized)
    if not fields.flag("with_pieces"):
        return {"tokens": list(answer.ids)}
    pairs = zip(answer.ids, answer.pieces, strict=True)
    return {"tokens": [{"id": token, "piece": _piece(piece)} for token, piece in pairs]}


def _piece(piece: bytes) -> str | list[int]:
    """A token's text, or its bytes if they are none."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


async def _detokenize(service: Service, fields: Fields) -> dict[str, Any]:
    answer = await service.ask(fields.text("model", ""), Detokenize(0, fields.token_ids("tokens")))
    assert isinstance(answer, Detokenized)
    return {"content": answer.text}


async def _apply_template(service: Service, fields: Fields) -> dict[str, Any]:
    messages, prefix = await messages_of(fields), ""
    if len(messages) > 1 and messages[-1].role is Role.ASSISTANT and not messages[-1].calls:
        messages, prefix = messages[:-1], messages[-1].content
    answer = await service.ask(fields.text("model", ""), Render(0, messages, tools_of(fields), prefix))
    assert isinstance(answer, Rendered)
    return {"prompt": answer.text}
