"""``POST /v1/responses`` and ``/v1/responses/input_tokens``, which counts the tokens of such a request.

They have no state: nothing is stored, so a request brings the whole conversation along.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Round, Started, ToolCall
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool
from localspec.runtime.worker.messages import Render, Rendered
from localspec.server.failures import InvalidFieldError, openai_error
from localspec.server.fields import Fields
from localspec.server.openai.figures import ReplyFigures, llama_timings, new_id, origins, usage
from localspec.server.openai.messages import (
    content_of,
    distinct,
    joined,
    reasoned,
    result_of,
    tool_name,
    tool_of,
    with_tools,
)
from localspec.server.openai.options import check_length, effort_of, held_to_format, options_of, pair_of, wants_origins
from localspec.server.parts import Part, PartKind, ReplySplitter
from localspec.server.service import ReplyRequest, Service
from localspec.server.streaming import StreamResponse, replied, server_sent

_WITH_STATE = ("previous_response_id", "conversation", "background", "prompt")
_LOGPROBS = "message.output_text.logprobs"
_ELSEWHERE = "Ask /v1/chat/completions for them."
_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}

Sent = dict[str, Any]
Name = tuple[str, str]
"""The namespace of a function, empty for none, and its name in it."""


async def respond(service: Service, request: Request) -> Response:
    """Answer one request. Raises LocalSpecError."""
    fields = await Fields.of(request)
    _check_stateless(fields)
    model = pair_of(service, fields)
    functions = _functions(fields)
    options = await _options(fields, service.settings(model).reply)
    asked = ReplyRequest(model, await _messages(fields), with_tools(fields, options, _tools(fields, functions)))
    names = {_full_name(*name): name for name, _ in functions}
    answer = _Answer(service, asked, _echo(fields, options, model), names, with_origins=wants_origins(fields))
    if fields.flag("stream"):
        return StreamResponse(answer.stream(), answer.failure, beat=answer.beat)
    return JSONResponse(await answer.whole())


async def count_input_tokens(service: Service, request: Request) -> Response:
    """The number of tokens that the prompt of a request would have. Raises LocalSpecError."""
    fields = await Fields.of(request)
    _check_stateless(fields)
    model = pair_of(service, fields)
    base = service.settings(model).reply
    options = with_tools(fields, base, _tools(fields, _functions(fields)))
    messages = await _messages(fields)
    check_length(*(message.content for message in messages))
    question = Render(0, messages, options.tools, reasoning=_reasoning(fields, base))
    rendered = await service.ask(model, question)
    assert isinstance(rendered, Rendered)
    return JSONResponse({"object": "response.input_tokens", "input_tokens": rendered.token_n})


def _check_stateless(fields: Fields) -> None:
    """Raise InvalidFieldError for a request that needs what was stored earlier."""
    for name in _WITH_STATE:
        if fields.raw(name):
            message = f"{name} is not possible: this server keeps no state."
            hint = "Leave it out." if name == "background" else "Send the whole conversation as input."
            raise InvalidFieldError(message, hint, param=name)


async def _options(fields: Fields, base: ReplyOptions) -> ReplyOptions:
    options = await options_of(fields, base, "max_output_tokens")
    if _LOGPROBS in fields.texts("include") or fields.whole("top_logprobs"):
        name = "top_logprobs" if fields.raw("top_logprobs") else "include"
        raise InvalidFieldError("This endpoint gives no log probabilities.", _ELSEWHERE, param=name)
    text = fields.object("text")
    format_ = text.object("format") if text else None
    if format_:
        options = replace(options, sampling=await held_to_format(options.sampling, format_))
    return replace(options, reasoning=_reasoning(fields, base))


def _reasoning(fields: Fields, base: ReplyOptions) -> str | None:
    about = fields.object("reasoning")
    return effort_of(about, "effort", base.reasoning) if about else base.reasoning


def _tools(fields: Fields, functions: Sequence[tuple[Name, Tool]]) -> tuple[Tool, ...]:
    """The functions as the model knows them. Raises InvalidFieldError if two have the same name."""
    return distinct(fields, (replace(tool, name=_full_name(*name)) for name, tool in functions))


def _functions(fields: Fields) -> list[tuple[Name, Tool]]:
    """The functions among the tools, those in namespaces too. Raises InvalidFieldError if there are other kinds alone.

    Agents offer tools that OpenAI's servers run, such as a search of the web, beside functions of their own.
    """
    tools = fields.objects("tools")
    found: list[tuple[Name, Tool]] = []
    for tool in tools:
        inside = tool.objects("tools") if tool.text("type") == "namespace" else [tool]
        space = tool_name(tool) if tool.text("type") == "namespace" else ""
        functions = [tool_of(each) for each in inside if each.text("type") == "function"]
        found += [((space, each.name), each) for each in functions]
    if tools and not found:
        tools[0].refuse("type", "function, or namespace with a function in it: no other kind of tool is here")
    return found


def _full_name(space: str, name: str) -> str:
    """The name of a function for the model, which knows no namespaces."""
    apart = "" if not space or space.endswith("_") or name.startswith("_") else "__"
    return f"{space}{apart}{name}"


async def _messages(fields: Fields) -> tuple[Message, ...]:
    """The conversation. Calls in a row, and the text and the reasoning before them, are one message.

    Images of results follow them, as a message of the user.
    """
    instructions = fields.text("instructions", "")
    above = [Message(Role.SYSTEM, instructions)] if instructions else []
    if isinstance(fields.raw("input"), str):
        return (*above, Message(Role.USER, fields.text("input")))
    found: list[tuple[Message, list[ToolCall]]] = []
    thought = seen = ""
    for item in fields.objects("input") or fields.refuse("input", "a text or a list of items"):
        kind = item.raw("type")
        if kind == "web_search_call":  # what it found is in the answer after it
            continue
        if kind in ("function_call_output", "custom_tool_call_output"):
            output, images = await result_of(item, "output")
            found.append((Message(Role.TOOL, output, call_id=item.text("call_id")), []))
            seen += images
            continue
        if seen and kind != "reasoning":
            found.append((Message(Role.USER, seen), []))
            seen = ""
        if kind == "reasoning":
            thought = "".join(part.text("text") for part in item.objects("content") or item.objects("summary"))
            continue
        message = await _message(item)
        if message.role is Role.ASSISTANT:
            message = replace(message, content=reasoned(thought) + message.content)
        thought = ""
        if message.calls and not message.content and found and found[-1][0].role is Role.ASSISTANT:
            found[-1][1].extend(message.calls)
        else:
            found.append((message, list(message.calls)))
    if seen:
        found.append((Message(Role.USER, seen), []))
    return joined([*above, *(replace(message, calls=tuple(calls)) for message, calls in found)])


async def _message(item: Fields) -> Message:
    """The message that an item is, other than a result."""
    match item.text("type", "message"):
        case "message":
            role = _ROLES.get(item.text("role"))
            if role is None:
                item.refuse("role", "system, developer, user or assistant")
            return Message(role, await content_of(item, role))
        case "function_call":
            name = _full_name(item.text("namespace", ""), item.text("name"))
            call = ToolCall(item.text("call_id"), name, item.text("arguments"))
            return Message(Role.ASSISTANT, "", (call,))
        case "custom_tool_call":  # of another model, as Codex has patched files with: its argument is any text
            arguments = json.dumps({"input": item.text("input")}, ensure_ascii=False)
            return Message(Role.ASSISTANT, "", (ToolCall(item.text("call_id"), item.text("name"), arguments),))
        case "item_reference":
            message = "item_reference is not possible: this server keeps no state."
            raise InvalidFieldError(message, "Send the item itself (set store to false).", param=item.at("type"))
    return item.refuse("type", "message, function_call, function_call_output or reasoning")


def _echo(fields: Fields, options: ReplyOptions, model: str) -> Sent:
    """The parts of a response that repeat its request."""
    return {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "instructions": fields.raw("instructions"),
        "max_output_tokens": fields.raw("max_output_tokens"),
        "metadata": dict(metadata.values) if (metadata := fields.object("metadata")) else {},
        "parallel_tool_calls": fields.flag("parallel_tool_calls", default=True),
        "previous_response_id": None,
        "reasoning": {"effort": reasoning.raw("effort") if (reasoning := fields.object("reasoning")) else None}
        | {"summary": None},
        "store": False,
        "temperature": options.sampling.temperature,
        "text": fields.raw("text") or {"format": {"type": "text"}},
        "tool_choice": fields.raw("tool_choice") or "auto",
        "tools": fields.raw("tools") or [],
        "top_p": options.sampling.top_p,
        "truncation": "disabled",
    }


@dataclass(slots=True)
class _Item:
    """A text in the output under way: the answer, or the reasoning before it."""

    index: int
    kind: PartKind
    id: str
    text: str = ""

    @property
    def part(self) -> Sent:
        """The text as a part of the item."""
        if self.kind is PartKind.REASONING:
            return {"type": "reasoning_text", "text": self.text}
        return {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}

    def json(self, status: str = "in_progress") -> Sent:
        """The item, with its text once it has another status."""
        about = {"id": self.id, "status": status, "content": [] if status == "in_progress" else [self.part]}
        if self.kind is PartKind.REASONING:
            return {**about, "type": "reasoning", "summary": []}
        return {**about, "type": "message", "role": "assistant"}

    @property
    def place(self) -> Sent:
        """The place of the part, in every event about it."""
        return {"item_id": self.id, "output_index": self.index, "content_index": 0}


_EVENTS = {PartKind.REASONING: "response.reasoning_text", PartKind.ANSWER: "response.output_text"}
_PREFIXES = {PartKind.REASONING: "rs_", PartKind.ANSWER: "msg_"}


@dataclass(slots=True)
class _Output:
    """The items of a response, with the events that tell of them."""

    names: Mapping[str, Name]
    """The functions by the names that the model calls them by."""
    items: list[Sent] = field(default_factory=list)
    """Those that are whole."""
    _open: _Item | None = None

    def add(self, part: Part) -> Iterator[Sent]:
        """A piece of text."""
        if self._open is None or self._open.kind is not part.kind:
            yield from self.close()
            item = self._open = _Item(len(self.items), part.kind, new_id(_PREFIXES[part.kind]))
            yield _event("response.output_item.added", output_index=item.index, item=item.json())
            yield _event("response.content_part.added", **item.place, part=item.part)
        self._open.text += part.text
        yield _event(f"{_EVENTS[part.kind]}.delta", **self._open.place, delta=part.text, **_logprobs(part.kind))

    def close(self, status: str = "completed") -> Iterator[Sent]:
        """The end of the text under way."""
        if (item := self._open) is not None:
            self._open = None
            self.items.append(item.json(status))
            yield _event(f"{_EVENTS[item.kind]}.done", **item.place, text=item.text, **_logprobs(item.kind))
            yield _event("response.content_part.done", **item.place, part=item.part)
            yield _event("response.output_item.done", output_index=item.index, item=self.items[-1])

    def call(self, call: ToolCall) -> Iterator[Sent]:
        """A call of a tool."""
        index, own = len(self.items), new_id("fc_")
        space, name = self.names.get(call.name, ("", call.name))
        item = {"id": own, "type": "function_call", "call_id": call.id, "name": name}
        item |= {"namespace": space} if space else {}
        self.items.append({**item, "arguments": call.arguments, "status": "completed"})
        begun = {**item, "arguments": "", "status": "in_progress"}
        place = {"item_id": own, "output_index": index}
        yield _event("response.output_item.added", output_index=index, item=begun)
        yield _event("response.function_call_arguments.delta", **place, delta=call.arguments)
        yield _event("response.function_call_arguments.done", **place, name=name, arguments=call.arguments)
        yield _event("response.output_item.done", output_index=index, item=self.items[-1])


def _event(kind: str, **about: Any) -> Sent:
    return {"type": kind, **about}


def _logprobs(kind: PartKind) -> Sent:
    return {"logprobs": []} if kind is PartKind.ANSWER else {}


class _Answer:
    """The answer to one request."""

    def __init__(
        self, service: Service, asked: ReplyRequest, head: Sent, names: Mapping[str, Name], *, with_origins: bool
    ) -> None:
        """``head`` repeats the request; ``names`` are those of its functions, as ``_Output`` has them."""
        self._service = service
        self._asked = asked
        self._head = head
        self._rounds: list[Sent] | None = [] if with_origins else None
        """The rounds so far with the origins of their tokens, where these are asked for."""
        self._reply = ReplyFigures()
        self._splitter = ReplySplitter()
        self._output = _Output(names)
        self._numbers = count()
        self._created = False
        """True once the client has been told of the response."""

    async def whole(self) -> Sent:
        """The answer in one piece."""
        async with aclosing(self._events()) as events:
            async for _ in events:
                pass
        told = {} if self._rounds is None else {"localspec": {"rounds": self._rounds}}
        return {**self._response(), **told}

    async def stream(self) -> AsyncGenerator[bytes]:
        """The answer as server-sent events. Raises LocalSpecError."""
        async with aclosing(self._events()) as events:
            async for event in events:
                yield self._sent(event)

    def failure(self, error: LocalSpecError) -> bytes:
        """The last event of an answer that failed."""
        said = openai_error(error)["error"]
        about = {"status": "failed", "error": {"code": said["code"] or "server_error", "message": said["message"]}}
        return self._sent(_event("response.failed", response={**self._response(), **about}))

    def beat(self) -> bytes:
        """The event of a response that waits: Codex gives up after five minutes without one."""
        return b"".join(map(self._sent, self._in_progress()))

    def _in_progress(self) -> Iterator[Sent]:
        if not self._created:
            self._created = True
            yield _event("response.created", response=self._response())
        yield _event("response.in_progress", response=self._response())

    def _sent(self, event: Sent) -> bytes:
        return server_sent({**event, "sequence_number": next(self._numbers)}, event["type"])

    async def _events(self) -> AsyncGenerator[Sent]:
        async with aclosing(replied(self._service, self._asked)) as events:
            async for event in events:
                self._reply.receive(event)
                for told in self._told(event):
                    yield told

    def _told(self, event: Event) -> Iterator[Sent]:
        match event:
            case Started():
                self._splitter.begin(event)
                yield from self._in_progress()
            case PromptProgress():
                yield from self._in_progress()
            case Round():
                for part in self._splitter.receive(event):
                    yield from self._output.add(part)
                if self._rounds is not None:
                    self._rounds.append(origins(event))
                    yield _event("localspec.round", **self._rounds[-1])
            case Finished():
                self._reply.reasoning_n = self._splitter.reasoning_n
                for part in self._splitter.end(event):
                    yield from self._output.add(part)
                yield from self._output.close("completed" if event.reason is FinishReason.STOP else "incomplete")
                for call in event.calls:
                    yield from self._output.call(call)
                response = self._response()
                yield _event(f"response.{response['status']}", response=response)

    def _response(self) -> Sent:
        ended = self._reply.finished
        status, details = "in_progress", None
        if ended is not None:
            cut = ended.reason is not FinishReason.STOP
            status, details = ("incomplete", {"reason": "max_output_tokens"}) if cut else ("completed", None)
        figures = {
            "usage": usage([self._reply], "input_tokens", "output_tokens") if ended else None,
            "timings": llama_timings(ended.timings) if ended else None,
        }
        about = {"status": status, "error": None, "incomplete_details": details, "output": list(self._output.items)}
        return {**self._head, **about, **figures}
