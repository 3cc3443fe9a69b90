"""Middleware: limits of how much a client may send and how slowly, and an end of the work when it hangs up.

All scopes are HTTP requests: the server has neither WebSockets nor events of a life span.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localspec.server.failures import HttpError, failure_response

MOST_BYTES = 32_000_000
"""The largest body of a request."""
PATIENCE_S = 30.0
"""The time that a body may take, and ``LEAST_BYTES_PER_S`` more of it for what has come."""
LEAST_BYTES_PER_S = 10_000
LINGER_S = 3.0
"""The time for a client to send the rest of a body that is too large: many read no answer before."""


class BodyLimit:
    """Answers a body that is too large with status 413, one that does not come with 408, and closes the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The call of ASGI."""
        body = _Body(receive, send)
        length = Request(scope).headers.get("content-length", "")
        if length.isdigit() and int(length) > MOST_BYTES:
            if "expect" not in Request(scope).headers:
                await body.skip()
            await failure_response(Request(scope), body.refusal(_TOO_LARGE))(scope, receive, body.send)
            return
        await self._app(scope, body.receive, body.send)


_TOO_LARGE = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The request is larger than {MOST_BYTES // 10**6} MB.")
_TOO_SLOW = (HTTPStatus.REQUEST_TIMEOUT, "The request did not come whole.")


class _Body:
    """The body of a request on its way to the app."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._begun = asyncio.get_running_loop().time()
        self._received_n = 0
        self._whole = self._refused = False

    async def receive(self) -> Message:
        """The next piece. Raises HttpError."""
        if self._whole:
            return await self._receive()
        deadline = self._begun + PATIENCE_S + self._received_n / LEAST_BYTES_PER_S
        try:
            async with asyncio.timeout_at(deadline):
                message = await self._receive()
        except TimeoutError:
            raise self.refusal(_TOO_SLOW) from None
        self._received_n += len(message.get("body", b""))
        if self._received_n > MOST_BYTES:
            await self.skip()
            raise self.refusal(_TOO_LARGE)
        self._whole = not message.get("more_body", False)
        return message

    async def skip(self) -> None:
        """Take the rest of the body, as far as it comes soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while (await self._receive()).get("more_body", False):
                    pass

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer; after a refusal the rest of the body is not waited for."""
        if self._refused and message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await self._send(message)

    def refusal(self, why: tuple[HTTPStatus, str]) -> HttpError:
        """The error to answer with."""
        self._refused = self._whole = True
        return HttpError(*why)


class EndsWithClient:
    """Cancels the work on a request when its client hangs up, whether its answer has begun or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The call of ASGI."""
        connection = _Connection(receive, send)
        working = asyncio.ensure_future(self._app(scope, connection.receive, connection.send))
        watching = asyncio.create_task(connection.watch(working))
        try:
            await working
        except (asyncio.CancelledError, ClientDisconnect):
            if not connection.cut:
                raise
        finally:
            watching.cancel()


class _Connection:
    """The connection to a client during one request."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._read = asyncio.Event()
        """Set when the body is whole: only then may others than the app receive."""
        self._gone = asyncio.Event()
        self._answered = False
        self.cut = False
        """True if the client hung up before the end of its answer."""

    async def receive(self) -> Message:
        if self._read.is_set():
            await self._gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._gone.set()
            self.cut = not self._answered
        if not message.get("more_body", False):
            self._read.set()
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._answered = True
        await self._send(message)

    async def watch(self, working: asyncio.Future[None]) -> None:
        """Cancel the work when the client hangs up."""
        await self._read.wait()
        while not self._gone.is_set():
            if (await self._receive())["type"] == "http.disconnect":
                self._gone.set()
        if not self._answered:
            self.cut = True
            working.cancel()
