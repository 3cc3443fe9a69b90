"""The API of Ollama: chats and texts, as lines of JSON.

Options for loading, as ``num_ctx``, and ``keep_alive`` are accepted and change nothing: the server's settings count.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec import __version__
from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, Round, Started, ToolCall
from localspec.runtime.messages import OFF, Infill, Message, ReplyOptions, Role
from localspec.server.failures import ollama_error
from localspec.server.fields import Fields
from localspec.server.images import image_from_base64
from localspec.server.ollama_models import list_models, list_running, pair_id, show_model
from localspec.server.openai.figures import TextTokens, chat_logprobs
from localspec.server.openai.messages import joined, reasoned, split_prefix, tools_of
from localspec.server.openai.options import chat_alternatives, effort_of, stops_of, switched_on
from localspec.server.parts import Part, PartKind, ReplySplitter
from localspec.server.sampling import held_to_schema, sampling_of
from localspec.server.service import Endpoints, ReplyRequest, Service
from localspec.server.streaming import StreamResponse

MEDIA_TYPE = "application/x-ndjson"
VERSION = "0.14.0"
"""The version of Ollama whose APIs these are, Anthropic's among them; some clients refuse older ones."""
_NO_TIME = re.compile(r"-?0+(\.0*)?[a-zµ]*")
"""The values of ``keep_alive`` that ask to unload a model: zero, in any unit."""
_MOST_CALLS = 128
"""The most calls of a message: each is looked for in the results."""


async def _chat(service: Service, request: Request) -> Response:
    fields = await Fields.of(request)
    return await _answered(service, fields, await _asked_of_chat(service, fields), "message")


async def _generate(service: Service, request: Request) -> Response:
    fields = await Fields.of(request)
    return await _answered(service, fields, await _asked_of_text(service, fields), "response")


async def _version(service: Service, request: Request) -> Response:
    return JSONResponse({"version": VERSION, "localspec": __version__})


async def _asked_of_chat(service: Service, fields: Fields) -> ReplyRequest | None:
    """The reply that a chat asks for; None if it only has the pair loaded. Raises LocalSpecError."""
    messages, prefix = split_prefix(joined([message async for message in _messages(fields)]))
    options = await _options(service, fields)
    if not messages:
        return None
    return ReplyRequest(pair_id(fields), messages, replace(options, tools=tools_of(fields)), prefix)


async def _asked_of_text(service: Service, fields: Fields) -> ReplyRequest | None:
    """The reply that a text asks for; None if it only has the pair loaded. Raises LocalSpecError."""
    model, prompt, options = pair_id(fields), fields.text("prompt", ""), await _options(service, fields)
    if fields.text("template", ""):
        fields.refuse("template", "empty: the model's own template counts")
    suffix, raw = fields.text("suffix", ""), fields.flag("raw")
    if (suffix or raw) and fields.texts("images"):
        fields.refuse("images", "left out: a raw text or a gap has none")
    if suffix:
        return ReplyRequest(model, Infill(prompt, suffix), options)
    if not prompt:
        return None
    if raw:
        return ReplyRequest(model, prompt, options)
    system = fields.text("system", "")
    above = [Message(Role.SYSTEM, system)] if system else []
    return ReplyRequest(model, (*above, Message(Role.USER, await _with_images(fields, prompt))), options)


async def _options(service: Service, fields: Fields) -> ReplyOptions:
    """The user's settings for the pair with what a request says. Raises LocalSpecError."""
    base = service.settings(pair_id(fields)).reply
    given = fields.object("options") or Fields({}, "options")
    limit = given.whole("num_predict")
    max_tokens = base.max_tokens if limit is None else max(limit, 1) if limit >= 0 else None
    sampling = sampling_of(given, base.sampling)
    form = fields.raw("format")
    if form:
        if form != "json" and not isinstance(form, dict):
            fields.refuse("format", '"json" or a JSON Schema')
        sampling = await held_to_schema(sampling, True if form == "json" else form)
    return replace(
        base,
        sampling=sampling,
        max_tokens=max_tokens,
        stop=stops_of(given, "stop", base),
        seed=given.seed(base.seed),
        logprobs=chat_alternatives(fields),
        reasoning=_reasoning(fields, base.reasoning),
    )


def _reasoning(fields: Fields, base: str | None) -> str | None:
    match fields.raw("think"):
        case bool(thinks):
            return switched_on(base) if thinks else OFF
        case _:
            return effort_of(fields, "think", base)


async def _messages(fields: Fields) -> AsyncGenerator[Message]:
    """The messages of a chat. A result without the id of a call belongs to the first call of its tool that has none."""
    open_calls: list[tuple[str, ToolCall]] = []
    calls_n = 0
    for each in fields.objects("messages"):
        role = each.text("role")
        if role not in list(Role):
            each.refuse("role", "system, user, assistant or tool")
        content = await _with_images(each, each.text("content", ""))
        if role == Role.ASSISTANT:
            content = reasoned(each.text("thinking", "")) + content
            open_calls = [
                (call.text("id", ""), _call(call, calls_n + i)) for i, call in enumerate(each.objects("tool_calls"))
            ]
            if len(open_calls) > _MOST_CALLS:
                each.refuse("tool_calls", f"a list of at most {_MOST_CALLS}")
            calls_n += len(open_calls)
            yield Message(Role.ASSISTANT, content, tuple(call for _, call in open_calls))
        elif role == Role.TOOL:
            name, own_id = each.text("tool_name", "") or each.text("name", ""), each.text("tool_call_id", "")
            named = [call for called, call in open_calls if own_id and called == own_id]
            answered = next(iter(named or [call for _, call in open_calls if name in ("", call.name)]), None)
            open_calls = [(called, call) for called, call in open_calls if call is not answered]
            found = (answered.id, answered.name) if answered else (None, name)
            yield Message(Role.TOOL, content, call_id=found[0], name=found[1])
        else:
            yield Message(Role(role), content)


def _call(fields: Fields, number: int) -> ToolCall:
    function = fields.object("function") or fields.refuse("function", "an object")
    arguments = function.object("arguments")
    written = json.dumps(dict(arguments.values) if arguments else {}, ensure_ascii=False)
    return ToolCall(f"call{number:05}", function.text("name"), written)


async def _with_images(fields: Fields, content: str) -> str:
    images = [await image_from_base64(data, fields.at("images")) for data in fields.texts("images")]
    return "".join([*images, content])


async def _answered(service: Service, fields: Fields, asked: ReplyRequest | None, name: str) -> Response:
    """The answer; ``name`` is the field of its text."""
    model = pair_id(fields) or service.models()[0].id
    begun = time.perf_counter()
    if asked is None:
        unloads = _NO_TIME.fullmatch(str(fields.raw("keep_alive"))) is not None
        if not unloads:
            await service.info(model)
        answer = _Answer(model, name, begun)
        return JSONResponse(answer.line("", done=True, done_reason="unload" if unloads else "load"))
    thinks = fields.raw("think") is not False
    lines = _lines(
        service, asked, _Answer(model, name, begun, thinks, with_logprobs=asked.options.logprobs is not None)
    )
    if fields.flag("stream", default=True):
        # Its clients take no line that says nothing.
        return StreamResponse(_written(lines), _failure, MEDIA_TYPE, beat=lambda: b"")
    async with aclosing(lines):
        return JSONResponse(_whole([line async for line in lines], name))


@dataclass(slots=True)
class _Answer:
    """A reply as lines of the API."""

    model: str
    name: str
    """"message" or "response"."""
    begun: float
    thinks: bool = True
    with_logprobs: bool = False
    load_s: float = 0.0
    """Seconds until the reply began: those of a load, and of a wait for a place."""
    prompt_n: int = 0
    splitter: ReplySplitter = field(default_factory=ReplySplitter)
    said: TextTokens = field(default_factory=TextTokens)

    def receive(self, event: Event) -> Iterator[dict[str, Any]]:
        """The lines for the next event."""
        match event:
            case Started():
                self.splitter.begin(event)
                self.load_s = time.perf_counter() - self.begun
                self.prompt_n = event.prompt_n
            case Round():
                probabilities = self._logprobs(event)
                for part in self.splitter.receive(event):
                    yield from self._told(part, probabilities)
                    probabilities = {}
                if probabilities:
                    yield self.line("", **probabilities)
            case Finished():
                for part in self.splitter.end(event):
                    yield from self._told(part, {})
                if event.calls:
                    yield self._calls(event)
                yield self._finished(event)

    def line(self, text: str, thinking: str = "", *, done: bool = False, **fields: Any) -> dict[str, Any]:
        """A line with a piece of the reply."""
        created = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        thought = {"thinking": thinking} if thinking else {}
        said = (
            {"message": {"role": "assistant", "content": text, **thought}}
            if self.name == "message"
            else {"response": text, **thought}
        )
        return {"model": self.model, "created_at": created, **said, "done": done, **fields}

    def _told(self, part: Part, fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if part.kind is PartKind.ANSWER:
            yield self.line(part.text, **fields)
        elif self.thinks:
            yield self.line("", part.text, **fields)

    def _logprobs(self, event: Round) -> dict[str, Any]:
        listed = chat_logprobs(list(self.said.of(event.tokens)))["content"] if self.with_logprobs else []
        return {"logprobs": listed} if listed else {}

    def _calls(self, event: Finished) -> dict[str, Any]:
        line = self.line("")
        line["message"]["tool_calls"] = [
            {"id": call.id, "function": {"index": i, "name": call.name, "arguments": json.loads(call.arguments)}}
            for i, call in enumerate(event.calls)
        ]
        return line

    def _finished(self, event: Finished) -> dict[str, Any]:
        timings = event.timings
        return self.line(
            "",
            done=True,
            done_reason="length" if event.reason is FinishReason.LENGTH else "stop",
            total_duration=_nanoseconds(time.perf_counter() - self.begun),
            load_duration=_nanoseconds(self.load_s),
            prompt_eval_count=self.prompt_n,
            prompt_eval_duration=_nanoseconds(timings.prompt_ms / 1e3),
            eval_count=timings.predicted_n,
            eval_duration=_nanoseconds(timings.predicted_ms / 1e3),
        )


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


async def _lines(service: Service, asked: ReplyRequest, answer: _Answer) -> AsyncGenerator[dict[str, Any]]:
    async with aclosing(service.reply(asked)) as events:
        async for event in events:
            for line in answer.receive(event):
                yield line


async def _written(lines: AsyncGenerator[dict[str, Any]]) -> AsyncGenerator[bytes]:
    """The lines as JSON. Raises LocalSpecError."""
    async with aclosing(lines):
        async for line in lines:
            yield _json_line(line)


def _failure(error: LocalSpecError) -> bytes:
    return _json_line(ollama_error(error))


def _json_line(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _whole(lines: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The lines of a reply as one."""
    whole = lines[-1]
    held = [line["message"] if name == "message" else line for line in lines]
    texts = {key: "".join(each.get(key, "") for each in held) for key in ("content", "response", "thinking")}
    said = {key: text for key, text in texts.items() if key in held[-1] or text}
    calls = [call for each in held for call in each.get("tool_calls", ())]
    logprobs = [one for line in lines for one in line.get("logprobs", ())]
    held[-1].update(said, **({"tool_calls": calls} if calls else {}))
    return {**whole, **({"logprobs": logprobs} if logprobs else {})}


ENDPOINTS: Endpoints = (
    ("POST", "/api/chat", _chat),
    ("POST", "/api/generate", _generate),
    ("GET", "/api/version", _version),
    ("GET", "/api/tags", list_models),
    ("GET", "/api/ps", list_running),
    ("POST", "/api/show", show_model),
)
