"""The endpoints of OpenAI's API, and those of its models: the pairs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.base.errors import NotFoundError
from localspec.server.ollama_models import kind_of, time_text
from localspec.server.openai.chat import complete_chat
from localspec.server.openai.completions import complete_text
from localspec.server.openai.openapi import openapi_page
from localspec.server.openai.responses import count_input_tokens, respond
from localspec.server.service import Endpoints, ServedModel, Service


async def list_models(service: Service, request: Request) -> Response:
    """All pairs, and the embedding models."""
    listed = [_model(each) for each in await service.listed()]
    ends = {"has_more": False, "first_id": listed[0]["id"], "last_id": listed[-1]["id"]}
    return JSONResponse({"object": "list", "data": listed, **ends})


async def show_model(service: Service, request: Request) -> Response:
    """One of them, or all behind a last slash. Raises NotFoundError."""
    named = request.path_params["model"]
    if not named:
        return await list_models(service, request)
    found = next((each for each in await service.listed() if each.id == named), None)
    if found is None:
        raise NotFoundError(f"There is no pair named {named}.", "GET /v1/models lists the pairs.")
    return JSONResponse(_model(found))


def _model(model: ServedModel) -> dict[str, Any]:
    """A pair as OpenAI and Anthropic have models, with llama-server's ``meta``."""
    meta: dict[str, Any] = {"name": model.name, "size": model.size_bytes, "loaded": model.loaded}
    if model.info is not None:
        meta |= {"n_ctx": model.info.n_ctx, "n_vocab": model.info.n_vocab, "draft": model.info.draft_name}
    return {
        "id": model.id,
        "object": "model",
        "created": model.created,
        "owned_by": "localspec",
        "type": "model",
        "display_name": model.name,
        "created_at": time_text(model.created),
        "meta": meta,
        **kind_of(model),
    }


ENDPOINTS: Endpoints = (
    ("POST", "/v1/chat/completions", complete_chat),
    ("POST", "/v1/completions", complete_text),
    ("POST", "/v1/responses", respond),
    ("POST", "/v1/responses/input_tokens", count_input_tokens),
    ("GET", "/openapi.json", openapi_page),
    ("GET", "/v1/models", list_models),
    ("GET", "/v1/models/{model:path}", show_model),
)
