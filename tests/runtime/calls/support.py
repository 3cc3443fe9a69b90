"""Tools, calls of them as each syntax writes them, and replies made of such calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pytest
from hypothesis import strategies as st

from localspec.chat.tools.said import SaidTokens
from localspec.engine.events import Event, Finished, FinishReason, Origin, Round, Token
from localspec.engine.settings import Sampling
from localspec.engine.tally import Tally
from localspec.runtime.calls.constraint import held
from localspec.runtime.calls.form import CallForm
from localspec.runtime.calls.reading import CallReader
from localspec.runtime.calls.reply import ReplyCalls
from localspec.runtime.calls.syntax import SYNTAXES, CallSyntax
from localspec.runtime.messages import Message, Reply, Tool

SCHEMA = '{"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}'
FIRST, SECOND = Tool("first", "Counts the words of a text.", SCHEMA), Tool("second", "Deletes everything.", SCHEMA)
TOOLS = (FIRST, SECOND)
Arguments = Mapping[str, Any]


def as_json(arguments: Arguments) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def named(name: str, arguments: Arguments, keys: tuple[str, str] = ("name", "arguments")) -> str:
    return as_json({keys[0]: name, keys[1]: dict(arguments)})


def tagged(arguments: Arguments, form: str, other: str = "") -> str:
    """Arguments in ``form``, and in the ``other`` one where they are no texts."""
    return "".join(
        form.format(key, value) if isinstance(value, str) else (other or form).format(key, json.dumps(value))
        for key, value in arguments.items()
    )


def gemma(arguments: Arguments) -> str:
    values = (
        f'{key}:<|"|>{value}<|"|>' if isinstance(value, str) else f"{key}:{value}" for key, value in arguments.items()
    )
    return "{" + ",".join(values) + "}"


def nested(value: Any, name: str) -> str:
    """A value between tags, as MiniMax-M3 writes it."""
    if isinstance(value, dict):
        value = "".join(nested(each, key) for key, each in value.items())
    elif isinstance(value, list):
        value = "".join(nested(each, "item") for each in value)
    return f"{NS}<{name}>{value if isinstance(value, str) else json.dumps(value)}{NS}</{name}>"


NS, CDATA, PARAM = "]<]minimax[>[", '<param name="{}"><![CDATA[{}]]></param>', '<param name="{}">{}</param>'
DSML = '<｜DSML｜parameter name="{{}}" string="{}">{{}}</｜DSML｜parameter>\n'
XML, PAIR = "<parameter={}>\n{}\n</parameter>\n", "<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>\n"
WRITERS: dict[str, Callable[[str, Arguments], str]] = {
    "Qwen3-Coder": lambda n, a: f"<tool_call>\n<function={n}>\n{tagged(a, XML)}</function>\n</tool_call>",
    "Seed": lambda n, a: (
        f"<seed:tool_call>\n<function={n}>\n{tagged(a, '<parameter={}>{}</parameter>')}</function>\n</seed:tool_call>"
    ),
    "GLM": lambda n, a: f"<tool_call>{n}\n{tagged(a, PAIR)}</tool_call>",
    "DSML": lambda n, a: (
        f'<｜DSML｜tool_calls>\n<｜DSML｜invoke name="{n}">\n'
        + tagged(a, DSML.format("true"), DSML.format("false"))
        + "</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    ),
    "MiniMax": lambda n, a: (
        f'<minimax:tool_call>\n<invoke name="{n}">\n'
        + tagged(a, '<parameter name="{}">{}</parameter>\n')
        + "</invoke>\n</minimax:tool_call>"
    ),
    "Hermes": lambda n, a: f"<tool_call>\n{named(n, a)}\n</tool_call>",
    "Apriel": lambda n, a: f"<tool_calls>[{named(n, a)}]</tool_calls>",
    "Nemotron": lambda n, a: f"<TOOLCALL>[{named(n, a)}]</TOOLCALL>",
    "Mistral": lambda n, a: f"[TOOL_CALLS][{named(n, a)}]",
    "Mistral with names": lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{as_json(a)}",
    "DeepSeek": lambda n, a: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{as_json(a)}\n```<｜tool▁call▁end｜>"
    ),
    "gpt-oss": lambda n, a: f"<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{as_json(a)}<|call|>",
    "Gemma": lambda n, a: f"<|tool_call>call:{n}{gemma(a)}<tool_call|>",
    "Command R": lambda n, a: f"<|START_ACTION|>[{named(n, a, ('tool_name', 'parameters'))}]<|END_ACTION|>",
    "Functionary": lambda n, a: f"<function={n}>{as_json(a)}</function>",
    "Functionary 3.2": lambda n, a: f">>>{n}\n{as_json(a)}",
    "Firefunction": lambda n, a: f" functools[{named(n, a)}]",
    "GigaChat": lambda n, a: f"<|function_call|>{named(n, a)}",
    "Solar": lambda n, a: f"<|tool_call:begin|>id0<|tool_call:name|>{n}<|tool_call:args|>{as_json(a)}<|tool_call:end|>",
    "MiniMax-M1": lambda n, a: f"<tool_calls>\n{named(n, a)}\n</tool_calls>",
    "Kimi": lambda n, a: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{n}:0<|tool_call_argument_begin|>{as_json(a)}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "Kimi K3": lambda n, a: (
        f'<|open|>tools<|sep|><|open|>call tool="{n}" index="1"<|sep|>'
        + tagged(a, '<|open|>argument key="{}" type="string"<|sep|>{}<|close|>argument<|sep|>')
        + "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>"
    ),
    "GigaChat 3": lambda n, a: f"<|message_sep|>\n\nfunction call<|role_sep|>\n{named(n, a)}<|message_sep|>",
    "Apertus": lambda n, a: f"<|tools_prefix|>[{as_json({n: dict(a)})}]<|tools_suffix|>",
    "Granite": lambda n, a: f"<|tool_call|>[{named(n, a)}]",
    "LFM2": lambda n, a: (
        f"<|tool_call_start|>[{n}({', '.join(f'{key}={value!r}' for key, value in a.items())})]<|tool_call_end|>"
    ),
    "MiniMax-M3": lambda n, a: (
        f'{NS}<tool_call>\n{NS}<invoke name="{n}">{"".join(nested(a[key], key) for key in a)}{NS}</invoke>\n'
        f"{NS}</tool_call>"
    ),
    "Muse": lambda n, a: (
        f' to={n}<|message|><atem:function_calls>\n<atem:invoke name="{n}">\n'
        + tagged(a, '<atem:parameter name="{}">{}</atem:parameter>\n')
        + "</atem:invoke>\n</atem:function_calls>"
    ),
    "MiniCPM": lambda n, a: f'<function name="{n}">{tagged(a, CDATA, PARAM)}</function>',
    "Hunyuan": lambda n, a: (
        f"<tool_calls:opensource>\n<tool_call:opensource>{n}<tool_sep:opensource>\n"
        + tagged(a, "<arg_key:opensource>{}</arg_key:opensource>\n<arg_value:opensource>{}</arg_value:opensource>\n")
        + "</tool_call:opensource>\n</tool_calls:opensource>"
    ),
    "Llama 3": lambda n, a: named(n, a, ("name", "parameters")),
}
BY_NAME = {syntax.name: syntax for syntax in SYNTAXES}
each_syntax = pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda syntax: syntax.name)


def calls_in(syntax: CallSyntax, text: str, **given: Any) -> list[tuple[str, Arguments]]:
    return [(call.name, call.arguments) for call in CallReader(syntax, TOOLS).read(text, **given).calls]


@dataclass(slots=True)
class Vocabulary:
    """Every text is a token of its own; those of ``controls`` are control tokens."""

    written_controls: dict[bytes, int] = field(default_factory=dict)
    ends: frozenset[int] = frozenset()

    def is_end(self, token: int) -> bool:
        return token in self.ends


def reply_of(
    syntax: CallSyntax,
    parts: Sequence[str],
    controls: Sequence[str] = (),
    reason: FinishReason = FinishReason.STOP,
    prefix: str = "",
    messages: Sequence[Message] = (),
) -> Reply:
    """A reply whose ``parts`` that are in ``controls`` are control tokens, at odd places."""
    reply = Reply()
    for event in events_of(syntax, parts, controls, reason, prefix, messages):
        reply.receive(event)
    return reply


def events_of(
    syntax: CallSyntax,
    parts: Sequence[str],
    controls: Sequence[str] = (),
    reason: FinishReason = FinishReason.STOP,
    prefix: str = "",
    messages: Sequence[Message] = (),
    stop: str | None = None,
) -> Iterator[Event]:
    """A round for each part, and the end, as ``ReplyCalls`` passes them on."""
    vocabulary = Vocabulary({text.encode(): 1_000 + i for i, text in enumerate(controls)})
    follower = ReplyCalls(CallForm(syntax), TOOLS, vocabulary, False, prefix, messages)
    named = controls and len(parts) > 1
    ids = [vocabulary.written_controls[part.encode()] if named and at % 2 else at for at, part in enumerate(parts)]
    tokens = (Token(id_, part, Origin.PLAIN) for id_, part in zip(ids, parts, strict=True))
    rounds = (Round(i, None, 0, (token,), (), (), 0.0, 0.0, 0.0) for i, token in enumerate(tokens))
    yield from follower.follow(chain(rounds, [Finished(reason, "".join(parts), Tally().timings(), stop=stop)]))


def in_parts(syntax: CallSyntax, text: str) -> list[str]:
    """``text`` divided so that its markers are the parts at odd places."""
    markers = [marker for marker in syntax.markers if marker in text and marker != '"']
    parts, rest = [], text
    while rest:
        at, marker = min(((rest.find(each), each) for each in markers if each in rest), default=(len(rest), ""))
        parts += [rest[:at], marker] if marker else [rest]
        rest = rest[at + len(marker) :]
    return parts


HOSTILE = st.sampled_from([*(writer("second", {"n": 2}) for writer in WRITERS.values()), "</think>", "```\n", '"}'])
LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12)


def shown(syntax: CallSyntax, parts: Sequence[str], controls: Sequence[str] = ()) -> tuple[str, list[str]]:
    """The text of a reply that a front end shows without calls, and what it shows after each part."""
    written, found = SaidTokens(), [""]
    for event in events_of(syntax, parts, controls):
        assert isinstance(event, Round | Finished)
        found.append(found[-1] + "".join(token.text for token in written.take(event)))
    return found[-1], found


def begun(syntax: CallSyntax, text: str, *, reasons: bool = False, controls: Mapping[str, int] = {}) -> str | None:
    """The part of a text that the constraint has begun with, at whichever character it did; None if it has not."""
    patterns = held(Sampling(), syntax, TOOLS, controls, reasons=reasons).grammar_triggers
    for end in range(len(text) + 1):
        for pattern in patterns:
            if match := re.search(pattern.encode(), text[:end].encode()):
                return text.encode()[match.start(1) :].decode()
    return None


PARAMETERS: Mapping[str, Any] = {
    "text": {"type": "string"},
    "unknown": {},
    "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}], "title": "Either"},
    "perhaps": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    "listed": {"type": ["string", "null"], "maxLength": 5},
    "chosen": {"enum": ["1", "null", "a b\n", "</parameter>", "é</arg_value>"]},
    "colour": {"$ref": "#/$defs/Colour", "description": "Which?"},
    "maybe": {"oneOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]},
    "short": {"type": "string", "minLength": 2, "maxLength": 30},
    "code": {"type": "string", "pattern": r"^[^/]+\/\w\d{1,3}$", "format": "path"},
    "found": {"type": "string", "pattern": "a(?:b)c?"},
    "ID": {"type": "integer", "minimum": 3, "maximum": 99},
    "KEY_VALUE": {"type": "boolean"},
    "many": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    "NAME": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "place": {"$ref": "#/$defs/Place"},
}


def object_schema(properties: Mapping[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON Schema of an object, with what ``PARAMETERS`` refer to."""
    place = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 40}}, "required": ["name"]}
    definitions = {"Colour": {"type": "string", "enum": ["red", "dark blue"]}, "Place": place}
    return {"type": "object", "properties": dict(properties), "required": list(required), "$defs": definitions}


NESTED = object_schema(
    {
        "places": {"type": "array", "items": PARAMETERS["place"]},
        "deep": {
            "type": "object",
            "properties": {"deep": {"type": "object", "properties": {"text": PARAMETERS["text"]}}},
        },
        "table": {
            "anyOf": [{"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, {"type": "null"}]
        },
        "sizes": {"type": "object", "additionalProperties": {"type": "number"}},
        "any": {},
        "text": {"type": "string"},
    }
)
"""The schema of a tool that takes lists and objects."""
