"""The arguments of a call as models write them: JSON, the notations of Gemma and Python, and texts between tags."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from json.scanner import NUMBER_RE
from typing import Any, NoReturn

ReadValue = Callable[[str, int, str], tuple[Any, int]]
"""Reads the value in a text from an index on, with the quotation mark of the syntax; gives it with the index after it.

Raises ValueError where there is none."""

_KEY = re.compile(r"([^\s:{}\[\],]+)\s*:\s*")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_WORD = re.compile("|".join(_WORDS))
_CALLED, _GIVEN = re.compile(r"([\w.-]+)\s*\("), re.compile(r"([\w.$@-]+)\s*=\s*")
SPACE, _COLON = re.compile(r"\s*"), re.compile(r"\s*:\s*")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ESCAPED = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
ELEMENT = "item"
"""The tag around an element of a list, where lists are tags and what is between them."""
_DEEPEST, _MOST_CASES = 64, 256
NOTES = frozenset(("title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"))
"""Keywords of JSON Schema by which no value is refused."""
_TYPES = {str: "string", type(None): "null", bool: "boolean", int: "integer", list: "array", dict: "object"}


def json_value(text: str, at: int, quote: str = '"') -> tuple[Any, int]:
    """A value of strict JSON. Raises ValueError, also for one that is nested too deeply."""
    try:
        return _JSON.raw_decode(text, at)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def gemma_object(text: str, at: int, quote: str) -> tuple[Any, int]:
    """An object whose keys stand bare and whose texts stand between two ``quote``. Raises ValueError."""
    return _gemma_value(text, at, quote, _DEEPEST)


def python_calls(text: str, at: int, quote: str = '"') -> tuple[Any, int]:
    """A list of calls as Python writes them, ``[name(key=value)]``, as objects with names. Raises ValueError."""
    return _items(text, at + 1, "]", _python_call)


def types_of(schema: Any, root: Any) -> frozenset[str] | None:
    """The types of the values that fit a schema, a part of ``root``; None if it does not say."""
    types: set[str] = set()
    for case in cases_of(schema, root):
        if isinstance(values := case.get("enum", [case["const"]] if "const" in case else None), list):
            types.update(map(_type, values))
        elif isinstance(wanted := case.get("type"), str | list):
            types.update([wanted] if isinstance(wanted, str) else map(str, wanted))
        else:
            return None
    return frozenset(types)


def cases_of(schema: Any, root: Any) -> list[dict[str, Any]]:
    """The schemas that a schema lets a value choose among, without references to parts of ``root``."""
    found: list[dict[str, Any]] = []
    ahead = [schema]
    for _ in range(_MOST_CASES):
        if not ahead:
            return found
        case = ahead.pop(0)
        said = {key: value for key, value in case.items() if key not in NOTES} if isinstance(case, dict) else {}
        match said:
            case {"$ref": str(place)} if len(said) == 1:
                ahead.insert(0, _part(root, place))
            case {"anyOf": [*cases]} | {"oneOf": [*cases]} | {"allOf": [_] as cases} if len(said) == 1:
                ahead += cases
            case _:
                found.append(said)
    return [{}]


def _part(root: Any, place: str) -> Any:
    """The part of a schema at a place that a reference names; None if it is not there."""
    for name in place.removeprefix("#/").split("/"):
        root = root.get(name) if isinstance(root, dict) else None
    return root


def nested_value(text: str, at: int, name: str, mark: str, schema: Any, root: Any) -> tuple[Any, int] | None:
    """The list or object behind a tag, whose values stand between tags, too, and the index after the tag's end.

    Each tag has ``mark`` before it. None if no tag follows, or if ``schema``, a part of ``root``, allows neither.
    Raises ValueError if a tag has no end.
    """
    return _nested(text, at, f"{mark}</{name}>", mark, schema, root, _DEEPEST)


def _nested(text: str, at: int, closing: str, mark: str, schema: Any, root: Any, depth: int) -> tuple[Any, int] | None:
    types = types_of(schema, root)
    tag = re.compile(rf"\s*{re.escape(mark)}<([^<>/\s]+)>")
    allowed = {"array", "object"} if types is None else types & {"array", "object"}
    if not allowed or not tag.match(text, at):
        return None
    if depth == 0:
        raise ValueError("it is nested too deeply")
    found: list[tuple[str, Any]] = []
    while opened := tag.match(text, at):
        name, end = opened[1], f"{mark}</{opened[1]}>"
        part = _part_within(schema, root, name)
        inner = _nested(text, opened.end(), end, mark, part, root, depth - 1)
        if inner is None:
            value_end = text.find(end, opened.end())
            if value_end < 0:
                raise ValueError("a tag in it does not end")
            inner = typed(text[opened.end() : value_end], types_of(part, root)), value_end + len(end)
        found.append((name, inner[0]))
        at = inner[1]
    at = after(SPACE, text, at)
    if not text.startswith(closing, at):
        raise ValueError("a list or an object in it does not end")
    is_list = "array" in allowed and all(name == ELEMENT for name, _ in found)
    return [value for _, value in found] if is_list else dict(found), at + len(closing)


def _part_within(schema: Any, root: Any, name: str) -> Any:
    """The schema of a list's elements, or of an object's property; None if it is not there."""
    for case in cases_of(schema, root):
        properties = case.get("properties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
        for key in ("items", "additionalProperties"):
            if isinstance(case.get(key), dict):
                return case[key]
    return None


def typed(value: str, types: frozenset[str] | None) -> Any:
    """A text between tags as a value of ``types``: JSON if it is, of another type than a text where it may be one.

    Where it may be none it may also be as Python writes it: chat templates that print values as they are show calls so.
    """
    if types is not None and "string" not in types:
        empty: list[Any] = [each for each, name in (([], "array"), ({}, "object")) if name in types]
        return empty[0] if len(empty) == 1 and not value.strip() else _literal(value)
    try:
        found, end = json_value(value, 0)
    except ValueError:
        return value
    if value[end:].strip():
        return value
    if types is not None:
        others = types - {"string"} | ({"integer"} if "number" in types else set())
        return found if _type(found) in others else value
    return found


def _literal(value: str) -> Any:
    """A text as the value of JSON or Python that it is; itself if it is none."""
    written = value.strip()
    for read in (json_value, partial(_python_value, depth=_DEEPEST)):
        try:
            found, end = read(written, 0)
        except ValueError:
            continue
        if end == len(written):
            return found
    return value


def _type(value: Any) -> str:
    """The name of a value's type in JSON Schema."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _TYPES[type(value)]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _finite(number: str) -> float:
    """A number as near as a float comes: JSON has no infinity."""
    return max(-sys.float_info.max, min(float(number), sys.float_info.max))


_JSON = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _python_call(text: str, at: int) -> tuple[Any, int]:
    found = _CALLED.match(text, at)
    if found is None:
        raise ValueError(f"there is no call at character {at}")
    given, at = _items(text, found.end(), ")", partial(_named_value, name=_GIVEN, depth=_DEEPEST))
    return {"name": found[1], "arguments": dict(given)}, at


def _named_value(text: str, at: int, name: re.Pattern[str] | None, depth: int) -> tuple[tuple[str, Any], int]:
    """A value after its name, which is a text where it has no pattern."""
    if name is None:
        key, at = _python_value(text, at, depth)
        found = _COLON.match(text, at)
    else:
        found = name.match(text, at)
        key = found[1] if found else ""
    if found is None or not isinstance(key, str):
        raise ValueError(f"there is no name at character {at}")
    value, at = _python_value(text, found.end(), depth)
    return (key, value), at


def _python_value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """A literal of Python or JSON; texts may go on over several lines."""
    if depth == 0:
        raise ValueError("it is nested too deeply")
    if text.startswith("[", at):
        return _items(text, at + 1, "]", partial(_python_value, depth=depth - 1))
    if text.startswith("{", at):
        parts, at = _items(text, at + 1, "}", partial(_named_value, name=None, depth=depth - 1))
        return dict(parts), at
    if quoted := _QUOTED.match(text, at):
        written = _ESCAPED.sub(_unescaped, quoted[0][1:-1])
        # An escape may be half of a character.
        return written.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"), quoted.end()
    return _single_value(text, at)


def _single_value(text: str, at: int) -> tuple[Any, int]:
    """A word or a number, as Python or JSON has it."""
    word = _WORD.match(text, at) or NUMBER_RE.match(text, at)
    if word is None:
        raise ValueError(f"there is no value at character {at}")
    return _WORDS[word[0]] if word[0] in _WORDS else _JSON.decode(word[0]), word.end()


def _unescaped(found: re.Match[str]) -> str:
    if code := found[1] or found[2] or found[3]:
        if int(code, 16) > sys.maxunicode:
            raise ValueError(f"{found[0]} is no character")
        return chr(int(code, 16))
    return _ESCAPES.get(found[0][1], found[0][1])


def _items(text: str, at: int, close: str, read: Callable[[str, int], tuple[Any, int]]) -> tuple[list[Any], int]:
    """The values up to ``close``, with commas between them, white space anywhere, and the index after it."""
    items: list[Any] = []
    at = after(SPACE, text, at)
    while not text.startswith(close, at):
        if items:
            if not text.startswith(",", at):
                raise ValueError(f"there is no comma at character {at}")
            at = after(SPACE, text, at + 1)
        item, at = read(text, at)
        items.append(item)
        at = after(SPACE, text, at)
    return items, at + 1


def after(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The index behind what the pattern finds at an index; that itself where it finds nothing."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _gemma_value(text: str, at: int, quote: str, depth: int) -> tuple[Any, int]:
    if depth == 0:
        raise ValueError("it is nested too deeply")
    if text.startswith(quote, at):
        start = at + len(quote)
        end = text.find(quote, start)
        if end < 0:
            raise ValueError("a text in it does not end")
        return text[start:end], end + len(quote)
    if text.startswith("[", at):
        return _items(text, at + 1, "]", partial(_gemma_value, quote=quote, depth=depth - 1))
    if text.startswith("{", at):
        parts, at = _items(text, at + 1, "}", partial(_gemma_member, quote=quote, depth=depth - 1))
        return dict(parts), at
    return _single_value(text, at)


def _gemma_member(text: str, at: int, quote: str, depth: int) -> tuple[tuple[str, Any], int]:
    """A value after its key."""
    found = _KEY.match(text, at)
    if found is None:
        raise ValueError(f"there is no name at character {at}")
    value, at = _gemma_value(text, found.end(), quote, depth)
    return (found[1], value), at
