"""The arguments of a call as models write them: JSON, the notation of Gemma, and texts between tags."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from json.scanner import NUMBER_RE
from typing import Any, NoReturn

ReadValue = Callable[[str, int, str], tuple[Any, int]]
"""Reads the value in a text from an index on, with the quotation mark of the syntax; gives it with the index after it.

Raises ValueError where there is none."""

_KEY = re.compile(r"\s*([^\s:{}\[\],]+)\s*:")
_WORD = re.compile(r"true|false|null")
_DEEPEST = 64


def json_value(text: str, at: int, quote: str = '"') -> tuple[Any, int]:
    """A value of strict JSON. Raises ValueError, also for one that is nested too deeply."""
    try:
        return _JSON.raw_decode(text, at)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def gemma_object(text: str, at: int, quote: str) -> tuple[Any, int]:
    """An object whose keys stand bare and whose texts stand between two ``quote``. Raises ValueError."""
    return _gemma_value(text, at, quote, _DEEPEST)


def typed(value: str, schema: Mapping[str, Any]) -> Any:
    """A text between tags as the value that ``schema`` asks for: itself if that may be a text, else JSON if it is."""
    wanted = schema.get("type")
    if wanted == "string" or (isinstance(wanted, list) and "string" in wanted):
        return value
    try:
        found, end = json_value(value, 0)
    except ValueError:
        return value
    return found if not value[end:].strip() else value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_JSON = json.JSONDecoder(parse_constant=_refuse)


def _gemma_value(text: str, at: int, quote: str, depth: int) -> tuple[Any, int]:
    if depth == 0:
        raise ValueError("it is nested too deeply")
    if text.startswith(quote, at):
        start = at + len(quote)
        end = text.find(quote, start)
        if end < 0:
            raise ValueError("a text in it does not end")
        return text[start:end], end + len(quote)
    if text.startswith("{", at):
        return _gemma_parts(text, at + 1, "}", quote, depth)
    if text.startswith("[", at):
        return _gemma_parts(text, at + 1, "]", quote, depth)
    word = _WORD.match(text, at) or NUMBER_RE.match(text, at)
    if word is None:
        raise ValueError(f"there is no value at character {at}")
    return json.loads(word[0]), word.end()


def _gemma_parts(text: str, at: int, close: str, quote: str, depth: int) -> tuple[Any, int]:
    """The parts of an object or a list up to ``close``."""
    parts: list[tuple[str, Any]] = []
    while not text.startswith(close, at):
        if parts:
            if not text.startswith(",", at):
                raise ValueError(f"there is no comma at character {at}")
            at += 1
        key = ""
        if close == "}":
            found = _KEY.match(text, at)
            if found is None:
                raise ValueError(f"there is no name at character {at}")
            key, at = found[1], found.end()
        value, at = _gemma_value(text, at, quote, depth - 1)
        parts.append((key, value))
    values = dict(parts) if close == "}" else [value for _, value in parts]
    return values, at + 1
