"""Streamed responses, and the events of several replies as one stream."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.tally import Tally
from localspec.runtime.remote.protocol import HEARTBEAT_S
from localspec.server.failures import openai_error
from localspec.server.service import ReplyRequest, Service

T = TypeVar("T")

_COMMENT = b":\n\n"
"""A server-sent event that says nothing."""


class StreamResponse(Response):
    """A body that comes in pieces.

    An error before the body has begun is raised, so that it has a status; of a later one the last piece tells, which
    ``failure`` makes. The generator is closed at once when the work on the request is cancelled.

    The body begins with the first piece, or without one after ``HEARTBEAT_S``, and never pauses for longer: what
    ``beat`` makes, a comment or the like, keeps clients and proxies from giving up while a request waits or a long
    prompt is read.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        failure: Callable[[LocalSpecError], bytes],
        media_type: str = "text/event-stream",
        beat: Callable[[], bytes] = lambda: _COMMENT,
    ) -> None:
        self._pieces = pieces
        self._failure = failure
        self._beat = beat
        self._begun = False
        self._sent_at = time.monotonic()
        self._sending = asyncio.Lock()
        # The last header has nginx pass every piece on.
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The call of ASGI."""
        async with aclosing(self._pieces) as pieces:
            beating = asyncio.create_task(self._keep_alive(send))
            last = b""
            try:
                async for piece in pieces:
                    await self._send(send, piece)
                    await asyncio.sleep(0)  # others have their turn, and a client that has gone is noticed
            except LocalSpecError as error:
                if not self._begun:
                    raise
                last = self._failure(error)
            finally:
                beating.cancel()
            await self._send(send, last, more=False)

    async def _send(self, send: Send, piece: bytes, *, more: bool = True) -> None:
        async with self._sending:
            if not self._begun:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                self._begun = True
            self._sent_at = time.monotonic()
            await send({"type": "http.response.body", "body": piece, "more_body": more})

    async def _keep_alive(self, send: Send) -> None:
        """Send ``beat`` whenever nothing else was sent for a while."""
        while True:
            await asyncio.sleep(max(0.0, self._sent_at + HEARTBEAT_S - time.monotonic()))
            if time.monotonic() >= self._sent_at + HEARTBEAT_S:
                await self._send(send, self._beat())


def openai_failure(error: LocalSpecError) -> bytes:
    """The last event of a stream of OpenAI's that failed."""
    return server_sent(openai_error(error))


def server_sent(data: Mapping[str, Any] | str, event: str = "") -> bytes:
    """A server-sent event; ``data`` is JSON or a word."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (f"event: {event}\ndata: {text}\n\n" if event else f"data: {text}\n\n").encode()


DONE = server_sent("[DONE]")
"""The last event of OpenAI's streams."""
AT_ONCE = 8
"""Replies to one request that are under way at once; others may have requests, too."""


async def replied(service: Service, asked: ReplyRequest) -> AsyncGenerator[Event]:
    """The events of a reply. Other than in the chat, a prompt that does not fit whole is refused.

    Raises as ``Service.reply``, and CapacityError before the first event.
    """
    limit = _TimeLimit(asked.lines_s)
    async with aclosing(service.reply(replace(asked, is_whole=True))) as events:
        async for event in events:
            yield event
            if (ended := limit.end(event)) is not None:
                yield ended
                return


@dataclass(slots=True)
class _TimeLimit:
    """Ends a reply that has a line break when its time is up, as editors want it of a completion."""

    most_s: float | None
    text: str = ""
    began: float | None = None
    """The time of the first token."""
    tally: Tally = field(default_factory=Tally)

    def end(self, event: Event) -> Finished | None:
        """The last event if ``event`` is the last that counts."""
        if isinstance(event, Started):
            self.tally = Tally(cache_n=event.cache_n, prompt_n=event.prompt_n - event.cache_n)
        if self.most_s is None or not isinstance(event, Round):
            return None
        self.tally.add(event)
        self.text += "".join(token.text for token in event.tokens)
        now = time.monotonic()
        self.began = now if self.began is None else self.began
        over = "\n" in self.text and now - self.began > self.most_s
        return Finished(FinishReason.LENGTH, self.text, self.tally.timings()) if over else None


async def merged(service: Service, asked: list[ReplyRequest]) -> AsyncGenerator[tuple[int, Event]]:
    """The events of several replies as they come, each with the index of its reply. Raises as ``replied``."""
    if len(asked) == 1:
        async with aclosing(replied(service, asked[0])) as events:
            async for event in events:
                yield 0, event
        return
    arrived: asyncio.Queue[tuple[int, Event]] = asyncio.Queue(len(asked))
    places = asyncio.Semaphore(AT_ONCE)

    async def follow(index: int) -> None:
        reply = replace(asked[index], is_further=index > 0)
        async with places, aclosing(replied(service, reply)) as events:
            async for event in events:
                await arrived.put((index, event))

    following = [asyncio.create_task(follow(index)) for index in range(len(asked))]
    everything: asyncio.Future[Any] = asyncio.gather(*following)
    try:
        async for each in _taken(arrived, everything):
            yield each
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, everything, return_exceptions=True)


async def _taken(arrived: asyncio.Queue[T], everything: asyncio.Future[Any]) -> AsyncGenerator[T]:
    """What arrives until everything is done. Raises at once what one of those raises that put it there."""
    while not (everything.done() and arrived.empty()):
        if everything.done():
            await everything
        coming = asyncio.ensure_future(arrived.get())
        try:
            await asyncio.wait((coming, everything), return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                yield coming.result()
        finally:
            coming.cancel()
    await everything
