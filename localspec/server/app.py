"""The app of the server: the routes of every API, and the answers to requests that fail."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from localspec.base.errors import LocalSpecError
from localspec.server import anthropic, llama_server, native, ollama
from localspec.server.failures import HttpError, failure_response
from localspec.server.openai import api as openai
from localspec.server.service import Service

_APIS = (openai, anthropic, ollama, llama_server, native)


def make_app(service: Service, *, routes: Sequence[BaseRoute] = (), middleware: Sequence[Middleware] = ()) -> Starlette:
    """The app over ``service``: the APIs and further ``routes``, behind ``middleware`` (the first is the outermost).

    A middleware answers a refusal with ``failure_response``.
    """
    endpoints = [
        Route(path, partial(answer, service), methods=[method])
        for api in _APIS
        for method, path, answer in api.ENDPOINTS
    ]
    return Starlette(
        routes=[*endpoints, *routes],
        middleware=middleware,
        exception_handlers={LocalSpecError: _failed, HTTPException: _refused, Exception: _broken},
    )


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, LocalSpecError)
    return failure_response(request, error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    method, path = request.method, request.url.path
    messages = {
        HTTPStatus.NOT_FOUND: f"There is nothing at {path}.",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{path} does not take {method}.",
    }
    message = messages.get(HTTPStatus(error.status_code), error.detail)
    answer = failure_response(request, HttpError(error.status_code, message))
    answer.headers.update(error.headers or {})
    return answer


async def _broken(request: Request, error: Exception) -> Response:
    """Starlette raises the error again after this answer, so that uvicorn logs it."""
    bug = LocalSpecError("Something went wrong inside LocalSpec.", "The server's log has the details.")
    return failure_response(request, bug)
