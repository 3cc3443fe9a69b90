"""Messages and tools of OpenAI's APIs, in LocalSpec's own words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from localspec.engine.events import ToolCall
from localspec.runtime.images import images_in
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool
from localspec.server.documents import document_from_base64
from localspec.server.failures import InvalidFieldError
from localspec.server.fields import Fields
from localspec.server.images import image_from_url

_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, **{str(role): role for role in Role}}
LONGEST_NAME = 128
"""Characters of a tool's name, as Anthropic's API has it; agents put the names of servers in front."""
_NAME = re.compile(rf"[\w.-]{{1,{LONGEST_NAME}}}", re.ASCII)
_TEXTS = ("text", "input_text", "output_text", "refusal")
_IMAGES = ("image_url", "input_image")
_FILES = ("file", "input_file")
_PAST = "Send tools and tool_choice instead."


async def messages_of(fields: Fields) -> tuple[Message, ...]:
    """The messages of a chat. Raises InputError."""
    listed = fields.objects("messages")
    if not listed:
        fields.refuse("messages", "a list with a message or more")
    return joined([await _message(each) for each in listed])


def joined(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with those of the system at the beginning as one, and results with the names of their tools.

    Templates know one system message.
    """
    names = {call.id: call.name for message in messages for call in message.calls}
    system = [message.content for message in takewhile(lambda message: message.role is Role.SYSTEM, messages)]
    found = [Message(Role.SYSTEM, "\n\n".join(system))] if system else []
    for message in messages[len(system) :]:
        names |= {call.id: call.name for call in message.calls}  # of the latest reply, where an id comes again
        if message.role is Role.TOOL and message.name is None:
            message = replace(message, name=names.get(message.call_id or "", ""))
        found.append(message)
    return tuple(found)


def split_prefix(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], str]:
    """The conversation, and the beginning of its reply: a last text of the assistant, as llama-server has it."""
    if len(messages) > 1 and messages[-1].role is Role.ASSISTANT and not messages[-1].calls:
        return messages[:-1], messages[-1].content
    return messages, ""


async def _message(fields: Fields) -> Message:
    role = _ROLES.get(fields.text("role"))
    if role is None:
        fields.refuse("role", "system, developer, user, assistant or tool")
    if role is Role.ASSISTANT:
        return await _reply(fields)
    content = await content_of(fields, role)
    if role is not Role.TOOL:
        return Message(role, content)
    return Message(role, content, call_id=fields.text("tool_call_id"), name=fields.text("name", "") or None)


async def _reply(fields: Fields) -> Message:
    """A message of the assistant, whose content may be null: of a reply without text, or one that was broken off."""
    calls = tuple(_call(each) for each in fields.objects("tool_calls"))
    thought, refusal = fields.text("reasoning_content", ""), fields.text("refusal", "")
    if not (calls or thought or refusal or "content" in fields.values):
        fields.refuse("content", "a text or a list of parts")
    content = await content_of(fields, Role.ASSISTANT) if fields.has("content") else refusal
    return Message(Role.ASSISTANT, reasoned(thought) + content, calls)


def reasoned(thought: str) -> str:
    """Reasoning in its tags, to put in front of the answer; empty without any."""
    return f"<think>\n{thought}\n</think>\n\n" if thought else ""


async def content_of(fields: Fields, role: Role, name: str = "content") -> str:
    """The text of a message, which names its images. Raises InputError."""
    value = fields.raw(name)
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        fields.refuse(name, "a text or a list of parts")
    return _content([await _part(part, role) for part in fields.objects(name)])


async def result_of(fields: Fields, name: str) -> tuple[str, str]:
    """The text of a tool's result, and its images, which are looked at in messages of the user alone.

    Raises InputError.
    """
    if not isinstance(fields.raw(name), list):
        return await content_of(fields, Role.TOOL, name), ""
    parts = fields.objects(name)
    texts = [await _part(part, Role.TOOL) for part in parts if part.raw("type") not in _IMAGES]
    images = [await _part(part, Role.USER) for part in parts if part.raw("type") in _IMAGES]
    return _content(texts), _content(images)


def _content(parts: Iterable[str]) -> str:
    content = ""
    for text in parts:
        # An image is named at the beginning of a line.
        breaks = images_in(text) and content and not content.endswith("\n")
        content += f"\n{text}" if breaks else text
    return content


async def _part(part: Fields, role: Role) -> str:
    kind = part.text("type")
    if kind in _TEXTS:
        return part.text("refusal" if kind == "refusal" else "text")
    if kind in _IMAGES:
        if role is not Role.USER:
            part.refuse("type", "text: only messages of the user have images")
        within = None if isinstance(part.raw("image_url"), str) else part.object("image_url")
        url = within.text("url") if within else part.text("image_url")
        return await image_from_url(url, within.at("url") if within else part.at("image_url"))
    if kind in _FILES and role in (Role.USER, Role.TOOL):
        file = _within(part, "file") if kind == "file" else part
        block = await document_from_base64(file.text("file_data"), file.text("filename", ""), file.at("file_data"))
        return f"\n{block}\n"
    return part.refuse("type", "text, image_url or file")


def _call(fields: Fields) -> ToolCall:
    function = _within(fields, "function")
    return ToolCall(fields.text("id"), function.text("name"), function.text("arguments", "{}"))


def tools_of(fields: Fields) -> tuple[Tool, ...]:
    """The tools that a request offers. Raises InvalidFieldError."""
    for past in ("functions", "function_call"):
        if fields.has(past):
            raise InvalidFieldError(f"{past} is no longer understood.", _PAST, param=past)
    listed = fields.objects("tools")
    for each in listed:
        if each.text("type", "function") != "function":
            each.refuse("type", "function, the only kind of tool here")
    return distinct(fields, (tool_of(_within(each, "function")) for each in listed))


def distinct(fields: Fields, tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools of a request. Raises InvalidFieldError if two have the same name."""
    found: dict[str, Tool] = {}
    for tool in tools:
        if tool.name in found:
            fields.refuse("tools", f"a list of tools with different names: there are two of {tool.name}")
        found[tool.name] = tool
    return tuple(found.values())


def _within(fields: Fields, name: str) -> Fields:
    return fields.object(name) or fields.refuse(name, "an object")


def tool_of(function: Fields) -> Tool:
    """A function that may be called. Raises InvalidFieldError."""
    schema = function.object("parameters")
    parameters = dict(schema.values) if schema else {"type": "object", "properties": {}}
    return Tool(tool_name(function), function.text("description", ""), json.dumps(parameters))


def tool_name(tool: Fields) -> str:
    """The name of a function, or of a namespace of functions. Raises InvalidFieldError."""
    name = tool.text("name")
    if not _NAME.fullmatch(name):
        tool.refuse("name", f"a name of 1 to {LONGEST_NAME} letters, digits, dots, dashes and underscores")
    return name


def with_tools(fields: Fields, options: ReplyOptions, tools: tuple[Tool, ...]) -> ReplyOptions:
    """The options with those of ``tools`` that the reply may call, as a request chooses. Raises InvalidFieldError."""
    tools, must_call = _chosen(fields, tools)
    several = fields.flag("parallel_tool_calls", default=True)
    return replace(options, tools=tools, must_call=must_call, one_call=bool(tools) and not several)


def _chosen(fields: Fields, tools: tuple[Tool, ...]) -> tuple[tuple[Tool, ...], bool]:
    """The tools that the reply may call by ``tool_choice``, and True if it must call one."""
    choice = fields.raw("tool_choice")
    name = choice
    if isinstance(choice, dict):
        within = fields.object("tool_choice")
        assert within is not None
        if within.raw("type") == "allowed_tools":
            return _allowed(within.object("allowed_tools") or within, tools)
        name = (within.object("function") or within).text("name")
        named = tuple(tool for tool in tools if tool.name == name)
        return (named, True) if named else fields.refuse("tool_choice", "one of the tools")
    if name == "required":
        return (
            (tools, True) if tools else fields.refuse("tools", "a list with a tool, since tool_choice requires a call")
        )
    if name == "none":
        return (), False
    return (tools, False) if name in (None, "auto") else fields.refuse("tool_choice", "auto, none, required or a tool")


def _allowed(choice: Fields, tools: tuple[Tool, ...]) -> tuple[tuple[Tool, ...], bool]:
    """As ``_chosen``, for a choice that names several tools."""
    names = [(each.object("function") or each).text("name") for each in choice.objects("tools")]
    named = tuple(tool for tool in tools if tool.name in names)
    if not named:
        choice.refuse("tools", "a list of the request's tools")
    mode = choice.text("mode")
    return (named, mode == "required") if mode in ("auto", "required") else choice.refuse("mode", "auto or required")
