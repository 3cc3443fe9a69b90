"""Access control: the keys of clients, the ``Host`` under which the server is asked, and the ``Origin`` of web pages.

A page of any site can have its browser send requests to this machine. One that is answered for such a page names the
page's site as its origin, and after DNS rebinding the page's own name as the host: both are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from localspec.base.listening import LOOPBACK_NAMES, without_port
from localspec.base.visible import visible_line
from localspec.runtime.remote.address import is_loopback
from localspec.server.failures import HttpError, failure_response
from localspec.server.keys import ApiKey, holder_of
from localspec.server.middleware import BodyLimit, EndsWithClient
from localspec.server.service import CLIENT

_OPEN_PATHS = ("/", "/health", "/v1/health")
"""The page without figures, and what tells a load balancer that the server lives."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The rules of the gate."""

    host: str
    """The name or address that the server listens at."""
    keys: Sequence[ApiKey] = ()
    """The keys; if there are any, every request needs one."""
    origins: Sequence[str] = ()
    """The sites whose pages may ask; "*" is every site."""

    def middleware(self) -> list[Middleware]:
        """The gate, and the limits of what a client sends and takes, the outermost first."""
        cors = Middleware(
            CORSMiddleware,
            allow_origins=list(self.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["Retry-After"],
            # Some browsers ask for a page of the internet whether this machine may be asked.
            allow_private_network=True,
        )
        gate = [Middleware(Gate, rules=self), Middleware(BodyLimit), Middleware(EndsWithClient)]
        return [cors, *gate] if self.origins else gate

    def check(self, request: Request) -> str:
        """The name of the client's key, empty if none is needed. Raises HttpError."""
        self._check_framing(request)
        self._check_host(request)
        self._check_origin(request)
        if not self.keys or request.url.path in _OPEN_PATHS:
            return ""
        key = next(filter(None, (holder_of(given, self.keys) for given in _keys_in(request))), None)
        if key is None:
            text = "This server needs a key, and the request has none that it knows."
            hint = "Send it as `Authorization: Bearer KEY` or `x-api-key: KEY`."
            raise HttpError(HTTPStatus.UNAUTHORIZED, text, hint)
        return key.name

    def _check_framing(self, request: Request) -> None:
        """Refuse a compressed body, and what a proxy before this server may have read as another request than this."""
        if "transfer-encoding" in request.headers and "content-length" in request.headers:
            raise HttpError(HTTPStatus.BAD_REQUEST, "Transfer-Encoding and Content-Length contradict each other.")
        if (coding := request.headers.get("content-encoding", "identity")) != "identity":
            text = f"The body of the request is compressed ({visible_line(coding)[:40]})."
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text, "Send it as it is.")

    def _check_host(self, request: Request) -> None:
        """Refuse other host names than those of this machine where no key protects the server."""
        host = without_port(request.headers.get("host", "localhost"))  # without one it is no browser that asks
        if not self.keys and is_loopback(self.host) and host not in (*LOOPBACK_NAMES, self.host.lower()):
            hint = "Use localhost; with --api-key-file the server has any name, as behind a proxy."
            raise HttpError(HTTPStatus.FORBIDDEN, "This server is not known under that host name.", hint)

    def _check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        if origin is None and request.headers.get("sec-fetch-site") == "cross-site":
            origin = ""  # an image or a frame of another site, which its browser asks for without an origin
            if request.url.path in _OPEN_PATHS:
                return
        if origin is None or origin in self.origins or "*" in self.origins:
            return
        if origin.partition("://")[2] != request.headers.get("host"):
            hint = "`localspec serve --allow-origin` names sites that may."
            raise HttpError(HTTPStatus.FORBIDDEN, "Pages of that site may not ask this server.", hint)


class Gate:
    """Refuses requests against the rules; what is behind it finds the client's name in ``CLIENT``."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The call of ASGI."""
        request = Request(scope)
        try:
            CLIENT.set(self._rules.check(request))
        except HttpError as refusal:
            answer = failure_response(request, refusal)
            if refusal.status is HTTPStatus.UNAUTHORIZED:
                answer.headers["WWW-Authenticate"] = "Bearer"
            answer.headers["Connection"] = "close"
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _keys_in(request: Request) -> tuple[str, str]:
    """The keys in the two headers: some programs send any word in one, and the key in the other."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else "", request.headers.get("x-api-key", "")
