"""From a JSON Schema to a grammar, by the converter of llama.cpp's Python binding.

The converter passes over what it cannot express, and writes some grammars that allow other texts than the schema.
A reply that claims to fit a schema must fit it, so such schemas are refused, and what is simple to mend is mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from localspec.base.errors import UsageError

Schema = dict[str, Any]

_HINT = "Leave it out of the schema, and ask for it in the prompt."
_SMALLER = "Hold the reply to less, and ask for the rest in the prompt."
_LONGEST = 1_000_000
_MOST_VALUES = 20_000
_DEEPEST = 200
_WHOLES = (dict, list)
_ANNOTATIONS = frozenset(
    ("$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated")
)
_GROUPS = (
    ("$ref",),
    ("oneOf",),
    ("anyOf",),
    ("const",),
    ("enum",),
    ("properties", "required", "additionalProperties"),
    ("items", "minItems", "maxItems"),
    ("prefixItems",),
    ("pattern",),
    ("minLength", "maxLength"),
    ("format",),
)
"""The converter looks at one of these groups and passes over the others."""
_KNOWN = _ANNOTATIONS.union(("type",), *_GROUPS)
_FORMATS = frozenset(("date", "time", "date-time", "uuid", "uuid1", "uuid2", "uuid3", "uuid4", "uuid5"))
_TRIPPED = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""The errors that the converter raises over what it does not expect."""
_BEYOND_PATTERNS = re.compile(r'[.\\"\x00-\x1f]|\[\^')


def grammar_of_schema(text: str) -> str:
    """GBNF for JSON texts that fit a schema, its properties in the schema's order.

    Raises UsageError for what is not JSON, and for what no such grammar could hold a reply to.
    """
    schema = parsed_schema(text)
    if not isinstance(schema, dict):
        raise UsageError("A JSON Schema is an object.", "Write it in braces.")
    try:
        schema = _normal(schema)
        for place, part in _parts(schema, "#"):
            _check(place, part)
        return _convert(schema)
    except UsageError:
        raise
    except RecursionError:
        why = "it has too many properties that may be left out, or parts that stand for themselves"
        raise UsageError(f"The JSON Schema cannot be made a grammar: {why}.", _SMALLER) from None
    except _TRIPPED as error:
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"The JSON Schema cannot be made a grammar ({why}).", "Mend or simplify it.") from None


def parsed_schema(text: str) -> Any:
    """The JSON value of a schema. Raises UsageError if it is not JSON, or more than is converted."""
    if len(text) > _LONGEST:
        raise UsageError(f"The JSON Schema has {len(text):,} characters; {_LONGEST:,} are read.", _SMALLER)
    try:
        schema = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UsageError(f"The JSON Schema is not JSON: {place}: {error.msg}.", "Mend it there.") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise UsageError(f"The JSON Schema is not JSON that can be read: {error}.", "Mend it.") from None
    _check_size(schema)
    return schema


def _check_size(schema: Any) -> None:
    """Raises UsageError for a schema that would take minutes to convert."""
    layer, depth, values_n = [schema], 0, 0
    while layer:
        depth, values_n = depth + 1, values_n + len(layer)
        if depth > _DEEPEST:
            raise _too_deep()
        if values_n > _MOST_VALUES:
            raise UsageError(f"The JSON Schema has more than {_MOST_VALUES:,} values in it.", _SMALLER)
        wholes = (value.values() if isinstance(value, dict) else value for value in layer if isinstance(value, _WHOLES))
        layer = [part for whole in wholes for part in whole]


def _too_deep() -> UsageError:
    return UsageError(f"The JSON Schema is nested too deeply, over {_DEEPEST} levels.", "Flatten it.")


def _convert(schema: Schema) -> str:
    from localspec.engine.backends.llama.schema_converter import Converter

    return Converter().grammar(schema)


def _normal(schema: Any) -> Any:
    """The same with its simplest equivalents: {} for true, the one member for an ``allOf`` of one."""
    if schema is True:
        return {}
    if not isinstance(schema, dict):
        return schema
    whole = {key: _normal_member(key, value) for key, value in schema.items()}
    if whole.get("properties") and whole.get("additionalProperties") == {}:
        del whole["additionalProperties"]  # a reply without them fits as well
    alone = whole.get("allOf")
    if isinstance(alone, list) and len(alone) == 1 and isinstance(alone[0], dict):
        del whole["allOf"]
        whole = alone[0] | whole
    return whole


def _normal_member(key: str, value: Any) -> Any:
    if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
        return {name: _normal(part) for name, part in value.items()}
    if key in ("oneOf", "anyOf", "allOf", "prefixItems") and isinstance(value, list):
        return [_normal(part) for part in value]
    return _normal(value) if key in ("items", "additionalProperties") else value


def _parts(schema: object, place: str) -> Iterator[tuple[str, Schema]]:
    """A schema and all within it, each with its place as a JSON pointer."""
    if not isinstance(schema, dict):
        raise UsageError(f"{json.dumps(schema)} at {place} of the JSON Schema is no schema.", "Write one in braces.")
    yield place, schema
    for key in ("properties", "$defs", "definitions"):
        for name, part in schema.get(key, {}).items():
            yield from _parts(part, f"{place}/{key}/{name}")
    for key in ("oneOf", "anyOf", "prefixItems"):
        for number, part in enumerate(schema.get(key, [])):
            yield from _parts(part, f"{place}/{key}/{number}")
    for key in ("items", "additionalProperties"):
        if schema.get(key, False) is not False:
            yield from _parts(schema[key], f"{place}/{key}")


def _check(place: str, part: Schema) -> None:
    for why, wrong in _objections(part):
        if wrong:
            raise UsageError(f"A grammar cannot hold a reply to {why}, at {place} of the JSON Schema.", _HINT)


def _objections(part: Schema) -> Iterator[tuple[str, bool]]:
    """Everything that could be wrong, each with True if it is."""
    unknown = [key for key in part if key not in _KNOWN]
    yield repr(unknown[0]) if unknown else "", bool(unknown)
    groups = [next(key for key in group if key in part) for group in _GROUPS if any(key in part for key in group)]
    yield " beside ".join(map(repr, groups)), len(groups) > 1
    yield "several types with more about them", isinstance(part.get("type"), list) and bool(groups)
    undescribed = [name for name in part.get("required", []) if name not in part.get("properties", {})]
    yield f"{undescribed[:1]}, required but not among the properties", bool(undescribed)
    others = part.get("additionalProperties", False) is not False
    yield "'additionalProperties' beside others", others and bool(part.get("properties"))
    yield "a number of items without 'items'", "items" not in part and ("minItems" in part or "maxItems" in part)
    yield f"the format {part.get('format')!r}", part.get("format", "date") not in _FORMATS
    pattern = part.get("pattern", "^$")
    yield f"the pattern {pattern!r}", not pattern.startswith("^") or not pattern.endswith("$") or _is_beyond(pattern)


def _is_beyond(pattern: str) -> bool:
    """True if it has what the converter gets wrong: escapes, quotes, "." and "[^", alternatives without brackets."""
    depth = 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            return True
    return bool(_BEYOND_PATTERNS.search(pattern))
