"""The parameters of a tool as a constraint holds them where each stands between tags: JSON, or a text as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from localspec.base.errors import UsageError
from localspec.runtime.calls.arguments import ELEMENT, NOTES, cases_of, types_of
from localspec.runtime.messages import Tool
from localspec.runtime.template.values import schema_of

_ANY = "(?s:.*)"
ANY_TEXT = f"/{_ANY}/"
_KEPT_N = 256
NAME = r"[A-Za-z0-9_.$@-]{1,64}"
"""A pattern of the names that every syntax can say."""
DEFINITIONS = ("$defs", "definitions")
"""Keywords of JSON Schema under which stand what references lead to."""
_SAID = frozenset(("type", "properties", "required", "additionalProperties", "$schema", "$id", *DEFINITIONS)) | NOTES
_TEXTS = frozenset(("type", "minLength", "maxLength", "pattern", "format"))
_LISTED = frozenset(("type", "items", "minItems", "maxItems"))
_VALUES = frozenset(("enum", "const"))
_LONGEST = 10_000
"""Characters up to which a text's length is counted."""
_PATTERN = re.compile(r"(\^?)((?:\((?!\?)|\(\?:|\[\^|[^(\\^$|]|\\[^A-Za-z0-9]|\\[dw])*)(\$?)", re.DOTALL)
"""A regular expression that means the same in every library, between its anchors."""
_IN_LARK = {r"\d": "[0-9]", r"\w": "[0-9A-Za-z_]", "/": r"\/"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool."""

    name: str
    required: bool
    types: frozenset[str] | None
    """As ``types_of`` has them."""
    text: str | None
    """A terminal of Lark for a text as it is; None if the value is always JSON."""
    schema: Mapping[str, Any]
    """The JSON Schema of the value, as llguidance takes it."""
    part: Any = None
    """The same in the tool's own words, with references that lead elsewhere in its schema."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """The elements of a list."""

    element: Parameter
    least: int
    most: int | None


ANY = Parameter("", False, None, ANY_TEXT, {})
"""Whichever it is; it has no name."""


@lru_cache(_KEPT_N)
def parameters_of(tool: Tool) -> tuple[Parameter, ...] | None:
    """The parameters in the order of the tool's schema; None if it says more than which there are."""
    schema = schema_of(tool)
    return _properties(schema, schema)


def parts_of(parameter: Parameter, root: Any) -> tuple[Parameter, ...] | Repeated | None:
    """The properties of an object, or the elements of a list, in a schema that says no more than that; otherwise None.

    ``root`` is the schema of the tool.
    """
    cases = [case for case in cases_of(parameter.part, root) if case != {"type": "null"}]
    match cases:
        case [{"type": "object", "properties": {**properties}} as only]:
            return _properties(only, root) if all(re.fullmatch(NAME, str(name)) for name in properties) else None
        case [{"type": "array", "items": items} as only] if only.keys() <= _LISTED:
            least, most = only.get("minItems", 0), only.get("maxItems")
            if all(size is None or (isinstance(size, int) and 0 <= size <= _LONGEST) for size in (least, most)):
                return Repeated(_parameter(ELEMENT, items, True, root), least, most)
    return None


def _properties(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Parameter, ...] | None:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not (
        schema.keys() <= _SAID
        and not schema.get("additionalProperties")
        and isinstance(properties, dict)
        and isinstance(required, list)
        and all(isinstance(name, str) and name in properties for name in required)
    ):
        return None
    return tuple(_parameter(name, part, name in required, root) for name, part in properties.items())


def are_written(tool: Tool) -> bool:
    """True if every syntax can say the names of the tool's parameters."""
    properties = schema_of(tool).get("properties", {})
    return isinstance(properties, dict) and all(re.fullmatch(NAME, name) for name in properties)


def _parameter(name: str, part: Any, required: bool, root: Mapping[str, Any]) -> Parameter:
    types = types_of(part, root)
    text = (_text(part, types, root) or ANY_TEXT) if types is None or "string" in types else None
    schema = part if isinstance(part, dict) else {}
    if '"$ref"' in json.dumps(schema):
        schema = {**schema, **{key: root[key] for key in DEFINITIONS if key in root}}
    found = guiding(schema)
    if found is None:
        return Parameter(name, required, types, text or ANY_TEXT, {})
    return Parameter(name, required, types, text, found, part)


def guiding(schema: Mapping[str, Any]) -> Any:
    """A JSON Schema as llguidance takes it; None for one that it cannot hold a reply to."""
    from localspec.engine.backends.llama.json_schema import grammar_of_schema  # loads a library

    try:
        return schema_in(grammar_of_schema(json.dumps(schema)))
    except UsageError:
        return None


def schema_in(grammar: str) -> Any:
    """The JSON Schema that a grammar of llguidance consists of; None if it is another grammar."""
    try:
        (only,) = json.loads(grammar)["grammars"]
        return only["json_schema"]
    except (ValueError, KeyError, TypeError):
        return None


def _text(part: Any, types: frozenset[str] | None, root: Mapping[str, Any]) -> str | None:
    """A terminal for the texts that fit a schema, ``null`` among them where it may be one; None if there is none."""
    from localspec.engine.backends.llama.guidance import refusal  # loads a library

    if types is None or not types <= {"string", "null"}:
        return None
    cases = [case for case in cases_of(part, root) if case != {"type": "null"}]
    if len(cases) > 1 and not all(case.keys() & _VALUES for case in cases):
        return None
    written = [_case(case) for case in cases]
    found = " | ".join(f"({case})" for case in (*written, '"null"' if "null" in types else None) if case)
    return None if None in written or refusal(f"%llguidance {{}}\nstart: TEXT\nTEXT: {found}") else f"({found})"


def _case(schema: Mapping[str, Any]) -> str | None:
    """A terminal for the texts that fit one schema of texts."""
    if schema.keys() & _VALUES:
        values = schema.get("enum", [schema.get("const")])
        if not isinstance(values, list) or len(schema.keys() - {"type"}) != 1:
            return None
        return " | ".join(json.dumps(value) for value in values if isinstance(value, str))
    least, most, pattern = schema.get("minLength", 0), schema.get("maxLength", 0), schema.get("pattern", "")
    found = _PATTERN.fullmatch(str(pattern))
    sizes = all(isinstance(size, int) and size <= _LONGEST for size in (least, most))
    if not schema.keys() <= _TEXTS or not sizes or found is None:
        return None
    begin, body, end = found.groups()
    body = re.sub(r"\\.|/", lambda part: _IN_LARK.get(part[0], part[0]), body)
    parts = [f"/(?s:.{{{least},{schema.get('maxLength', '')}}})/"] if least or "maxLength" in schema else []
    parts += [f"/{'' if begin else _ANY}(?:{body}){'' if end else _ANY}/"] if pattern else []
    return " & ".join(parts) or ANY_TEXT
