"""A reader of untrusted JSON whose errors name the place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from localspec.store.timestamps import from_iso, from_seconds

_WORDS: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


class Malformed(ValueError):
    """A value of the wrong kind; the message has the place and the reason."""


class JsonValue:
    """A value of a JSON file with its place there."""

    def __init__(self, data: Any, place: str = "") -> None:
        self.data = data
        self.place = place

    def refuse(self, why: str) -> Malformed:
        """The error about this value, to be raised."""
        return Malformed(f"{self.place or 'the whole'} {why}")

    def get(self, name: str) -> JsonValue:
        """A field of an object, null if it is missing. Raises Malformed if this is not an object."""
        return JsonValue(self.mapping().get(name), f"{self.place}.{name}" if self.place else name)

    def items(self) -> Iterator[JsonValue]:
        """The items of a list; none for null. Raises Malformed."""
        for index, item in enumerate(self._of(list, optional=True) or ()):
            yield JsonValue(item, f"{self.place}[{index}]")

    def mapping(self) -> Mapping[str, Any]:
        """The fields of an object. Raises Malformed."""
        found: Mapping[str, Any] = self._of(dict)
        return found

    def text(self) -> str:
        """The value as text. Raises Malformed."""
        return str(self._of(str))

    def text_or_none(self) -> str | None:
        """The value as text; None for null. Raises Malformed."""
        found = self._of(str, optional=True)
        return None if found is None else str(found)

    def flag(self) -> bool:
        """The value as a bool; False for null. Raises Malformed."""
        return bool(self._of(bool, optional=True))

    def moment(self) -> datetime | None:
        """The value as a time in ISO 8601; None for null. Raises Malformed."""
        text = self.text_or_none()
        try:
            return None if text is None else from_iso(text)
        except (ValueError, OverflowError):
            raise self.refuse(f"is not a time: {text!r}") from None

    def seconds(self, unit: float = 1.0) -> datetime | None:
        """The value as a time, a number of units since 1970, each ``unit`` seconds; None for null. Raises Malformed."""
        if self.data is None:
            return None
        if isinstance(self.data, bool) or not isinstance(self.data, int | float):
            raise self.refuse(f"is {_word(self.data)}, not a number")
        try:
            return from_seconds(self.data * unit)
        except (ValueError, OverflowError):
            raise self.refuse(f"is not a time: {self.data!r}") from None

    def _of(self, kind: type, *, optional: bool = False) -> Any:
        if self.data is None and optional:
            return None
        if not isinstance(self.data, kind):
            raise self.refuse(f"is {_word(self.data)}, not {_WORDS[kind]}" if self.data is not None else "is missing")
        return self.data


def _word(data: Any) -> str:
    return _WORDS.get(type(data), type(data).__name__)
