"""From a JSON Schema to a grammar that llguidance reads.

A reply that claims to fit a schema must fit it. llguidance refuses most of what it cannot hold a reply to; the rest is
refused here, and what says nothing about a reply is left out. The reply is JSON on one line, with a space after ":" and
",", unless the schema's own ``x-guidance`` (llguidance's docs/json_schema.md) says otherwise: the fewer ways there are
to write a value, the more tokens are certain before any model is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.guidance import refusal
from localspec.engine.backends.llama.guidance_size import DEEPEST, depth_of_schema

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

Schema = dict[str, Any]

_HINT = "Leave it out of the schema, and ask for it in the prompt."
_SMALLER = "Hold the reply to less, and ask for the rest in the prompt."
_LONGEST = 1_000_000
_LARGEST = 2**53
"""Whole numbers up to here are the same in every reader of JSON."""
_FORM: JsonCompileOptions = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_FORMING = _FORM.keys() | {"whitespace_pattern"}
_SCHEMAS = (
    *("items", "additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if", "then", "else"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_LISTS = ("oneOf", "anyOf", "allOf", "prefixItems", "items")
_DEFINITIONS = ("$defs", "definitions")
_BY_NAME = ("properties", "patternProperties", "dependentSchemas", *_DEFINITIONS)
_NOTES = ("deprecated", "discriminator")
"""Annotations that llguidance need not see."""
_ANY_TEXT = ("binary", "file-path", "directory-path", "password", "path")
"""Formats, as pydantic and OpenAPI have them, that every text has."""
_SET = frozenset(
    ("type", "items", "uniqueItems", "minItems", "maxItems", "title", "description", "default", "examples", "$defs")
)
"""The keywords of an array about which nothing else is said."""
_MOST_OPENED = 20_000
"""Entries of all that the cases of ``oneOf`` refer to."""
_SEARCHED_N = 2_000_000
"""Characters of schemas that are tried to find what is refused: of a large one each keyword may be as large."""
_LARGEST_SET = 8
"""Values that an array of different ones is listed for."""
_MIXED = frozenset(("allOf", "anyOf", "oneOf", "$ref"))
_NAMED = frozenset(("properties", "patternProperties"))
_REFERENCE = re.compile(r"^(Pointer|Resource|Anchor)\b")


def grammar_of_schema(text: str) -> str:
    """The grammar of JSON texts that fit a schema, its properties in the schema's order.

    An object has no properties but those that the schema names, unless ``additionalProperties`` or the like speak of
    others: a reply without them fits as well. Raises UsageError for what is not JSON, and for what no reply could be
    held to.
    """
    schema = _parsed(text)
    if not isinstance(schema, dict):
        raise UsageError("A JSON Schema is an object.", "Write it in braces.")
    try:
        for _, part in list(_parts(schema, "#")):
            _simplify(part, schema)
        _open_cases(schema)
        if depth_of_schema(schema) > DEEPEST:
            raise _too_deep()
        parts = list(_parts(schema, "#"))
        if not _guidance(schema).get("lenient"):
            for place, part in parts:
                _check(place, part)
        if why := refusal(_written(schema)):
            raise _refused(why, parts)
        closed = _written(_closed(schema))
    except RecursionError:
        raise _too_deep() from None
    return _written(schema) if refusal(closed) else closed


def _parsed(text: str) -> Any:
    """The JSON value of a schema. Raises UsageError if it is not JSON, or more than is read."""
    if len(text) > _LONGEST:
        raise UsageError(f"The JSON Schema has {len(text):,} characters; {_LONGEST:,} are read.", _SMALLER)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UsageError(f"The JSON Schema is not JSON: {place}: {error.msg}.", "Mend it there.") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise UsageError(f"The JSON Schema is not JSON that can be read: {error}.", "Mend it.") from None


def _written(schema: Schema) -> str:
    from llguidance import LLMatcher

    try:
        form = None if _FORMING & _guidance(schema).keys() else _FORM
        return LLMatcher.grammar_from_json_schema(json.dumps(schema, allow_nan=False), form)
    except ValueError as error:
        if "recursion" in str(error):
            raise _too_deep() from None
        raise UsageError(f"The JSON Schema is not JSON that can be read: {error}.", "Mend it.") from None


def _guidance(schema: Schema) -> dict[str, Any]:
    """The schema's own options for llguidance."""
    own = schema.get("x-guidance")
    return own if isinstance(own, dict) else {}


def _parts(schema: Any, place: str) -> Iterator[tuple[str, Schema]]:
    """A schema and all within it, each with its place as a JSON pointer."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key, value in list(schema.items()):
        if key in _BY_NAME and isinstance(value, dict):
            for name, part in value.items():
                yield from _parts(part, f"{place}/{key}/{name}")
        elif key in _LISTS and isinstance(value, list):
            for number, part in enumerate(value):
                yield from _parts(part, f"{place}/{key}/{number}")
        elif key in _SCHEMAS:
            yield from _parts(value, f"{place}/{key}")


def _simplify(part: Schema, schema: Schema) -> None:
    """Leave out what says nothing about a reply, and say in llguidance's words what it knows by others only."""
    for note in _NOTES:
        part.pop(note, None)
    most = part.get("maxItems")
    if part.get("uniqueItems") is False or (isinstance(most, int) and most <= 1):
        part.pop("uniqueItems", None)
    if part.get("format") in _ANY_TEXT:
        del part["format"]
    if part.get("uniqueItems") is True and part.keys() <= _SET:
        _list_subsets(part, _resolved(part.get("items"), schema))
    names = _resolved(part.get("propertyNames"), schema)
    if isinstance(names, dict) and isinstance(names.get("enum"), list) and not _NAMED & part.keys():
        del part["propertyNames"]
        rest = part.pop("additionalProperties", True)
        texts = [name for name in names["enum"] if isinstance(name, str)]
        part |= {"properties": dict.fromkeys(texts, rest), "additionalProperties": False}


def _open_cases(schema: Schema) -> None:
    """Put schemas in place of the references among the cases of ``oneOf``, where llguidance looks no further.

    Schemas within them become references: written out they may be endless, or far too many.
    """
    opened_n = 0
    unions = [part["oneOf"] for _, part in _parts(schema, "#") if isinstance(part.get("oneOf"), list)]
    for cases in unions:
        for number, case in enumerate(cases):
            cases[number] = opened = _opened(case, schema)
            if opened is not case:
                opened_n += sum(len(value) for value in opened.values() if isinstance(value, dict | list))
            if opened_n > _MOST_OPENED:
                raise UsageError("The cases of 'oneOf' are too large with what they refer to.", _SMALLER)


def _opened(case: Any, schema: Schema) -> Any:
    """The schema that a case refers to, with references for what is in it but for single values; or the case."""
    found = _resolved(case, schema)
    if found is case:
        return case

    base = quote(unquote(case["$ref"]), safe="#/~")

    def shown(place: str, part: Schema) -> Schema:
        nested = len(list(islice(_parts(part, ""), 2))) > 1
        return {"$ref": f"{base}/{place}"} if nested or "$ref" in part else part

    return {key: _with_parts(key, value, shown) for key, value in found.items() if key not in _DEFINITIONS}


def _list_subsets(part: Schema, items: Any) -> None:
    """Replace ``uniqueItems`` of an array of few possible values by the list of all arrays that repeat none.

    Each is in the order of the values. What else the schema says of the array and its items goes on to count.
    """
    values = items.get("enum") if isinstance(items, dict) else None
    least, most = part.get("minItems", 0), part.get("maxItems", _LARGEST_SET)
    if not (isinstance(least, int) and isinstance(most, int)):
        return
    if isinstance(values, list) and len(values) <= _LARGEST_SET and least in range(most + 1):
        different = {json.dumps(value, sort_keys=True): value for value in values}.values()
        sizes = range(least, min(most, len(different)) + 1)
        part["enum"] = [list(some) for n in sizes for some in combinations(different, n)]
        del part["uniqueItems"]


def _resolved(part: Any, schema: Schema) -> Any:
    """The schema that a reference within the document stands for; itself if it is something else."""
    if not (isinstance(part, dict) and part.keys() == {"$ref"} and str(part["$ref"]).startswith("#/")):
        return part
    found: Any = schema
    for name in unquote(part["$ref"][2:]).split("/"):
        found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else part


def _check(place: str, part: Schema) -> None:
    """Raise UsageError for what llguidance takes and would not hold a reply to."""
    least, required = part.get("minProperties", 0), part.get("required")
    certain_n = len(required) if isinstance(required, list) else 0
    if isinstance(least, int) and least > max(1, certain_n):
        raise _no_promise(f"'minProperties' {least}, since a property may come twice", place)
    for key, value in part.items():
        if key not in _BY_NAME and any(abs(number) > _LARGEST for number in _whole_numbers(value)):
            raise _no_promise(f"{key!r} with a number beyond 2^53", place)


def _whole_numbers(value: object) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _whole_numbers(each)


def _closed(schema: Schema) -> Schema:
    """A schema that fewer values fit, all of them ``schema`` too: without properties and types that it does not name.

    The same where schemas are put together from several: the one may name what another does not.
    """
    closed: Schema = deepcopy(schema)
    parts = [part for _, part in _parts(closed, "#")]
    if any("allOf" in part or (_NAMED & part.keys() and _MIXED & part.keys()) for part in parts):
        return schema
    for part in parts:
        properties, required = part.get("properties"), part.get("required", [])
        if isinstance(properties, dict) and properties and isinstance(required, list):
            part.setdefault("type", "object")
            open_keys = {"additionalProperties", "patternProperties"}
            if not open_keys & part.keys() and all(str(name) in properties for name in required):
                part["additionalProperties"] = False
        elif {"items", "prefixItems"} & part.keys():
            part.setdefault("type", "array")
    return closed


class _Search:
    """Asks for the reason against one keyword after another, until that would take long."""

    def __init__(self) -> None:
        self._left_n = _SEARCHED_N

    def refusal(self, alone: Schema) -> str | None:
        """As ``guidance.refusal``; None also once no more is asked."""
        if self._left_n < 0:
            return None
        written = _written(alone)
        self._left_n -= len(written)
        return refusal(written)


def _refused(why: str, parts: list[tuple[str, Schema]]) -> UsageError:
    """Names the keyword that is refused alone, with its place, or says what the library says."""
    search = _Search()
    for place, part in parts:
        for key, value in part.items():
            if key == "$ref" and _REFERENCE.match(why):
                return _no_promise(f"'$ref' {value!r} ({why})", place)
            if key in _MIXED and isinstance(value, list | str):
                continue
            if alone := search.refusal({key: _with_parts(key, value, lambda place, part: {})}):
                shown = f" {value!r}" if isinstance(value, str) else ""
                return _no_promise(f"{key!r}{shown}" + ("" if key in alone else f" ({alone})"), place)
    if why.startswith("oneOf"):
        why = "the cases of 'oneOf' may overlap; 'anyOf' allows that"
        return UsageError(f"A reply cannot be held to the JSON Schema: {why}.", _SMALLER)
    definitions = {key: value for key, value in parts[0][1].items() if key in _DEFINITIONS}
    for place, part in reversed(parts):
        for key in sorted(_MIXED & part.keys()):
            if alone := search.refusal({key: part[key], **definitions}):
                return _no_promise(f"{key!r} ({alone})", place)
    return UsageError(f"A reply cannot be held to the JSON Schema: {why}.", _SMALLER)


def _with_parts(key: str, value: Any, change: Callable[[str, Schema], Any]) -> Any:
    """The value of a keyword with each schema in it as ``change`` makes it of its place and itself."""

    def changed(place: str, part: Any) -> Any:
        return change(f"{key}{place}", part) if isinstance(part, dict) else part

    if key in _BY_NAME and isinstance(value, dict):
        return {name: changed(f"/{_pointer(name)}", part) for name, part in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [changed(f"/{number}", part) for number, part in enumerate(value)]
    return changed("", value) if key in _SCHEMAS else value


def _pointer(name: str) -> str:
    """A name in a JSON pointer in a URI (RFC 6901)."""
    return quote(name.replace("~", "~0").replace("/", "~1"))


def _no_promise(what: str, place: str) -> UsageError:
    return UsageError(f"A reply cannot be held to {what}, at {place} of the JSON Schema.", _HINT)


def _too_deep() -> UsageError:
    return UsageError("The JSON Schema is nested too deeply.", "Flatten it.")
