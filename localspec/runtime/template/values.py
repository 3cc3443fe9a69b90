"""The values that a chat template is given: messages, tools and calls in the shapes of the Hugging Face libraries.

Names, descriptions, arguments and results are input, every text in them: none can become a control token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from localspec.engine.events import ToolCall
from localspec.runtime.messages import OFF, ON, Message, Role, Tool
from localspec.runtime.template.marked_text import MarkedText


class GivenList(list[Any]):
    """A list that a template is given, and may not change."""


@dataclass(frozen=True, slots=True)
class CallShape:
    """The shape in which a template takes a message with calls."""

    arguments_as_text: bool = False
    """True for arguments as JSON text, not as an object."""
    empty_as_none: bool = False
    """True for None instead of an empty text."""


_PLAIN_TYPES = ("string", "number", "integer", "boolean", "array", "object")
USUAL = CallShape()
"""The shape that most templates take."""


def message_value(message: Message, shape: CallShape) -> dict[str, Any]:
    """A message, its calls in ``shape``."""
    value: dict[str, Any] = {"role": MarkedText.own(str(message.role)), "content": given(message.content)}
    if message.calls:
        calls = (_call_value(call, as_text=shape.arguments_as_text) for call in message.calls)
        value["tool_calls"] = GivenList(calls)
        if shape.empty_as_none and not message.content:
            value["content"] = None
    if message.role is Role.TOOL:
        value["tool_call_id"], value["name"] = given(message.call_id or ""), given(message.name or "")
    return value


def reasoning_values(reasoning: str | None, source: str) -> dict[str, Any]:
    """The variables by which chat templates are told of the reasoning in ``ReplyOptions``; empty for None.

    ``source`` is the template: where it knows efforts alone, its lowest stands for "off".
    """
    if reasoning is None:
        return {}
    on = reasoning != OFF
    mode = MarkedText.own("enabled" if on else "disabled")
    values: dict[str, Any] = {"enable_thinking": on, "thinking": on, "reasoning": on, "thinking_mode": mode}
    if not on:
        values["thinking_budget"] = 0
    lowest = next((word for word in ("no_think", "none") if re.search(rf"['\"]{word}['\"]", source)), "low")
    # A template that knows "no_think" takes that where no effort is given.
    of_switch = {OFF: lowest, ON: "high" if lowest == "no_think" else None}
    if effort := of_switch.get(reasoning, reasoning):
        names = ("reasoning_effort", "reasoning_strength", "thinking_effort")
        values |= dict.fromkeys(names, MarkedText.given(effort))
    return values


def tool_value(tool: Tool, *, plain: bool = False) -> dict[str, Any]:
    """A tool, as OpenAI's protocol describes one; ``plain`` if its schema is to have what every template knows."""
    schema = schema_of(tool)
    function = {
        "name": given(tool.name),
        "description": given(tool.description),
        "parameters": _all_given({"properties": {}} | _plain_schema(schema) if plain else schema),
    }
    return {"type": MarkedText.own("function"), "function": function}


def functions_text(tools: Sequence[Tool]) -> MarkedText:
    """All tools as one JSON text."""
    return given(json.dumps([described(tool) for tool in tools], ensure_ascii=False))


def described(tool: Tool) -> dict[str, Any]:
    """A tool as a JSON object."""
    return {"name": tool.name, "description": tool.description, "parameters": schema_of(tool)}


def schema_of(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments; one for no arguments if it is no JSON object."""
    found = json_object(tool.parameters)
    return found if found is not None else {"type": "object", "properties": {}}


def _plain_schema(schema: Any) -> Any:
    """A JSON Schema without members that are null, and with no types but the usual ones."""
    if isinstance(schema, list):
        return [_plain_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _plain_schema(part) for name, part in schema.items() if part is not None}
    if isinstance(named := found.get("type"), list):
        found["type"] = [each for each in named if each in _PLAIN_TYPES]
    elif isinstance(named, str) and named not in _PLAIN_TYPES:
        del found["type"]
    return found


def json_object(text: str) -> dict[str, Any] | None:
    """The object that a JSON text holds; None if it holds anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def given(text: str) -> MarkedText:
    """A text as input, but for what is marked already."""
    return text if isinstance(text, MarkedText) else MarkedText.given(text)


def _call_value(call: ToolCall, *, as_text: bool) -> dict[str, Any]:
    arguments = given(call.arguments) if as_text else _all_given(json_object(call.arguments) or {})
    function = {"name": given(call.name), "arguments": arguments}
    return {"id": given(call.id), "type": MarkedText.own("function"), "function": function}


def _all_given(value: Any) -> Any:
    """A JSON value with every text in it as input."""
    match value:
        case str():
            return given(value)
        case list():
            return GivenList(_all_given(part) for part in value)
        case dict():
            return {given(name): _all_given(part) for name, part in value.items()}
        case _:
            return value
