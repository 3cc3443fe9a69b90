"""JSON objects of requests, read field by field; an error names the field by its place, as ``messages[0].content``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from math import isfinite
from typing import Any, NoReturn

from starlette.requests import Request

from localspec.server.failures import HttpError, InvalidFieldError

MOST_OBJECTS = 30_000
"""The most JSON objects of a request, such as messages, their parts and tools: each costs the loop microseconds."""
MOST_SEPARATORS = 1_000_000
"""The most commas and opening brackets of a request, those in its texts included: an upper bound of its JSON values.

The JSON parser lets no other thread run meanwhile, and takes for each small value as long as for many letters.
"""
MOST_COLONS = 200_000
"""The most colons of a request, those in its texts included: an upper bound of the names in its objects.

A name takes the parser ten times as long as another small value.
"""
LARGEST, LARGEST_SEED = 2**53, 2**64
LARGEST_ID = 2**31 - 1
"""The largest id of a token; far beyond every vocabulary."""
_LARGE_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object. A field that is null counts as missing. Every method raises InvalidFieldError."""

    values: Mapping[str, Any]
    place: str = ""
    """The object's own place; empty for the body of a request."""

    @staticmethod
    async def of(request: Request) -> Fields:
        """The body of a request. A large one is read in a thread, so that replies under way go on."""
        body = await request.body()
        return fields_of_json(body) if len(body) < _LARGE_BYTES else await asyncio.to_thread(fields_of_json, body)

    def at(self, name: str) -> str:
        """The place of a field."""
        return f"{self.place}.{name}" if self.place else name

    def has(self, name: str) -> bool:
        """True if the field has a value."""
        return self.values.get(name) is not None

    def raw(self, name: str) -> Any:
        """The value as it is."""
        return self.values.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """A text; without ``default`` it must be there."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            self.refuse(name, "a text")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return default
        return value if isinstance(value, bool) else self.refuse(name, "true or false")

    def number(self, name: str, most: int = LARGEST) -> float | None:
        """A number from ``-most`` to ``most``; None if it is missing."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(name, "a number")
        return value if abs(value) <= most else self.refuse(name, f"a number from {-most} to {most}")

    def whole(self, name: str, most: int = LARGEST) -> int | None:
        """A whole number from ``-most`` to ``most``, which may be written as 1.0; None if it is missing."""
        value = self.number(name, most)
        if value is None:
            return None
        return int(value) if value == int(value) else self.refuse(name, "a whole number")

    def seed(self, default: int | None) -> int | None:
        """The field ``seed``, of which 64 bits count; None for -1, which asks for any."""
        seed = self.whole("seed", LARGEST_SEED)
        return default if seed is None else None if seed == -1 else seed % 2**64

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, or one text; empty if it is missing."""
        value = self.values.get(name)
        listed = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            self.refuse(name, "a text or a list of texts")
        return tuple(listed)

    def token_ids(self, name: str) -> tuple[int, ...]:
        """A list of tokens, which must be there."""
        value = self.values.get(name)
        if not isinstance(value, list) or not all(map(is_token_id, value)):
            self.refuse(name, "a list of tokens, which are whole numbers")
        return tuple(value)

    def object(self, name: str) -> Fields | None:
        """An object; None if it is missing."""
        value = self.values.get(name)
        if value is None:
            return None
        return Fields(value, self.at(name)) if isinstance(value, dict) else self.refuse(name, "an object")

    def objects(self, name: str) -> list[Fields]:
        """A list of objects; empty if it is missing."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.refuse(name, "a list of objects")
        listed = [Fields(each, f"{self.at(name)}[{i}]") for i, each in enumerate(value) if isinstance(each, dict)]
        return listed if len(listed) == len(value) else self.refuse(name, "a list of objects")

    def refuse(self, name: str, expected: str) -> NoReturn:
        """Raise the error of a field that is missing, or is not what is ``expected``: "a text"."""
        place = self.at(name)
        has = "has" if self.has(name) else "is missing; it has"
        raise InvalidFieldError(f"{place} {has} to be {expected}.", param=place)


def is_token_id(value: object) -> bool:
    """True for a whole number that a token may have."""
    return type(value) is int and 0 <= value <= LARGEST_ID


def check_values(body: bytes) -> None:
    """Raise HttpError for a JSON text that may have too many values, before it is parsed."""
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_SEPARATORS:
        raise _too_many(f"{MOST_SEPARATORS:,} commas and brackets")
    if body.count(b":") > MOST_COLONS:
        raise _too_many(f"{MOST_COLONS:,} colons")


def fields_of_json(body: bytes) -> Fields:
    """The object that a JSON text holds: all characters are whole, all numbers finite.

    Raises InvalidFieldError, or HttpError for one with too many values.
    """
    check_values(body)
    numbers = count(1)

    def counted(found: dict[str, Any]) -> dict[str, Any]:
        # That the parser calls Python here also lets other threads run in between.
        if next(numbers) > MOST_OBJECTS:
            raise _too_many(f"{MOST_OBJECTS:,} objects, such as messages and their parts")
        return found

    try:
        value = json.loads(body, object_hook=counted)
        _check_whole(value)
    except (ValueError, RecursionError):
        message = "The body of the request is no JSON, or has half a character or an infinite number in it."
        raise InvalidFieldError(message, "Send a JSON object, in UTF-8.") from None
    if not isinstance(value, dict):
        raise InvalidFieldError("The body of the request is no JSON object.", "Send one.")
    return Fields(value)


def _too_many(what: str) -> HttpError:
    message = f"The request has more than {what}; no context holds as many."
    return HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, "Send less at once.")


def _check_whole(value: Any) -> None:
    """Raise ValueError for what JSON can name and no answer can repeat: half a surrogate pair, an infinite number."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError
    elif isinstance(value, list):
        for each in value:
            _check_whole(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            name.encode()
            _check_whole(each)
