"""Conversations with tools, as a chat template takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from localspec.engine.events import ToolCall
from localspec.runtime.calls.form import CallForm
from localspec.runtime.calls.reading import CallReader
from localspec.runtime.calls.syntax import MESSAGE, CallSyntax, unmarked
from localspec.runtime.messages import Message, Role, Tool
from localspec.runtime.template.marked_text import MarkedText
from localspec.runtime.template.values import described, given, json_object

_TOOLS = """You can call these tools:
<tools>
{tools}
</tools>

To call one, write this with its name and its arguments, and nothing after it:
{sample}

The result comes with the next message."""
_BEGIN, _END = MarkedText.given("<tool_response>\n"), MarkedText.given("\n</tool_response>")
_FINAL = re.compile(r"\A.*(?:<\|channel\|>final|to=user)<\|message\|>", re.DOTALL)
_HEADS = re.compile(
    r"<\|(?:start|end|eom|return|constrain)\|>(?:assistant)?"
    r"|(?:<\|channel\|>(?:(?!<\|channel\|>).)*?|(?<!\s)\s*to=self)<\|message\|>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ToolPrompts:
    """The messages of a conversation in the form of a template, for the tools of a reply."""

    form: CallForm
    tools: tuple[Tool, ...]

    @property
    def listed(self) -> tuple[Tool, ...]:
        """The tools that the template is given."""
        return self.tools if self.form.lists_tools else ()

    def prepared(self, messages: Sequence[Message]) -> list[Message]:
        """The messages for the template; all of their text is input, as ever."""
        found = [self._as_said(without_unreadable(message)) for message in messages]
        if not self.form.writes_calls and self.form.lists_tools:
            found = [_as_written(message, self.form.syntax) for message in found]
        elif not self.form.writes_calls:
            found = list(_as_text(found))
        elif not self.form.parallel:
            found = list(_one_by_one(found))
        return found if self.form.lists_tools or not self.tools else self._described(found)

    def _as_said(self, message: Message) -> Message:
        """A message whose content is what it says beside its calls."""
        if message.role is not Role.ASSISTANT:
            return message
        content = said(message.content, message.calls, self.form.syntax)
        if message.calls and self.form.writes_calls and not self.form.says_first:
            content = ""
        return replace(message, content=content) if content != message.content else message

    def _described(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with the tools in the system message."""
        lines = "\n".join(json.dumps(described(tool), ensure_ascii=False) for tool in self.tools)
        text = _TOOLS.format(tools=lines, sample=self.form.sample)
        if messages and messages[0].role is Role.SYSTEM:
            return [Message(Role.SYSTEM, f"{messages[0].content}\n\n{text}"), *messages[1:]]
        return [Message(Role.SYSTEM, text), *messages]


def speaks_of_calls(message: Message) -> bool:
    """True for a message that is part of a call, or of a reply that could have made one."""
    return bool(message.calls) or message.role is Role.TOOL or MESSAGE in message.content


def without_unreadable(message: Message) -> Message:
    """The message without a call that could not be read, which has no name: its result is said by the user then."""
    if message.role is Role.TOOL and not message.name:
        return Message(Role.USER, message.content)
    if not all(call.name for call in message.calls):
        return replace(message, calls=tuple(call for call in message.calls if call.name))
    return message


def said(content: str, calls: Sequence[ToolCall], syntax: CallSyntax) -> str:
    """The text of an assistant's message up to its calls; of several messages with heads, the text of the final one."""
    if calls:
        reader, closing = CallReader(syntax, [Tool(call.name, "", "{}") for call in calls]), syntax.reasoning[1]
        for reasons in (closing in content, False):
            found = reader.read(content, reasons=reasons).calls
            if [each.name for each in found] == [call.name for call in calls]:
                content = content[: found[0].start].rstrip()
                if closing not in syntax.begin and reader.answer_start(content, reasons=False) is None:
                    content += f"\n{closing}"  # templates look for it
                break
    return _HEADS.sub("", _FINAL.sub("", content)) if MESSAGE in syntax.markers else content


def _as_text(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with calls and results in ordinary ones, in the syntax of Hermes models."""
    for is_result, group in groupby(messages, lambda message: message.role is Role.TOOL):
        if is_result:
            # A mark in a result stands for an image, and stays one.
            results = (_BEGIN + given(message.content).strip() + _END for message in group)
            yield Message(Role.USER, MarkedText.given("\n").join(results))
            continue
        for message in group:
            parts = [message.content, *map(_call_text, message.calls)]
            yield Message(message.role, "\n".join(filter(None, parts))) if message.calls else message


def _as_written(message: Message, syntax: CallSyntax) -> Message:
    """An assistant's message with the text of its calls, as its model writes it."""
    if not message.calls:
        return message
    before, between, after = (text.replace("\n", "") for text in syntax.around)
    calls = between.join(_item(call, syntax) for call in message.calls)
    text = unmarked(f"{before}{calls}{after}")
    return Message(message.role, "\n".join(filter(None, (message.content, text))))


def _item(call: ToolCall, syntax: CallSyntax) -> str:
    if not syntax.written:
        parts = {"NAME": call.name, "ARGUMENTS": call.arguments}
        return re.sub("|".join(parts), lambda found: parts[found[0]], syntax.held[0])
    given = (f"{key}={json.dumps(value)}" for key, value in (json_object(call.arguments) or {}).items())
    return f"{call.name}({', '.join(given)})"


def _call_text(call: ToolCall) -> str:
    written = json.dumps({"name": call.name, "arguments": json_object(call.arguments) or {}}, ensure_ascii=False)
    return f"<tool_call>\n{written}\n</tool_call>"


def _one_by_one(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with one call each, followed by its result."""
    moved: set[int] = set()
    for at, message in enumerate(messages):
        if len(message.calls) < 2:
            if at not in moved:
                yield message
            continue
        # Up to the next reply: some programs number the calls of each from the first on.
        later = range(at + 1, len(messages))
        results = [n for n in takewhile(lambda n: not messages[n].calls, later) if messages[n].role is Role.TOOL]
        for i, call in enumerate(message.calls):
            yield replace(message, content="" if i else message.content, calls=(call,))
            found = next((n for n in results if n not in moved and messages[n].call_id == call.id), None)
            if found is not None:
                moved.add(found)
                yield messages[found]
