"""llama-server's own endpoints beside its completions: health, facts, tokens and prompts.

It has some of OpenAI's endpoints without the version in the path, too; its ``/completions`` is another API.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec import __version__
from localspec.gguf import read_header
from localspec.runtime.worker.messages import Detokenize, Detokenized, Render, Rendered, Tokenize, Tokenized
from localspec.server.fields import Fields
from localspec.server.llama_completions import complete, fill_in, generation_settings
from localspec.server.openai.api import list_models
from localspec.server.openai.chat import complete_chat
from localspec.server.openai.messages import messages_of, split_prefix, tools_of
from localspec.server.openai.options import check_length, pair_of, reasoning_of
from localspec.server.openai.responses import respond
from localspec.server.service import BusyError, Endpoints, ServedModel, Service


async def _loaded(service: Service, model: str) -> ServedModel:
    """The pair, which is loaded if need be. Raises LocalSpecError."""
    await service.info(model)
    models = await service.listed()
    return next((each for each in models if each.id == model), models[0])


async def _health(service: Service, request: Request) -> Response:
    """Status 503 while the server's own pair waits for another machine, which is named to nobody without a key."""
    if service.models()[0].silence:
        raise BusyError("A machine that computes the pair does not answer.", "GET /localspec/v1/status has more.")
    return JSONResponse({"status": "ok"})


async def _props(service: Service, request: Request) -> Response:
    model = request.query_params.get("model", "")
    config, pair = service.settings(model), await _loaded(service, model)
    header = await asyncio.to_thread(read_header, config.load.target)
    facts = {
        "default_generation_settings": {**_slot(pair, 0), "params": generation_settings(config.reply)},
        "total_slots": pair.places_n,
        "total_slots_why": pair.info.few_replies if pair.info else "",
        "model_alias": pair.id,
        "model_path": config.load.target.name,
        "modalities": {"vision": config.load.projector is not None, "audio": False},
        "chat_template": (header.chat_template or "").encode(errors="replace").decode(),
        "build_info": f"localspec-{__version__}",
    }
    return JSONResponse(facts)


async def _slots(service: Service, request: Request) -> Response:
    """The slots: those in use come first. Their texts are not shown."""
    pair = await _loaded(service, request.query_params.get("model", ""))
    return JSONResponse([_slot(pair, i) for i in range(pair.places_n)])


def _slot(pair: ServedModel, index: int) -> dict[str, Any]:
    info = pair.info
    return {
        "id": index,
        "n_ctx": info.n_ctx if info else 0,
        "speculative": info is not None and (info.draft is not None or bool(info.drafters)),
        "is_processing": index < pair.replies_n,
    }


async def _tokenize(service: Service, request: Request) -> Response:
    fields = await Fields.of(request)
    text = fields.text("content", "")
    check_length(text)
    asked = Tokenize(0, text, fields.flag("parse_special", default=True), fields.flag("add_special"))
    answer = await service.ask(pair_of(service, fields), asked)
    assert isinstance(answer, Tokenized)
    if not fields.flag("with_pieces"):
        return JSONResponse({"tokens": list(answer.ids)})
    return Response(await asyncio.to_thread(_with_pieces, answer), media_type="application/json")


def _with_pieces(answer: Tokenized) -> str:
    """The tokens with their texts as JSON, written bit by bit: in one go no other thread could run meanwhile."""
    pairs = zip(answer.ids, answer.pieces, strict=True)
    listed = [{"id": token, "piece": _piece(piece)} for token, piece in pairs]
    return "".join(json.JSONEncoder(ensure_ascii=False).iterencode({"tokens": listed}))


def _piece(piece: bytes) -> str | list[int]:
    """A token's text, or its bytes if they are none."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


async def _detokenize(service: Service, request: Request) -> Response:
    fields = await Fields.of(request)
    answer = await service.ask(pair_of(service, fields), Detokenize(0, fields.token_ids("tokens")))
    assert isinstance(answer, Detokenized)
    return JSONResponse({"content": answer.text})


async def _apply_template(service: Service, request: Request) -> Response:
    fields = await Fields.of(request)
    pair = pair_of(service, fields)
    reasoning = reasoning_of(fields, service.settings(pair).reply.reasoning)
    messages, prefix = split_prefix(await messages_of(fields))
    check_length(prefix, *(message.content for message in messages))
    answer = await service.ask(pair, Render(0, messages, tools_of(fields), prefix, reasoning))
    assert isinstance(answer, Rendered)
    return JSONResponse({"prompt": answer.text})


ENDPOINTS: Endpoints = (
    ("GET", "/health", _health),
    ("GET", "/v1/health", _health),
    ("GET", "/props", _props),
    ("GET", "/slots", _slots),
    ("GET", "/models", list_models),
    ("POST", "/tokenize", _tokenize),
    ("POST", "/detokenize", _detokenize),
    ("POST", "/apply-template", _apply_template),
    ("POST", "/completion", complete),
    ("POST", "/completions", complete),
    ("POST", "/infill", fill_in),
    ("POST", "/chat/completions", complete_chat),
    ("POST", "/responses", respond),
)
