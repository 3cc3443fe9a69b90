"""Streams of all APIs: while a request waits, when it is refused late, and when its client hangs up."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from starlette.types import Message as Sent

from localspec.runtime.messages import ReplyOptions
from localspec.server import streaming
from localspec.server.app import make_app
from localspec.server.service import BusyError, ReplyRequest
from localspec.server.streaming import merged
from tests.server.fakes import PAIR, FakeService, said, served
from tests.server.openai_client import HELLO


async def test_hanging_up_on_several_replies_leaves_no_task_behind() -> None:
    lost: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: lost.append(context))
    service = FakeService([[asyncio.Event()]])

    async def read() -> None:
        async for _ in merged(service, [ReplyRequest(PAIR, "a", ReplyOptions())] * 2):
            pass

    reading = asyncio.create_task(read())
    while len(service.asked) < 2:
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})
    del reading
    gc.collect()
    assert not lost


_STREAMING: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": HELLO},
    "/v1/completions": {"prompt": "Hello"},
    "/v1/responses": {"input": "Hello"},
    "/v1/messages": {"messages": HELLO},
    "/completion": {"prompt": "Hello"},
}
"""Paths that answer with server-sent events, each with the body of a request."""


@pytest.mark.parametrize("path", _STREAMING)
async def test_a_stream_does_not_pause_while_its_request_waits_or_its_prompt_is_read(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments, or events that say no more, come before the first event and until the reply goes on."""
    monkeypatch.setattr(streaming, "HEARTBEAT_S", 0.001)
    place, read = asyncio.Event(), asyncio.Event()
    started, *rest = said("Yes.")
    body = {**_STREAMING[path], "stream": True}
    async with (
        served(make_app(FakeService([[place, started, read, *rest]]))) as url,
        httpx2.AsyncClient() as client,
        client.stream("POST", f"{url}{path}", json=body) as answer,
    ):
        lines = list[str]()
        async for line in answer.aiter_lines():
            lines.append(line)
            beats_n = lines.count("event: response.in_progress" if path == "/v1/responses" else ":")
            if beats_n == 2:
                place.set()
            if beats_n == 4:
                read.set()
    assert answer.status_code == 200
    assert lines.count("event: response.created") == (path == "/v1/responses")
    told = [json.loads(line[5:]) for line in lines if line.startswith("data: {")]
    assert any("Yes." in json.dumps(data) for data in told)
    assert {line[:6] for line in lines} <= {"", ":", "data: ", "event:"}


async def test_others_have_their_turn_between_two_pieces() -> None:
    """However many pieces are there already; else a client that has gone would be noticed only after them all."""
    order: list[str] = []

    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(3):
            yield b"x"

    async def send(message: Sent) -> None:
        order.extend(["piece"] if message.get("body") else [])

    async def receive() -> Sent:
        raise AssertionError

    async def other() -> None:
        while True:
            order.append("other")
            await asyncio.sleep(0)

    others = asyncio.create_task(other())
    await streaming.StreamResponse(pieces(), streaming.openai_failure)({}, receive, send)
    others.cancel()
    assert order.count("piece") == 3
    assert "piece piece" not in " ".join(order)


@pytest.mark.parametrize("path", [*_STREAMING, "/api/chat"])
async def test_a_refusal_after_a_long_wait_is_the_last_event(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status has been sent by then. Clients of Ollama take no line that says nothing."""
    monkeypatch.setattr(streaming, "HEARTBEAT_S", 0.001)
    place = asyncio.Event()
    body = {**_STREAMING.get(path, {"messages": HELLO}), "stream": True}
    async with (
        served(make_app(FakeService([[place, BusyError("The server is stopping.")]]))) as url,
        httpx2.AsyncClient() as client,
        client.stream("POST", f"{url}{path}", json=body) as answer,
    ):
        place.set()
        lines = [line async for line in answer.aiter_lines()]
    told = [line for line in lines if line not in ("", ":") and not line.startswith("event:")]
    assert (answer.status_code, "The server is stopping." in told[-1]) == (200, True)
    assert len(told) == 1 or path == "/v1/responses"
    assert lines == told if path == "/api/chat" else path == "/v1/messages" or '"code":"server_busy"' in told[-1]
