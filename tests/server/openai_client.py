"""OpenAI's own client at a server on loopback, and what its tests send and are answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from localspec.engine.events import Alternative, Finished, Round, TokenLogprobs, ToolCall
from localspec.runtime.worker.messages import Answer
from localspec.server.app import make_app
from tests.server.fakes import FakeService, Step, said, served

HELLO: Any = [{"role": "user", "content": "Hello!"}]
CALL = ToolCall("call00001", "get_time", '{"zone": "UTC"}')
PARAMETERS = {"type": "object", "properties": {"zone": {"type": "string"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "get_time", "description": "", "parameters": PARAMETERS}}]
OTHER: Any = {"type": "function", "function": {"name": "other"}}


@asynccontextmanager
async def client_of(
    *replies: Sequence[Step], answers: Sequence[Answer] = ()
) -> AsyncIterator[tuple[AsyncOpenAI, FakeService]]:
    service = FakeService(replies or [said("Hello", " you", ".")], answers)
    async with (
        served(make_app(service)) as url,
        AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client, service


async def refused(ask: Callable[[AsyncOpenAI], Awaitable[object]], param: str) -> None:
    """Nothing is asked of the pair, and the error names the field."""
    async with client_of() as (client, service):
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client)
    assert caught.value.param == param
    assert not service.asked


def called(text: str) -> list[Step]:
    """A reply that says ``text`` and makes a call."""
    *events, finished = said(text, "<tool_call>")
    assert isinstance(finished, Finished)
    held = [replace(event, held_n=11) if isinstance(event, Round) else event for event in events]
    return [*held, replace(finished, calls=(CALL,), said_n=len(text))]


def weighed(events: Sequence[Step]) -> list[Step]:
    """A reply with the log probabilities of its tokens."""
    other = Alternative(50, b"\xc3", float("-inf"))

    def told(event: Step) -> Step:
        if not isinstance(event, Round):
            return event
        tokens = (replace(token, logprobs=TokenLogprobs(token.text.encode(), -0.5, (other,))) for token in event.tokens)
        return replace(event, tokens=tuple(tokens))

    return [told(event) for event in events]
