"""``POST /v1/chat/completions``."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.engine.events import Event, Finished, Round, Started, ToolCall
from localspec.server.fields import Fields
from localspec.server.openai.figures import (
    FINGERPRINT,
    REASONS,
    ReplyFigures,
    TextTokens,
    chat_logprobs,
    new_id,
    origins,
    timings_of,
    usage,
)
from localspec.server.openai.messages import messages_of, split_prefix, tools_of, with_tools
from localspec.server.openai.options import (
    chat_alternatives,
    options_of,
    pair_of,
    reasoning_of,
    reply_count,
    seeded,
    wants_origins,
    wants_usage,
)
from localspec.server.parts import Part, PartKind, ReplySplitter
from localspec.server.service import ReplyRequest, Service
from localspec.server.streaming import DONE, StreamResponse, merged, openai_failure, server_sent

_FIELDS = {PartKind.REASONING: "reasoning_content", PartKind.ANSWER: "content"}


async def complete_chat(service: Service, request: Request) -> Response:
    """Answer one request. Raises LocalSpecError."""
    fields = await Fields.of(request)
    asked = await _asked(service, fields)
    chat = _Chat(service, asked, origins=wants_origins(fields))
    with_usage = wants_usage(fields)
    if fields.flag("stream"):
        return StreamResponse(chat.stream(with_usage=with_usage), openai_failure)
    return JSONResponse(await chat.whole())


async def _asked(service: Service, fields: Fields) -> list[ReplyRequest]:
    """The replies that a request asks for."""
    model = pair_of(service, fields)
    base = service.settings(model).reply
    messages = await messages_of(fields)
    options = await options_of(fields, base, "max_completion_tokens", "max_tokens", "n_predict")
    options = replace(options, logprobs=chat_alternatives(fields), reasoning=reasoning_of(fields, base.reasoning))
    options = with_tools(fields, options, tools_of(fields))
    messages, prefix = split_prefix(messages)
    return [ReplyRequest(model, messages, seeded(options, i), prefix) for i in range(reply_count(fields))]


@dataclass(slots=True)
class _Choice:
    """One of the replies to a request, as its JSON grows."""

    with_logprobs: bool
    reply: ReplyFigures = field(default_factory=ReplyFigures)
    splitter: ReplySplitter = field(default_factory=ReplySplitter)
    said: TextTokens = field(default_factory=TextTokens)
    texts: dict[str, str] = field(default_factory=dict)

    def deltas(self, event: Event) -> Iterator[dict[str, Any]]:
        """The pieces that an event adds to the choice, each with its ``delta``."""
        self.reply.receive(event)
        match event:
            case Started():
                self.splitter.begin(event)
                yield {"delta": {"role": "assistant", "content": ""}}
            case Round():
                delta = self._told(self.splitter.receive(event))
                logprobs = chat_logprobs(list(self.said.of(event.tokens))) if self.with_logprobs else None
                if delta or (logprobs and logprobs["content"]):
                    yield {"delta": delta, "logprobs": logprobs}
            case Finished():
                self.reply.reasoning_n = self.splitter.reasoning_n
                if delta := self._told(self.splitter.end(event)):
                    yield {"delta": delta}
                if event.calls:
                    calls = [{"index": i, **call_json(call)} for i, call in enumerate(event.calls)]
                    yield {"delta": {"tool_calls": calls}}
                yield {"delta": {}, "finish_reason": self.reason}

    @property
    def reason(self) -> str | None:
        """The reason of its end, in OpenAI's words; None before."""
        ended = self.reply.finished
        if ended is None:
            return None
        return "tool_calls" if ended.calls else REASONS[ended.reason]

    def message(self) -> dict[str, Any]:
        """The whole reply."""
        calls = self.reply.finished.calls if self.reply.finished else ()
        content = self.texts.get("content", None if calls else "")
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        if "reasoning_content" in self.texts:
            message["reasoning_content"] = self.texts["reasoning_content"]
        if calls:
            message["tool_calls"] = [call_json(call) for call in calls]
        return message

    def _told(self, parts: Iterator[Part]) -> dict[str, str]:
        """The text of parts by its field."""
        delta: dict[str, str] = {}
        for part in parts:
            name = _FIELDS[part.kind]
            delta[name] = delta.get(name, "") + part.text
            self.texts[name] = self.texts.get(name, "") + part.text
        return delta


def call_json(call: ToolCall) -> dict[str, Any]:
    """A call in a message."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


class _Chat:
    """The answer to one request."""

    def __init__(self, service: Service, asked: list[ReplyRequest], *, origins: bool) -> None:
        self._service = service
        self._asked = asked
        self._origins = origins
        self._choices = [_Choice(each.options.logprobs is not None) for each in asked]
        self._head = {
            "id": new_id("chatcmpl-"),
            "created": int(time.time()),
            "model": asked[0].model,
            "system_fingerprint": FINGERPRINT,
        }

    async def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        logprobs: list[list[Any]] = [[] for _ in self._choices]
        told: list[list[Any]] = [[] for _ in self._choices]
        async with aclosing(merged(self._service, self._asked)) as events:
            async for i, event in events:
                for piece in self._choices[i].deltas(event):
                    logprobs[i] += (piece.get("logprobs") or {}).get("content", [])
                if isinstance(event, Round) and self._origins:
                    told[i].append(origins(event))
        choices = [
            {
                "index": i,
                "message": choice.message(),
                "logprobs": {"content": logprobs[i], "refusal": None} if choice.with_logprobs else None,
                "finish_reason": choice.reason,
                **({"localspec": {"rounds": told[i]}} if self._origins else {}),
            }
            for i, choice in enumerate(self._choices)
        ]
        answer = {**self._head, "object": "chat.completion", "choices": choices, "usage": self._usage()}
        return {**answer, "timings": self._timings()}

    async def stream(self, *, with_usage: bool) -> AsyncGenerator[bytes]:
        """The answer as server-sent events. Raises LocalSpecError."""
        async with aclosing(merged(self._service, self._asked)) as events:
            async for i, event in events:
                pieces = list(self._choices[i].deltas(event))
                own = {"localspec": origins(event)} if self._origins and isinstance(event, Round) else {}
                if own and not pieces:
                    pieces = [{"delta": {}}]
                for piece in pieces:
                    yield self._chunk(i, piece, own, with_usage=with_usage)
                    own = {}
        if with_usage:
            about = {"usage": self._usage(), "timings": self._timings()}
            yield server_sent({**self._head, "object": "chat.completion.chunk", "choices": [], **about})
        yield DONE

    def _chunk(self, index: int, piece: dict[str, Any], own: dict[str, Any], *, with_usage: bool) -> bytes:
        choice = {"index": index, "logprobs": None, "finish_reason": None, **piece, **own}
        chunk = {**self._head, "object": "chat.completion.chunk", "choices": [choice]}
        if with_usage:
            chunk["usage"] = None
        if choice["finish_reason"] and len(self._choices) == 1:
            chunk["timings"] = self._timings()
        return server_sent(chunk)

    def _usage(self) -> dict[str, Any]:
        return usage(choice.reply for choice in self._choices)

    def _timings(self) -> dict[str, Any] | None:
        return timings_of([choice.reply for choice in self._choices])
