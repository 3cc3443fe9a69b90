"""The endpoints of OpenAI's API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localspec.server.openai.chat import complete_chat
from localspec.server.service import Service

_POSTS: dict[str, Callable[[Service, Request], Awaitable[Response]]] = {
    "/v1/chat/completions": complete_chat,
}


def routes(service: Service) -> list[Route]:
    """The endpoints over ``service``."""
    return [Route(path, partial(answer, service), methods=["POST"]) for path, answer in _POSTS.items()]
