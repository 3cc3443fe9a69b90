"""The endpoints of OpenAI's API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localspec.server.openai.chat import complete_chat
from localspec.server.openai.completions import complete_text
from localspec.server.openai.models import list_models, show_model
from localspec.server.openai.page import openapi_page
from localspec.server.openai.responses import respond
from localspec.server.service import Service

_ENDPOINTS: tuple[tuple[str, str, Callable[[Service, Request], Awaitable[Response]]], ...] = (
    ("POST", "/v1/chat/completions", complete_chat),
    ("POST", "/v1/completions", complete_text),
    ("POST", "/v1/responses", respond),
    ("GET", "/openapi.json", openapi_page),
    ("GET", "/v1/models", list_models),
    ("GET", "/v1/models/{model:path}", show_model),
)


def routes(service: Service) -> list[Route]:
    """The endpoints over ``service``."""
    return [Route(path, partial(answer, service), methods=[method]) for method, path, answer in _ENDPOINTS]
