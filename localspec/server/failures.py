"""Errors as HTTP answers: the one table of statuses, and the JSON that the clients of each API expect."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from math import ceil
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.base.errors import (
    CapacityError,
    DrafterUnavailableError,
    InputError,
    LocalSpecError,
    NotFoundError,
    ReplyStoppedError,
    UsageError,
)
from localspec.base.visible import visible_line
from localspec.server.service import BusyError, NoRoomError, RateLimitError

logger = logging.getLogger("localspec.server")

STATUSES: dict[type[LocalSpecError], HTTPStatus] = {
    UsageError: HTTPStatus.BAD_REQUEST,
    DrafterUnavailableError: HTTPStatus.BAD_REQUEST,
    InputError: HTTPStatus.BAD_REQUEST,
    NotFoundError: HTTPStatus.NOT_FOUND,
    CapacityError: HTTPStatus.BAD_REQUEST,
    NoRoomError: HTTPStatus.INSUFFICIENT_STORAGE,
    ReplyStoppedError: HTTPStatus.FORBIDDEN,
    BusyError: HTTPStatus.SERVICE_UNAVAILABLE,
    RateLimitError: HTTPStatus.TOO_MANY_REQUESTS,
}
"""By the error's class, or else that of its nearest parent. Every other error is the server's own: 500."""

_FOLDERS = re.compile(r"(?<![^\s\"'(])(?<!GET )(?:/[^/\s]+)+/(?=[^/\s])")
"""The folders before the name of a file; endpoints of the server, which hints name, are none."""
_OPTION = re.compile(r"--([a-z][a-z-]*)")

Shape = Callable[[LocalSpecError], dict[str, Any]]
"""The JSON object of an error."""


class InvalidFieldError(InputError):
    """A field of a request that is missing, or has a value that it cannot have."""

    def __init__(self, message: str, hint: str = "", *, param: str | None = None) -> None:
        super().__init__(message, hint)
        self.param = param
        """The name of the field, as ``messages[0].content``."""


class HttpError(InputError):
    """A refusal that HTTP has its own status for: an unknown path, a wrong method, a body that is too large."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.status = HTTPStatus(status)


def status_of(error: LocalSpecError) -> HTTPStatus:
    """The HTTP status of an error."""
    if isinstance(error, HttpError):
        return error.status
    known = (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return next(known, HTTPStatus.INTERNAL_SERVER_ERROR)


def failure_response(request: Request, error: LocalSpecError) -> Response:
    """The answer to a request that failed before its answer began, in the shape of the API that the path is of."""
    headers = {"Retry-After": f"{max(1, ceil(error.retry_after_s))}"} if isinstance(error, BusyError) else None
    return JSONResponse(shape_of(request.url.path)(error), status_of(error), headers)


def shape_of(path: str) -> Shape:
    """The shape of errors under a path; OpenAI's where no other API is."""
    found = (shape for prefix, shape in SHAPES if path.startswith(prefix))
    return next(found, openai_error)


def for_clients(error: LocalSpecError, text: str) -> str:
    """A text of the error without the folders of this machine, which its log keeps."""
    if isinstance(error, UsageError | HttpError | InvalidFieldError | ReplyStoppedError):
        return text  # of what a client or the owner's check said, which is none of the log's business
    told = _FOLDERS.sub("", text)
    if told != text:
        logger.warning("%s", visible_line(text))  # a name in it may be a client's
    return told


def sentence_of(error: LocalSpecError) -> str:
    """The message and the hint; options are spelt as fields where they are the request's own."""
    told = for_clients(error, str(error))
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), told) if type(error) is UsageError else told


def openai_error(error: LocalSpecError) -> dict[str, Any]:
    """OpenAI's shape, which llama-server has, too."""
    status = status_of(error)
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else None)
    param = error.param if isinstance(error, InvalidFieldError) else None
    code = next((code for kinds, code in _OPENAI_CODES if isinstance(error, kinds)), None)
    return {
        "error": {"message": sentence_of(error), "type": kind or "invalid_request_error", "param": param, "code": code}
    }


_OPENAI_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_OPENAI_CODES: tuple[tuple[type[LocalSpecError], str], ...] = (
    (RateLimitError, "rate_limit_exceeded"),
    (BusyError, "server_busy"),
    (NoRoomError, "insufficient_memory"),
    (CapacityError, "context_length_exceeded"),
    (NotFoundError, "model_not_found"),
)


def anthropic_error(error: LocalSpecError) -> dict[str, Any]:
    """Anthropic's shape."""
    status = status_of(error)
    kind = "api_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    return {"type": "error", "error": {"type": _ANTHROPIC_TYPES.get(status, kind), "message": sentence_of(error)}}


_ANTHROPIC_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded_error",
}


def ollama_error(error: LocalSpecError) -> dict[str, Any]:
    """Ollama's shape."""
    return {"error": sentence_of(error)}


def native_error(error: LocalSpecError) -> dict[str, Any]:
    """The shape of LocalSpec's own endpoints: ``Failed``, as the engine process says it."""
    return {
        "kind": "Failed",
        "request_id": None,
        "exit_code": error.exit_code,
        "message": for_clients(error, error.message),
        "hint": for_clients(error, error.hint),
        "died": False,
    }


SHAPES: tuple[tuple[str, Shape], ...] = (
    ("/v1/messages", anthropic_error),
    ("/api/", ollama_error),
    ("/localspec/", native_error),
)
"""Beginnings of paths, with the shape of errors under each."""
