"""Requests as other servers with OpenAI's API take them, and what each kind of server has beyond that API."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from localspec.base.errors import InputError, UsageError
from localspec.engine.settings import Sampling, option
from localspec.runtime.calls.parameters import schema_in
from localspec.runtime.calls.prompt import without_unreadable
from localspec.runtime.images import split_images
from localspec.runtime.messages import OFF, ON, Message, ReplyOptions, Role
from localspec.runtime.reasoning import Reasoning
from localspec.runtime.template.values import described

LLAMA_CPP, VLLM, SGLANG, LM_STUDIO, OLLAMA, OTHER = "llama-server", "vLLM", "SGLang", "LM Studio", "Ollama", "a server"

_LIMIT, _NEWER_LIMIT = "max_tokens", "max_completion_tokens"
"""OpenAI's newest models take the second alone, other servers often the first alone."""
_BUILT_IN: Mapping[str, Any] = {field.name: field.default for field in fields(Sampling)}
_OPENAI = {"temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias"}
_SAMPLING: Mapping[str, frozenset[str]] = {
    LLAMA_CPP: frozenset(field.name for field in fields(Sampling)) - {"grammar_triggers"},
    VLLM: frozenset(_OPENAI | {"top_k", "min_p", "repeat_penalty", "grammar"}),
    SGLANG: frozenset(_OPENAI | {"top_k", "min_p", "repeat_penalty", "grammar"}),
    LM_STUDIO: frozenset(_OPENAI | {"top_k", "repeat_penalty", "grammar"}),
    OLLAMA: frozenset(_OPENAI - {"logit_bias"} | {"grammar"}),
}
"""The fields of ``Sampling`` that each kind of server has, by some name; ``grammar`` at least for JSON Schemas."""
_NAMES: Mapping[str, Mapping[str, str]] = {
    VLLM: {"repeat_penalty": "repetition_penalty"},
    SGLANG: {"repeat_penalty": "repetition_penalty"},
}
"""Fields that a kind of server has another name for."""


def sampling_fields(kind: str) -> tuple[str, ...]:
    """The fields of ``Sampling`` that this kind of server has, in order."""
    known = _SAMPLING.get(kind, _OPENAI | {"grammar"})
    return tuple(field.name for field in fields(Sampling) if field.name in known)


def reply_body(
    kind: str, model: str, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str
) -> dict[str, Any]:
    """The JSON object that asks for a reply as a stream.

    Raises InputError for an image that cannot be read, and for a reply that this kind of server cannot go on with;
    UsageError for a grammar that it has not.
    """
    body: dict[str, Any] = {"model": model, "stream": True, "stream_options": {"include_usage": True}}
    if isinstance(prompt, str):
        body["prompt"] = prompt + prefix
    else:
        body |= {"messages": [_message(without_unreadable(message)) for message in prompt], **_begun(kind, prefix)}
        body |= _reasoning(kind, options.reasoning)
        if prefix:
            body["messages"].append({"role": "assistant", "content": prefix})
    if options.max_tokens is not None:
        body[_LIMIT] = options.max_tokens
    if options.seed is not None:
        body["seed"] = options.seed
    if options.stop:
        body["stop"] = list(options.stop)
    if options.tools and not isinstance(prompt, str):
        body["tools"] = [{"type": "function", "function": described(tool)} for tool in options.tools]
    return body | _sampling(kind, options.sampling)


def can_adapt(body: Mapping[str, Any], field: str) -> bool:
    """True if ``adapted`` can do without a field that is in the request: nothing that the user has set is lost."""
    return field in body and (field == _LIMIT or body[field] == _BUILT_IN.get(field))


def adapted(body: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """The request for a model that does not take the fields ``refused``, as far as ``can_adapt`` says that it can be.

    The limit has another name then, and what the settings have built in is left to the server.
    """
    without = {field for field in refused if can_adapt(body, field)}
    kept = {field: value for field, value in body.items() if field not in without}
    return kept | ({_NEWER_LIMIT: body[_LIMIT]} if _LIMIT in without else {})


def _reasoning(kind: str, reasoning: str | None) -> dict[str, Any]:
    """The fields that ask for reasoning or rule it out; servers that fill in a template themselves take its switch."""
    if reasoning is None:
        return {}
    if reasoning in (OFF, ON) and kind in (LLAMA_CPP, VLLM, SGLANG):
        return {"chat_template_kwargs": dict.fromkeys(("enable_thinking", "thinking"), reasoning == ON)}
    return {"reasoning_effort": {OFF: "none", ON: "medium"}.get(reasoning, reasoning)}


def _begun(kind: str, prefix: str) -> dict[str, Any]:
    """The fields that have the server go on with the last message."""
    if not prefix or kind == LLAMA_CPP:
        return {}
    if kind in (VLLM, SGLANG):
        return {"continue_final_message": True, "add_generation_prompt": False}
    raise InputError("This server cannot go on with a reply that has begun.", "Ask it to go on in a new message.")


def _message(message: Message) -> dict[str, Any]:
    match message.role:
        case Role.TOOL if message.call_id is not None:
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
        case Role.TOOL | Role.USER:
            return {"role": "user", "content": _content(message.content)}
        case Role.ASSISTANT:
            return {"role": "assistant", "content": _answer(message.content)} | _calls(message)
        case _:
            return {"role": str(message.role), "content": message.content}


def _answer(text: str) -> str:
    """A reply without its reasoning, which no template wants back."""
    reasoning = Reasoning.find(text)
    return text[reasoning.end :].lstrip() if reasoning is not None else text


def _calls(message: Message) -> dict[str, Any]:
    if not message.calls:
        return {}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    return {"tool_calls": calls}


def _content(text: str) -> str | list[dict[str, Any]]:
    """A user's message; with images as OpenAI's parts."""
    parts = split_images(text)
    if all(isinstance(part, str) for part in parts):
        return text
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, str):
            content.append({"type": "text", "text": part})
        else:
            url = "data:image/png;base64," + b64encode(part[1].read()).decode("ascii")
            content.append({"type": "image_url", "image_url": {"url": url}})
    return content


def _sampling(kind: str, sampling: Sampling) -> dict[str, Any]:
    """The fields that this server has, by its names; those that are off are left out."""
    names = _NAMES.get(kind, {})
    known = {name: getattr(sampling, name) for name in sampling_fields(kind) if name not in _SHAPED}
    body = {names.get(name, name): value for name, value in known.items() if value != _OFF.get(name)}
    if "dry_sequence_breakers" in body:
        body["dry_sequence_breakers"] = list(body["dry_sequence_breakers"])
    if sampling.logit_bias and "logit_bias" in sampling_fields(kind):
        body["logit_bias"] = {str(token): max(-100.0, min(100.0, bias)) for token, bias in sampling.logit_bias}
    if sampling.grammar is not None:
        body |= _grammar(kind, sampling.grammar)
    return body


_SHAPED = ("logit_bias", "grammar")
_OFF: Mapping[str, Any] = {
    **_BUILT_IN,
    # A server has defaults of its own for these, so that they are said whatever they are.
    **dict.fromkeys(("temperature", "top_k", "top_p", "min_p")),
}
"""The values that need not be said."""


def _grammar(kind: str, grammar: str) -> dict[str, Any]:
    if grammar.lstrip().startswith("{"):
        schema = _schema_in(grammar)
        if schema is not None:
            named = {"name": "reply", "schema": schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
    elif kind == LLAMA_CPP and not grammar.lstrip().startswith("%llguidance"):
        return {"grammar": grammar}
    raise UsageError(
        f"{option('grammar')} cannot be passed on to this server.", "Leave it out, or use a pair of this machine."
    )


def _schema_in(grammar: str) -> object | None:
    """As ``schema_in``, without what is for llguidance alone."""
    schema = schema_in(grammar)
    return {name: part for name, part in schema.items() if name != "x-guidance"} if isinstance(schema, dict) else schema
