"""HTTP with one server, from one thread: a request ends soon after it is cancelled, and no answer is unbounded."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import httpx2

from localspec.base.errors import CapacityError, EngineError, InputError, LocalSpecError, NotFoundError, error_from_code
from localspec.base.visible import visible_line
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.runtime.remote.address import KEY_VARIABLE, ServerAddress, api_key, impossible_address

T = TypeVar("T")

CONNECT_S = 10.0
_POLL_S = 0.05
_LONGEST_LINE_BYTES = 8_000_000
_LONGEST_ANSWER_BYTES = 16_000_000
_LONGEST_REASON = 400
_NEXT = "Try again."
_BUSY = (429, 503)
"""Statuses of a server that has too much to do."""


class ForeignAnswerError(EngineError):
    """An answer that no LocalSpec gives."""


class RefusedFieldError(InputError):
    """A field of a request that the server or its model does not take, or not with this value."""

    def __init__(self, message: str, hint: str, field: str) -> None:
        super().__init__(message, hint)
        self.field = field
        """Its name, as the server says it."""


class Connection:
    """Requests to one server, over connections that stay open between them. Raises Cancelled where it is cancelled."""

    def __init__(self, address: ServerAddress, cancel: Cancellation) -> None:
        """Raises UsageError for an address or a key that cannot be."""
        self.address = address
        self._cancel = cancel
        key = api_key(address)
        try:
            self._client = httpx2.AsyncClient(
                base_url=address.url,
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=httpx2.Timeout(CONNECT_S),
                # A transport of its own: no proxy of the environment stands between two programs of this machine.
                transport=httpx2.AsyncHTTPTransport() if address.is_here else None,
            )
        except httpx2.InvalidURL:  # a name that the domain system cannot have
            raise impossible_address() from None
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._client.aclose())
            self._loop.close()

    def get(self, path: str, *, silence_s: float = CONNECT_S) -> Any:
        """The JSON at a path. Raises NotFoundError if there is nothing, LocalSpecError."""
        return self._json("GET", path, None, silence_s)

    def send(self, path: str, body: bytes) -> Any:
        """The JSON that answers these bytes. Raises as ``get``."""
        return self._json("POST", path, body, CONNECT_S)

    def lines(self, path: str, body: bytes, *, silence_s: float) -> Iterator[bytes]:
        """The lines of the answer to ``body``, which is JSON, as they come; not those that are empty.

        A server that is silent for ``silence_s`` is given up. Raises LocalSpecError.
        """
        response = self._wait(self._begin("POST", path, body, silence_s))
        chunks = response.aiter_bytes()
        rest = b""
        try:
            while (chunk := self._wait(self._chunk(chunks))) is not None:
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (stripped for line in lines if (stripped := line.strip()))
                if len(rest) > _LONGEST_LINE_BYTES:
                    raise self.confused("a line that does not end")
            if rest.strip():
                yield rest.strip()
        finally:
            self._loop.run_until_complete(response.aclose())

    def confused(self, what: str) -> ForeignAnswerError:
        """The error of an answer that is not as it should be."""
        return ForeignAnswerError(
            f"{self.address.place} sent {what}, which LocalSpec does not understand.",
            "Is it a server with OpenAI's API, or a LocalSpec of the same version?",
        )

    def broken_off(self) -> EngineError:
        """The error of an answer that ends too early."""
        return EngineError(f"{self.address.place} broke off in the middle of its answer.", _NEXT)

    def _json(self, method: str, path: str, body: bytes | None, silence_s: float) -> Any:
        data = self._wait(self._whole(method, path, body, silence_s))
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise self.confused("an answer that is no JSON") from None

    async def _whole(self, method: str, path: str, body: bytes | None, silence_s: float) -> bytes:
        response = await self._begin(method, path, body, silence_s)
        try:
            return await self._bounded(response)
        finally:
            await response.aclose()

    async def _bounded(self, response: httpx2.Response) -> bytes:
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > _LONGEST_ANSWER_BYTES:
                raise self.confused("an answer without end")
        return bytes(data)

    async def _begin(self, method: str, path: str, body: bytes | None, silence_s: float) -> httpx2.Response:
        """The response, its head read. Raises LocalSpecError for a refusal."""
        timeout = httpx2.Timeout(CONNECT_S, read=silence_s)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        request = self._client.build_request(method, path, content=body, headers=headers, timeout=timeout)
        response = await self._client.send(request, stream=True)
        if response.status_code == httpx2.codes.OK:
            return response
        try:
            raise self._refusal(response, await self._bounded(response))
        finally:
            await response.aclose()

    async def _chunk(self, chunks: AsyncIterator[bytes]) -> bytes | None:
        return await anext(chunks, None)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``. Raises Cancelled, LocalSpecError."""
        task = self._loop.create_task(work)
        while not task.done():
            if self._cancel.is_set():
                task.cancel()
                self._loop.run_until_complete(asyncio.wait({task}))
                raise Cancelled
            self._loop.run_until_complete(asyncio.wait({task}, timeout=_POLL_S))
        try:
            return task.result()
        except httpx2.HTTPError as error:
            self._fail(error)

    def _fail(self, error: httpx2.HTTPError) -> NoReturn:
        """Raise EngineError for a request that failed on its way."""
        place = self.address.place
        causes = list(_causes(error))
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            hint = "Set SSL_CERT_FILE to the certificate of its authority, if you trust that."
            raise EngineError(f"The certificate of {place} is not accepted.", hint) from error
        if isinstance(error, httpx2.ConnectError) and any(isinstance(cause, ssl.SSLError) for cause in causes):
            hint = "If the server speaks HTTP alone, write http:// in front of the address."
            raise EngineError(f"An encrypted connection to {place} is not possible.", hint) from error
        match error:
            case httpx2.ConnectTimeout() | httpx2.ConnectError():
                why = "does not answer" if isinstance(error, httpx2.TimeoutException) else "cannot be reached"
                raise EngineError(f"{place} {why}.", f"Is the server running there? {_NEXT}") from error
            case httpx2.TimeoutException():
                raise EngineError(f"{place} has been silent for too long.", _NEXT) from error
            case _:
                raise self.broken_off() from error

    def _refusal(self, response: httpx2.Response, body: bytes) -> LocalSpecError:
        """The error for a status that is no success; the server's own sentence is in it."""
        status, place = response.status_code, self.address.place
        data = _parsed(body)
        said = _reason(data)
        if status == 403 and data.get("kind") == "Failed":  # a LocalSpec refuses keys with 401
            return EngineError(f"{place} refuses the request{because(said)}", _shown(str(data.get("hint", ""))))
        if status in (401, 403):
            hint = f"Set {KEY_VARIABLE} in the environment to a key of that server."
            kind = EngineError if status == 401 else ForeignAnswerError  # some say 403 to every path that they lack
            return kind(f"{place} refuses this key, or asks for one (status {status}){because(said)}", hint)
        if status in _BUSY:
            wait = response.headers.get("retry-after", "")
            when = f"in {wait} seconds" if wait.isdigit() and len(wait) < 6 else "later"
            return CapacityError(f"{place} has too much to do{because(said)}", f"Send the message again {when}.")
        if data.get("kind") == "Failed" and isinstance(data.get("exit_code"), int):
            return error_from_code(data["exit_code"], _shown(said), _shown(str(data.get("hint", ""))))
        if status == 404:
            return NotFoundError(f"{place} does not have this{because(said)}", "Check the address and --pair.")
        if 400 <= status < 500:
            text = f"{place} refuses the request (status {status}){because(said)}"
            if _is_too_long(data):
                return CapacityError(text, "Shorten it, or start a new chat.")
            hint, field = "Change it, and try again.", _refused_field(data)
            return RefusedFieldError(text, hint, field) if field else InputError(text, hint)
        if location := response.headers.get("location", ""):
            text = f"{place} failed (status {status}): it refers to {_shown(location)}"
            return ForeignAnswerError(f"{text}, which is not followed.", "Connect to the address that answers.")
        return EngineError(f"{place} failed (status {status}){because(said)}", _NEXT)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def because(said: str) -> str:
    r"""The end of a sentence, with the server's own words if it has any.

    >>> because("No room"), because("")
    (': No room.', '.')
    """
    shown = _shown(said).rstrip()
    return f": {shown}{'' if shown.endswith(('.', '!', '?')) else '.'}" if shown else "."


def _parsed(body: bytes) -> Mapping[str, Any]:
    """The object that an answer is, or the first of a list; empty if it is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    first = data[0] if isinstance(data, list) and data else data
    return first if isinstance(first, dict) else {}


def _reason(data: Mapping[str, Any]) -> str:
    """The words of an error, in one of the shapes that servers have; empty if there are none."""
    error = data.get("error") or data
    said = error.get("message") or error.get("detail") if isinstance(error, dict) else error
    if isinstance(said, list) and said and isinstance(said[0], dict):  # FastAPI's, one for each field
        said = said[0].get("msg")
    return said if isinstance(said, str) else ""


def _refused_field(data: Mapping[str, Any]) -> str:
    """The field that an error of OpenAI's server names as one that the model does not take; empty if it names none."""
    error = data.get("error")
    if not isinstance(error, dict) or error.get("code") not in ("unsupported_parameter", "unsupported_value"):
        return ""
    field = error.get("param")
    return field if isinstance(field, str) else ""


def _is_too_long(data: Mapping[str, Any]) -> bool:
    """True for an error by which a server says that its context is too small, as OpenAI's or llama.cpp's does."""
    error = data.get("error")
    kinds = [error.get("type"), error.get("code")] if isinstance(error, dict) else []
    return any(kind in ("exceed_context_size_error", "context_length_exceeded") for kind in kinds)


def _shown(text: str) -> str:
    return visible_line(text[:_LONGEST_REASON])
