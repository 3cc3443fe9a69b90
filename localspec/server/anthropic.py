"""The API of Anthropic: ``POST /v1/messages``, in one piece and streamed, and ``/v1/messages/count_tokens``."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from itertools import groupby
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Round, Started, ToolCall
from localspec.runtime.messages import OFF, Message, ReplyOptions, Role, Tool
from localspec.runtime.worker.messages import Render, Rendered
from localspec.server.documents import document_from_base64
from localspec.server.failures import anthropic_error
from localspec.server.fields import Fields
from localspec.server.images import image_from_base64, image_from_url
from localspec.server.openai.figures import new_id
from localspec.server.openai.messages import distinct, joined, reasoned, split_prefix, tool_of
from localspec.server.openai.options import check_length, effort_of, pair_of, stops_of, switched_on
from localspec.server.parts import Part, PartKind, ReplySplitter
from localspec.server.sampling import held_to_schema, sampling_of
from localspec.server.service import Endpoints, ReplyRequest, Service
from localspec.server.streaming import StreamResponse, replied, server_sent

_BETWEEN = "\n\n"
"""Stands between blocks of text, and between messages of the user in a row."""
_ATTRIBUTION = re.compile(r"\Ax-anthropic-billing-header:[^\n]*\n*")
"""A line for Anthropic's accounts that Claude Code writes above its system prompt.

It changes with every request, so that nothing after it would be found in the cache.
"""
_BLOCKS = {PartKind.REASONING: ("thinking", {"signature": ""}), PartKind.ANSWER: ("text", {})}
"""The type of the block for a kind of text, and the block's other fields."""


async def _messages(service: Service, request: Request) -> Response:
    fields = await Fields.of(request)
    asked = await _asked(service, fields)
    answer = _Answer(asked.model, shows_reasoning=_shows_reasoning(fields))
    if fields.flag("stream"):
        return StreamResponse(_stream(service, asked, answer), _failure)
    async with aclosing(replied(service, asked)) as events:
        return JSONResponse(_whole([data async for event in events for data in answer.receive(event)]))


async def _count_tokens(service: Service, request: Request) -> Response:
    fields = await Fields.of(request)
    messages, prefix = await _conversation(fields)
    model = pair_of(service, fields)
    tools = _with_tools(fields, ReplyOptions()).tools
    check_length(prefix, *(message.content for message in messages))
    reasoning = _reasoning(fields, service.settings(model).reply.reasoning)
    rendered = await service.ask(model, Render(0, messages, tools, prefix, reasoning))
    assert isinstance(rendered, Rendered)
    return JSONResponse({"input_tokens": rendered.token_n})


async def _asked(service: Service, fields: Fields) -> ReplyRequest:
    """The reply that a request asks for. Raises LocalSpecError."""
    model = pair_of(service, fields)
    base = service.settings(model).reply
    messages, prefix = await _conversation(fields)
    max_tokens = fields.whole("max_tokens")
    if max_tokens is not None and max_tokens < 1:
        fields.refuse("max_tokens", "a whole number from 1")
    sampling = sampling_of(fields, base.sampling)
    if (schema := _schema(fields)) is not None:
        sampling = await held_to_schema(sampling, schema)
    stop = stops_of(fields, "stop_sequences", base)
    reasoning, limit = _reasoning(fields, base.reasoning), max_tokens or base.max_tokens
    options = replace(base, sampling=sampling, max_tokens=limit, stop=stop, reasoning=reasoning)
    return ReplyRequest(model, messages, _with_tools(fields, options), prefix)


def _schema(fields: Fields) -> Any:
    """The JSON Schema that the reply is held to; None for any text."""
    config = fields.object("output_config")
    form = (config.object("format") if config else None) or fields.object("output_format")
    if form is None:
        return None
    return form.raw("schema") if form.object("schema") else form.refuse("schema", "a JSON Schema")


def _reasoning(fields: Fields, base: str | None) -> str | None:
    """The reasoning that a request asks for, ``base`` if it leaves that to the model.

    An effort says how much the model reasons: it does not switch on what the user's settings have switched off. The
    high one is the default of Anthropic's models, which Claude Code sends unasked: the model's own default counts.
    """
    config = fields.object("output_config") or Fields({})
    effort = effort_of(config, "effort", None) if config.raw("effort") != "high" else None
    match (fields.object("thinking") or Fields({})).raw("type"):
        case "disabled":
            return OFF
        case "enabled":
            return effort or switched_on(base)
    return base if base == OFF else effort or base


def _shows_reasoning(fields: Fields) -> bool:
    """True unless the request wants none of it."""
    thinking = fields.object("thinking")
    return thinking is None or not (thinking.raw("type") == "disabled" or thinking.raw("display") == "omitted")


def _with_tools(fields: Fields, options: ReplyOptions) -> ReplyOptions:
    """The options with the tools of a request, and with what it says of their choice. Raises InvalidFieldError."""
    tools = distinct(fields, map(_tool, fields.objects("tools")))
    choice = fields.object("tool_choice")
    if choice is None:
        return replace(options, tools=tools)
    kind = choice.text("type")
    if kind not in ("auto", "any", "tool", "none"):
        choice.refuse("type", "auto, any, tool or none")
    if kind == "tool":
        tools = tuple(tool for tool in tools if tool.name == choice.text("name"))
    if not tools and kind in ("any", "tool"):
        fields.refuse("tool_choice", "one of the tools")
    one_call = bool(tools) and choice.flag("disable_parallel_tool_use")
    chosen = () if kind == "none" else tools
    return replace(options, tools=chosen, must_call=kind in ("any", "tool"), one_call=one_call)


def _tool(fields: Fields) -> Tool:
    if fields.text("type", "custom") != "custom":
        fields.refuse("type", "custom: only tools with an input_schema of their own are understood")
    schema = fields.object("input_schema") or fields.refuse("input_schema", "a JSON Schema")
    return tool_of(Fields({**fields.values, "parameters": schema.values}, fields.place))


async def _conversation(fields: Fields) -> tuple[tuple[Message, ...], str]:
    """The messages of a request, and the beginning of the reply, if the last is one. Raises InputError."""
    found: list[Message] = []
    if system := _ATTRIBUTION.sub("", await _text(fields, "system", Role.SYSTEM)):
        found.append(Message(Role.SYSTEM, system))
    for each in fields.objects("messages") or fields.refuse("messages", "a list with a message or more"):
        match each.text("role"):
            case "user":
                found += await _user(each)
            case "assistant":
                found.append(await _assistant(each))
            case "system":
                found.append(Message(Role.SYSTEM, await _text(each, "content", Role.SYSTEM)))
            case _:
                each.refuse("role", "user, assistant or system")
    return split_prefix(joined(list(_merged(found))))


def _merged(messages: list[Message]) -> Iterator[Message]:
    """The messages with those of the user in a row as one: many templates want turns."""
    for role, in_a_row in groupby(messages, key=lambda message: message.role):
        if role is Role.USER:
            yield Message(role, _paragraphs([message.content for message in in_a_row]))
        else:
            yield from in_a_row


def _blocks(fields: Fields, name: str) -> list[Fields]:
    """The blocks of a content; a text is one."""
    value = fields.raw(name)
    return (
        [Fields({"type": "text", "text": value}, fields.at(name))] if isinstance(value, str) else fields.objects(name)
    )


async def _text(fields: Fields, name: str, role: Role) -> str:
    """The text of a content that has nothing but texts, images and documents."""
    return _paragraphs([await _block_text(block, role) for block in _blocks(fields, name)])


def _paragraphs(parts: list[str]) -> str:
    """Blocks as one text, an empty line between any two. An image brings its own."""
    return "".join([*(part.removesuffix(_BETWEEN) + _BETWEEN for part in parts[:-1]), *parts[-1:]])


async def _block_text(block: Fields, role: Role) -> str:
    """The text of a block, which names its image."""
    kind = block.text("type")
    if kind == "text":
        return block.text("text")
    if kind in ("document", "search_result") and role in (Role.USER, Role.TOOL):
        return await _document_text(block)
    source = block.object("source") if kind == "image" and role is Role.USER else None
    if source is None:
        return block.refuse("type", "a kind of block that is understood here")
    form = source.text("type")
    if form == "base64":
        return await image_from_base64(source.text("data"), source.at("data"))
    if form == "url":
        return await image_from_url(source.text("url"), source.at("url"))
    return source.refuse("type", "a kind of source that is understood here")


async def _document_text(block: Fields) -> str:
    """The title, the context or the address, and the text of a document or of what a search has found."""
    if block.raw("type") == "search_result":
        about, parts = ("title", "source"), _blocks(block, "content")
    else:
        source = block.object("source") or block.refuse("source", "an object")
        form = source.text("type")
        if form == "base64":
            read = await document_from_base64(source.text("data"), block.text("title", ""), source.at("data"))
            return _paragraphs([*filter(None, [block.text("context", "")]), read])
        if form not in ("text", "content"):
            source.refuse("type", "text, content or base64")
        about, parts = ("title", "context"), _blocks(source, "data" if form == "text" else "content")
    texts = [*(block.text(name, "") for name in about), *(part.text("text") for part in parts)]
    return _paragraphs([text for text in texts if text])


async def _user(fields: Fields) -> list[Message]:
    """The results of calls in a message, each on its own, and what the user says after them."""
    blocks = _blocks(fields, "content") or fields.refuse("content", "a text or a list of blocks")
    found: list[Message] = []
    texts: list[str] = []
    for block in blocks:
        if block.raw("type") != "tool_result":
            texts.append(await _block_text(block, Role.USER))
            continue
        parts = _blocks(block, "content")
        told = [await _block_text(part, Role.TOOL) for part in parts if part.raw("type") != "image"]
        found.append(Message(Role.TOOL, _paragraphs(told), call_id=block.text("tool_use_id")))
        # Images are looked at in messages of the user alone.
        texts += [await _block_text(part, Role.USER) for part in parts if part.raw("type") == "image"]
    return [*found, *([Message(Role.USER, _paragraphs(texts))] if texts else [])]


async def _assistant(fields: Fields) -> Message:
    text = ""
    calls: list[ToolCall] = []
    for block in _blocks(fields, "content"):
        match block.text("type"):
            case "thinking":
                text += reasoned(block.text("thinking"))
            case "redacted_thinking":
                pass
            case "tool_use":
                arguments = block.object("input") or block.refuse("input", "an object")
                written = json.dumps(dict(arguments.values), ensure_ascii=False)
                calls.append(ToolCall(block.text("id"), block.text("name"), written))
            case _:
                text += await _block_text(block, Role.ASSISTANT)
    return Message(Role.ASSISTANT, text, tuple(calls))


class _Answer:
    """A reply as the events of the API."""

    def __init__(self, model: str, *, shows_reasoning: bool) -> None:
        self._model = model
        self._shows_reasoning = shows_reasoning
        self._splitter = ReplySplitter()
        self._usage: dict[str, int] = {}
        self._blocks_n = 0
        self._open: PartKind | None = None

    def receive(self, event: Event) -> Iterator[dict[str, Any]]:
        """The API's events for the next one of the reply."""
        match event:
            case Started():
                self._splitter.begin(event)
                yield self._started(event)
                yield {"type": "ping"}
            case PromptProgress():
                yield {"type": "ping"}
            case Round():
                for part in self._splitter.receive(event):
                    yield from self._said(part)
            case Finished():
                for part in self._splitter.end(event):
                    yield from self._said(part)
                yield from self._finished(event)

    def _started(self, event: Started) -> dict[str, Any]:
        # Tokens that the cache holds are counted apart.
        self._usage = {
            "input_tokens": event.prompt_n - event.cache_n,
            "cache_read_input_tokens": event.cache_n,
            "cache_creation_input_tokens": 0,
            "output_tokens": 0,
        }
        message = {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": self._model, "content": []}
        ended = {"stop_reason": None, "stop_sequence": None, "usage": self._usage}
        return {"type": "message_start", "message": message | ended}

    def _said(self, part: Part) -> Iterator[dict[str, Any]]:
        if part.kind is PartKind.REASONING and not self._shows_reasoning:
            return
        name, others = _BLOCKS[part.kind]
        if self._open is not part.kind:
            yield from self._close()
            self._open = part.kind
            yield self._about_block("start", content_block={"type": name, name: "", **others})
        yield self._about_block("delta", delta={"type": f"{name}_delta", name: part.text})

    def _close(self) -> Iterator[dict[str, Any]]:
        """End the block that is open, if one is."""
        if self._open is PartKind.REASONING:
            yield self._about_block("delta", delta={"type": "signature_delta", "signature": ""})
        if self._open is not None:
            self._open = None
            yield self._about_block("stop")
            self._blocks_n += 1

    def _call(self, call: ToolCall) -> Iterator[dict[str, Any]]:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield self._about_block("start", content_block=block)
        yield self._about_block("delta", delta={"type": "input_json_delta", "partial_json": call.arguments})
        yield self._about_block("stop")
        self._blocks_n += 1

    def _finished(self, event: Finished) -> Iterator[dict[str, Any]]:
        yield from self._close()
        for call in event.calls:
            yield from self._call(call)
        delta = {"stop_reason": _stop_reason(event), "stop_sequence": event.stop}
        usage = self._usage | {"output_tokens": event.timings.predicted_n}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}

    def _about_block(self, what: str, **fields: Any) -> dict[str, Any]:
        return {"type": f"content_block_{what}", "index": self._blocks_n, **fields}


def _stop_reason(event: Finished) -> str:
    if event.calls:
        return "tool_use"
    if event.stop is not None:
        return "stop_sequence"
    return "max_tokens" if event.reason is FinishReason.LENGTH else "end_turn"


def _whole(written: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that the API's events make."""
    message: dict[str, Any] = {}
    for data in written:
        match data["type"]:
            case "message_start":
                message = data["message"]
            case "content_block_start":
                message["content"].append(data["content_block"])
            case "content_block_delta":
                _grow(message["content"][-1], data["delta"])
            case "message_delta":
                message |= data["delta"] | {"usage": data["usage"]}
    return message


def _grow(block: dict[str, Any], delta: dict[str, str]) -> None:
    if delta["type"] == "input_json_delta":
        block["input"] = json.loads(delta["partial_json"])
        return
    name = delta["type"].removesuffix("_delta")
    block[name] += delta[name]


async def _stream(service: Service, asked: ReplyRequest, answer: _Answer) -> AsyncGenerator[bytes]:
    """The API's events. Raises LocalSpecError."""
    async with aclosing(replied(service, asked)) as events:
        async for event in events:
            for data in answer.receive(event):
                yield server_sent(data, data["type"])


def _failure(error: LocalSpecError) -> bytes:
    return server_sent(anthropic_error(error), "error")


ENDPOINTS: Endpoints = (
    ("POST", "/v1/messages", _messages),
    ("POST", "/v1/messages/count_tokens", _count_tokens),
)
