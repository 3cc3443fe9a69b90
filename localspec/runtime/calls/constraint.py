"""The constraint that holds the arguments of calls to the schemas of their tools, from the beginning of a call on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from localspec.base.errors import UsageError
from localspec.engine.settings import Sampling
from localspec.runtime.calls.parameters import (
    ANY,
    ANY_TEXT,
    DEFINITIONS,
    NAME,
    Parameter,
    Repeated,
    are_written,
    guiding,
    parameters_of,
    parts_of,
    schema_in,
)
from localspec.runtime.calls.syntax import CallSyntax, unmarked
from localspec.runtime.messages import Tool
from localspec.runtime.reasoning import NAMES
from localspec.runtime.template.values import schema_of

_KEPT_N, _DEEPEST = 256, 4
_LONGEST_TOKEN = 64
"""The most bytes by which the token that completes a marker goes on behind it."""
_PIECES = re.compile(r"(«.+?»|NAME|ARGUMENTS|ID|KEY|VALUE|WORD|\n)")
_ANY_OBJECT = {"type": "object"}
_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}
_WHITE_SPACE, _ID, _NAME = r"/[ \n\t]{0,8}/", "/[A-Za-z0-9_-]{1,40}/", f"/{NAME}/"
_TEXT = frozenset(("string",))
_SINGLE = frozenset(("boolean", "integer", "null", "number"))
"""Types of values that JSON writes in one word."""
_USUAL = {"ID": "id", "\n": "ws", "WORD": "/[a-z]{1,20}/"}


def held(
    sampling: Sampling,
    syntax: CallSyntax,
    tools: Sequence[Tool],
    controls: Mapping[str, int],
    *,
    reasons: bool,
    must_call: bool = False,
    one_call: bool = False,
) -> Sampling:
    """The settings with a grammar that begins where a call does.

    Where the answer is to fit a JSON Schema, it is that or calls. The settings stay as they are where another grammar
    was asked for, with mirostat, which takes none, and where tags cannot say a parameter's name. ``controls`` are the
    markers that are control tokens; ``reasons`` is as for ``CallReader``.

    With ``must_call`` the answer is nothing but calls: UsageError is raised where none can be required. With
    ``one_call`` there is at most one.
    """
    can_be = not syntax.written or all(map(are_written, tools))
    answer = None if must_call else _answer_schema(sampling)
    if not can_be or (sampling.grammar is not None and answer is None) or sampling.mirostat:
        if must_call:
            raise _cannot_require(syntax, can_be=can_be)
        return sampling
    from_the_begin = must_call or answer is not None
    # A marker in words begins the grammar, but is no call.
    grammar = _grammar(syntax, tools, controls, in_words=not from_the_begin, one_call=one_call, answer=answer)
    if from_the_begin:
        triggers = [rf"(?<={re.escape(syntax.reasoning[1])})"] if reasons else []
    else:
        triggers = list(_triggers(syntax, tools, controls, reasons=reasons))
    return replace(sampling, grammar=grammar, grammar_triggers=tuple(triggers))


def _answer_schema(sampling: Sampling) -> Any:
    """The JSON Schema that the whole reply is to fit; None if it is to fit none, or another grammar."""
    return None if sampling.grammar is None or sampling.grammar_triggers else schema_in(sampling.grammar)


def _cannot_require(syntax: CallSyntax, *, can_be: bool) -> UsageError:
    if not can_be:
        return UsageError(
            "A call of a tool cannot be required of this model: "
            f"a reply cannot be constrained to these tools in its syntax ({syntax.name}).",
            "Leave the choice to the model.",
        )
    return UsageError("A call cannot be required with mirostat or another grammar.", "Leave one of them out.")


def _grammar(
    syntax: CallSyntax,
    tools: Sequence[Tool],
    controls: Mapping[str, int],
    *,
    in_words: bool,
    one_call: bool,
    answer: Any = None,
) -> str:
    """A grammar of calls and nothing else, or of calls and of JSON that fits the schema ``answer``, in Lark's form."""
    written = partial(_written, controls=controls)
    calls = [
        written(way, {"NAME": json.dumps(json.dumps(tool.name)[1:-1]), "ARGUMENTS": f"arguments{i}"})
        for i, tool in enumerate(tools)
        for way in syntax.held
    ]
    arguments: list[str] = []
    if answer is not None and syntax.bare:
        calls = [f"%json {json.dumps(_bare_call(tool))}" for tool in tools]
    elif syntax.written:
        arguments = [rule for i, tool in enumerate(tools) for rule in _singly(syntax, tool, i, controls)]
        arguments += _any_value(syntax.quote, controls) if syntax.quote != '"' else ()
    else:
        arguments = [f"arguments{i}: %json {json.dumps(_schema(tool))}" for i, tool in enumerate(tools)]
    before, between, after = (written(part) for part in syntax.around)
    if syntax.around[2].startswith("«"):  # readers do without it
        after = f"({after})?"
    head, marker = _first_marker(syntax)
    # A marker in words begins no call, so the text after it is free; its last token may go on.
    names = " | ".join(json.dumps(tool.name) for tool in tools)
    text = written(head + marker, {"NAME": f"({names})"})
    words = f" | {text} {ANY_TEXT} <[*]>*" if in_words and marker in controls else ""
    other = words if answer is None else " | answer"
    rules = (
        ("start: group ws" if one_call else "start: group (ws group)* ws") + other,
        f"group: {before} call {after}" if one_call else f"group: {before} call ({between} call)* {after}",
        f"call: {' | '.join(calls)}",
        *arguments,
        f"ws: {_WHITE_SPACE}",
        f"id: {_ID}",
        *(() if answer is None else (f"answer: %json {json.dumps(answer)}",)),
    )
    return "\n".join(("%llguidance {}", *rules))


def _written(part: str, given: Mapping[str, str] = _USUAL, *, controls: Mapping[str, int]) -> str:
    """A part of the syntax as Lark has it; ``given`` stands in place of the words in capitals."""
    parts: list[str] = []
    # White space in JSON stays as it is: so what the model would write is certain.
    for piece in filter(None, _PIECES.split(part)):
        if piece in given:
            parts.append(given[piece])
        elif piece in _USUAL:
            parts.append(_USUAL[piece])
        elif piece.startswith("«"):
            marker = piece[1:-1]
            parts.append(f"<[{controls[marker]}]>" if marker in controls else json.dumps(marker))
        else:
            parts.append(json.dumps(piece.replace("⏎", "\n")))
    return " ".join(parts)


def _singly(syntax: CallSyntax, tool: Tool, number: int, controls: Mapping[str, int]) -> Iterator[str]:
    """The rules of a tool's arguments, each by itself: its parameters in order, or any where its schema says more."""
    rule, between = f"arguments{number}", json.dumps(syntax.separator)
    parameters = parameters_of(tool)
    singles = _Singles(syntax, schema_of(tool), controls)
    yield from singles.rules(f"TEXT{number}", rule, (ANY,) if parameters is None else parameters, _DEEPEST)
    if parameters is None:
        yield f"{rule}: ({rule}_0 ({between} {rule}_0)*)?"
    else:
        yield f"{rule}: {_in_order(rule, parameters, between)}"


@dataclass(frozen=True, slots=True)
class _Singles:
    """The rules of values that stand each by itself."""

    syntax: CallSyntax
    root: Mapping[str, Any]
    """The schema of their tool."""
    controls: Mapping[str, int]

    def rules(self, text: str, rule: str, parameters: Sequence[Parameter], depth: int) -> Iterator[str]:
        """A rule for each parameter, with terminals whose names begin with ``text``."""
        syntax, controls = self.syntax, self.controls
        for i, each in enumerate(parameters):
            written = partial(_written, given={"KEY": json.dumps(each.name) if each.name else _NAME}, controls=controls)
            as_text = each.text if syntax.is_tagged or (syntax.as_text and each.types == _TEXT) else None
            before, _, after = (syntax.written_text if as_text else syntax.written).partition("VALUE")
            said, rest = _until_token(after, controls)
            if as_text:
                value = f"{text}_{i}"
                yield f"{value}: {_terminal(as_text, said, rest)}"
            elif syntax.nests and (parts := parts_of(each, self.root) if depth else None) is not None:
                value, rest = f"(%json {json.dumps(each.schema)} | {rule}_{i}_parts)", after
                yield from self._parts(f"{text}_{i}", f"{rule}_{i}_parts", parts, depth - 1)
            elif syntax.quote == '"' or (each.types and each.types <= _SINGLE):
                value = f"%json {json.dumps(each.schema)} {json.dumps(said)}"
            else:
                value = "value"
            yield f"{rule}_{i}: {written(before)} {value} {written(rest)}"

    def _parts(self, text: str, rule: str, parts: Sequence[Parameter] | Repeated, depth: int) -> Iterator[str]:
        """The rules of a list or an object that stands between tags."""
        if isinstance(parts, Repeated):
            yield from self.rules(text, rule, (parts.element,), depth)
            yield f"{rule}: {rule}_0{{{parts.least},{'' if parts.most is None else parts.most}}}"
        else:
            yield from self.rules(text, rule, parts, depth)
            yield f"{rule}: {_in_order(rule, parts, json.dumps(self.syntax.separator))}"


def _in_order(rule: str, parameters: Sequence[Parameter], between: str) -> str:
    """The alternatives of a sequence from the last to the first, which may begin it if all before may be left out."""
    begins, rest = ['""'], ""
    for i, each in reversed(list(enumerate(parameters))):
        begins = [f"{rule}_{i} {rest}", *([] if each.required else begins)]
        rest = f"({between} {rule}_{i}){'' if each.required else '?'} {rest}"
    return " | ".join(begins)


def _until_token(written: str, controls: Mapping[str, int]) -> tuple[str, str]:
    """The text that a part of the syntax begins with, and the rest of it."""
    said = ""
    for piece in filter(None, _PIECES.split(written)):
        if piece in _USUAL or piece == "KEY" or piece.strip("«»") in controls:
            break
        said += piece
    return unmarked(said).replace("⏎", "\n"), written[len(said) :]


def _terminal(text: str, said: str, rest: str) -> str:
    """A terminal for a text as far as its end, which ``said`` is or begins."""
    if rest.startswith("«"):
        return f"{text} {json.dumps(said)}"
    # A reader takes the first end that it finds, with or without white space in front.
    end = re.escape(said.strip()).replace("/", r"\/")
    return f"({text} {json.dumps(said)}) & ~/(?s:.*{end}.+)/"


def _any_value(quote: str, controls: Mapping[str, int]) -> Iterator[str]:
    """The rules of a value of any type, with texts between two ``quote``."""
    said, rest = _until_token(f"«{quote}»", controls)
    text = f"{_written(f'«{quote}»', controls=controls)} TEXT {_written(rest, controls=controls)}"
    single = f"%json {json.dumps({'type': sorted(_SINGLE)})}"
    yield f'value: {text} | {single} | "[" (value ("," value)*)? "]" | "{{" (member ("," member)*)? "}}"'
    yield f'member: {_NAME} ":" value'
    yield f"TEXT: {_terminal(ANY_TEXT, said, rest)}"


@lru_cache(_KEPT_N)
def _schema(tool: Tool) -> dict[str, Any]:
    """The tool's schema as llguidance takes it; any object in place of one that it cannot hold a reply to."""
    schema = schema_of(tool)
    if not schema.get("properties") and schema.keys() <= {"type", "properties", "$schema", "title", "description"}:
        schema = _NO_ARGUMENTS
    found = guiding({**schema, "type": "object"})
    return found if isinstance(found, dict) else _ANY_OBJECT


def _bare_call(tool: Tool) -> dict[str, Any]:
    """The schema of a whole call that is bare JSON: llguidance tells JSON from other JSON, and not from a text."""
    from localspec.engine.backends.llama.guidance import refusal  # loads a library

    arguments = dict(_schema(tool))
    shared = {key: arguments.pop(key) for key in (*DEFINITIONS, "x-guidance") if key in arguments}
    call = {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "parameters": arguments},
        "required": ["name", "parameters"],
        "additionalProperties": False,
        **shared,
    }
    # References to other parts than definitions lead nowhere.
    if refusal(f"%llguidance {{}}\nstart: %json {json.dumps(call)}"):
        call["properties"] = {"name": {"const": tool.name}, "parameters": _ANY_OBJECT}
    return call


def _head(syntax: CallSyntax) -> str:
    return f"{syntax.around[0]}{syntax.held[0]}"


def _first_marker(syntax: CallSyntax) -> tuple[str, str]:
    """The text before the first marker of a call, and the marker."""
    head, _, marker = _head(syntax).partition("»")[0].partition("«")
    return head, marker


def _opening(syntax: CallSyntax) -> str:
    """The text that a first call begins with."""
    head = _head(syntax)
    return unmarked(re.split("NAME|\n" if syntax.is_tagged else "(?<=»)|NAME", head)[0])


def _triggers(
    syntax: CallSyntax, tools: Sequence[Tool], controls: Mapping[str, int], *, reasons: bool
) -> Iterator[str]:
    """Patterns for the beginning of the first call, after the reasoning; at that of a line where it is mere text."""
    if syntax.bare:
        heads = (
            way.partition(" ARGUMENTS")[0].replace("NAME", json.dumps(tool.name)[1:-1])
            for tool in tools
            for way in syntax.held
        )
        begin, here = rf"\s*({'|'.join(map(re.escape, heads))})\Z", ""
    elif syntax.trigger:
        yield "(?s)" + syntax.trigger.replace("TOOLS", "|".join(re.escape(tool.name) for tool in tools))
        return
    else:
        opening = _opening(syntax)
        after = r"[\s{\[<]|"
        if syntax.written:
            after = _WHITE_SPACE[1:-1] if unmarked(_head(syntax)).startswith(f"{opening}\n") else ""
        head, marker = _first_marker(syntax)
        before = r".*?" if not head and marker in controls else r"(?:.*?\n)?[ \t]*"
        begin = rf"{before}({re.escape(opening).replace('WORD', '[a-z]+')})(?={after}\Z)"
        # A look at the end, where the last token may go on, comes first: the rest goes through the whole reply.
        marker = re.escape(opening.rpartition("WORD")[2])
        here = f"(?=(?>.*)(?:{'|'.join(f'(?<={marker}.{{{n}}})' for n in range(_LONGEST_TOKEN))}))"
    closing = re.escape(syntax.reasoning[1])
    opened = rf"\s*(?:{re.escape(syntax.reasoning[0])}|[<\[](?:{NAMES}|THINK)[>\]])"
    if reasons:
        yield rf"(?s)\A{here}.*?{closing}{begin}"
    else:
        yield rf"(?s)\A{here}(?!{opened}){begin}"
        yield rf"(?s)\A{here}{opened}.*?{closing}{begin}"
