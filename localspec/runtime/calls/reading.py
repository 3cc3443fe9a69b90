"""Calls read from the text of a complete reply.

A call in the reasoning, or in a block of code as text, is none; neither is one that a message of the conversation says
word for word. Models forget to close their reasoning: calls that a reply ends with in there are some. Either every call
of a reply can be read, or none is made and a sentence says what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localspec.base.visible import is_text, visible_line
from localspec.runtime.calls.arguments import SPACE, after, json_value, nested_value, typed, types_of
from localspec.runtime.calls.syntax import MESSAGE, CallSyntax, Markers
from localspec.runtime.messages import Tool
from localspec.runtime.reasoning import Reasoning
from localspec.runtime.template.values import schema_of

_AGAIN = "Write the whole call again."
_NAMES, _ARGUMENTS = ("name", "tool_name"), ("arguments", "parameters")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_BETWEEN = re.compile(r"[;,\s]*")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call in a text."""

    name: str
    arguments: dict[str, Any]
    start: int
    """The index of its first character."""
    end: int
    """The index after its last."""
    sign: str
    """The part of it that names the tool, without white space."""

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class CallsRead:
    """The calls of a text, or a sentence for the model about one that cannot be read."""

    calls: tuple[FoundCall, ...] = ()
    error: str | None = None


class _Unreadable(Exception):
    """A call that cannot be read; says why in a sentence."""


class CallReader:
    """Reads calls in one syntax of tools that are offered."""

    def __init__(self, syntax: CallSyntax, tools: Sequence[Tool], markers: Markers | None = None) -> None:
        self._syntax = syntax
        self._schemas = {tool.name: schema_of(tool) for tool in tools}
        self._markers = markers or Markers()
        self._begin = self._markers.compiled(syntax.begin)
        self._end = self._markers.compiled(syntax.end)
        self._argument = self._markers.compiled(syntax.argument) if syntax.argument else None
        self._nests = self._markers.written(syntax.nests)
        self._quote = self._markers.written(syntax.quote)

    def read(self, text: str, *, reasons: bool = False, messages: Iterable[str] = ()) -> CallsRead:
        """The calls of ``text``; ``reasons`` if the prompt has begun the reasoning.

        ``messages`` are texts of others in the conversation, which may hold calls that the reply only repeats.
        """
        start = self.answer_start(text, reasons=reasons)
        try:
            if start is None:
                found = self._last(text)
            else:
                found = self._bare(text, start) if self._syntax.bare else self._marked(text, start)
            self._check_names(found)
            found = _own(found, messages)
        except _Unreadable as error:
            return CallsRead(error=str(error))
        return CallsRead(tuple(found))

    def answer_start(self, text: str, *, reasons: bool) -> int | None:
        """The index after the reasoning; None if that has no end. ``reasons`` is as for ``read``."""
        opening, closing = map(self._markers.in_place, self._syntax.reasoning)
        if reasons or text.lstrip().startswith(opening):
            end = text.find(closing)
            # In Muse and Solar it may be part of a call.
            return None if end < 0 else end if closing in self.heads else end + len(closing)
        reasoning = Reasoning.opened(text)
        if reasoning is None or MESSAGE in self._syntax.markers:  # calls of gpt-oss follow its reasoning unclosed
            return 0
        return reasoning.end if reasoning.closed else None

    @property
    def heads(self) -> tuple[str, ...]:
        """The beginnings of calls, as they stand in a text to read."""
        heads = map(self._markers.in_text, self._syntax.heads)
        return tuple(dict.fromkeys(head.replace("TOOLS", name) for head in heads for name in self._schemas))

    def begins_at(self, text: str, at: int) -> bool:
        """True if a call begins at an index of ``text``."""
        return self._begin.match(text, at) is not None

    def names_tool(self, text: str) -> bool:
        """True if ``text`` holds the name of an offered tool."""
        return any(name in text for name in self._schemas)

    def _marked(self, text: str, start: int) -> list[FoundCall]:
        """Calls anywhere from ``start`` on."""
        found: list[FoundCall] = []
        said = ""
        at = start
        while begin := self._begin.search(text, at):
            said += text[at : begin.start()]
            if _in_fence(said) and not self._markers.has_stand_in(begin[0]):
                said += begin[0]
                at = begin.end()
                continue
            found += (calls := self._calls(text, begin))
            at = calls[-1].end
            self._check_rest(text, at)
        return found

    def _bare(self, text: str, start: int) -> list[FoundCall]:
        """Calls of offered tools that are all there is from ``start`` on; none if anything else is."""
        found: list[FoundCall] = []
        at = start
        while (at := after(_BETWEEN, text, at)) < len(text):
            begin = self._begin.match(text, at)
            try:
                calls = self._calls(text, begin) if begin else []
            except _Unreadable:
                calls = []
            if not calls or not all(call.name in self._schemas for call in calls):
                return []
            found += calls
            at = calls[-1].end
        return found

    def _last(self, text: str) -> list[FoundCall]:
        """Calls of offered tools that the text ends with, in its reasoning, unless that is a message of its own."""
        at = 0
        while not (self._syntax.bare or MESSAGE in self._syntax.markers) and (begin := self._begin.search(text, at)):
            if found := self._bare(text, begin.start()):
                return found
            try:
                at = self._calls(text, begin)[-1].end
            except _Unreadable:  # what follows may be a part of it
                break
        return []

    def _check_rest(self, text: str, at: int) -> None:
        """Raise _Unreadable if a value that was read up to ``at`` may have gone on: only another call may follow."""
        if not self._syntax.is_tagged:
            return
        at = after(_BETWEEN, text, at)
        if at < len(text) and not self._begin.match(text, at):
            raise _Unreadable(f"A call of a tool cannot be read: text follows it. {_AGAIN}")

    def _calls(self, text: str, begin: re.Match[str]) -> list[FoundCall]:
        """The call at ``begin``, or several if they are a list. Raises _Unreadable."""
        groups = begin.groupdict()
        name = groups.get("name") or groups.get("later")
        try:
            if self._argument is not None:
                value, at = self._tagged(text, begin.end(), self._argument, str(name))
            else:
                value, at = self._syntax.read(text, begin.end(), self._quote)
            end = self._end.match(text, at)
            if end is None:
                raise ValueError("it does not end")
            named = [(name, value)] if name else [_named(each, keyed=self._syntax.keyed) for each in _listed(value)]
            place = begin.start(), end.end()
            sign = _squeezed(begin[0] if name else text[slice(*place)])
            calls = [FoundCall(each, _object(given), *place, sign) for each, given in named]
        except ValueError as error:
            raise _Unreadable(f"A call of a tool cannot be read: {error}. {_AGAIN}") from None
        if not calls:
            raise _Unreadable(f"A call of a tool cannot be read: it names no tool. {_AGAIN}")
        return calls

    def _tagged(self, text: str, at: int, argument: re.Pattern[str], name: str) -> tuple[dict[str, Any], int]:
        schema = self._schemas.get(name, {})
        properties = schema.get("properties")
        schemas: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        values: dict[str, Any] = {}
        while found := argument.match(text, at):
            key = found["key"].strip()
            at = found.start("value")
            if self._nests and (nested := nested_value(text, at, key, self._nests, schemas.get(key), schema)):
                values[key], at = nested[0], after(SPACE, text, nested[1])
                continue
            types = types_of(schemas.get(key), schema)
            if types is not None and "string" not in types:
                found = _as_json(text, argument, found)
            values[key] = typed(text[slice(*found.span("value"))], types)
            at = found.end()
        return values, at

    def _check_names(self, found: Sequence[FoundCall]) -> None:
        for call in found:
            if call.name not in self._schemas:
                names = ", ".join(self._schemas)
                named = visible_line(call.name[:_LONGEST_NAME])
                raise _Unreadable(f"There is no tool named {named}. There are: {names}.")


def _own(found: list[FoundCall], messages: Iterable[str]) -> list[FoundCall]:
    """The calls unless all are repeated from messages. Raises _Unreadable if some are: those may be part of a value."""
    said = [_squeezed(message) for message in messages] if found else []
    repeated_n = sum(any(call.sign in each for each in said) for call in found)
    if 0 < repeated_n < len(found):
        raise _Unreadable(f"One of several calls stands in a message word for word. {_AGAIN}")
    return [] if repeated_n else found


def _as_json(text: str, argument: re.Pattern[str], found: re.Match[str]) -> re.Match[str]:
    """An argument whose value goes on to the end of the JSON there, if that is all of it: a text in it may say tags."""
    start = found.start("value")
    try:
        _, end = json_value(text, start)
    except ValueError:
        return found
    covered = argument.match(text[:start] + " " * (end - start) + text[end:], found.start())
    return covered if covered and covered.end("value") == end else found


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _named(value: Any, *, keyed: bool) -> tuple[str, Any]:
    """The name and the arguments that an object holds. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    if keyed and len(value) == 1:
        return next(iter(value.items()))
    name = next((value[key] for key in _NAMES if key in value), None)
    if not isinstance(name, str) or not name:
        raise ValueError("it names no tool")
    return name, next((value[key] for key in _ARGUMENTS if key in value), {})


def _object(arguments: Any) -> dict[str, Any]:
    """Arguments as an object; some models write it as a text. Raises ValueError."""
    if isinstance(arguments, str):
        text = arguments
        arguments, end = json_value(text, 0)
        if text[end:].strip():
            raise ValueError("text follows its arguments")
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError("its arguments are no JSON object")
    if not is_text(json.dumps(arguments, ensure_ascii=False)):  # half a character, or the stand-in of a control token
        raise ValueError("what it says is no text")
    return arguments


def _in_fence(text: str) -> bool:
    """True if a block of code is open at the end of ``text`` (CommonMark 4.5)."""
    fence: str | None = None
    for found in _FENCE.finditer(text):
        mark, rest = found[1], found[2]
        if fence is None:
            fence = mark if mark[0] == "~" or "`" not in rest else None
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip():
            fence = None
    return fence is not None
