"""Reading other people's JSON: every complaint says where in the file it is."""

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
    """Not what it should be; the message says where and why."""


class Value:
    """Something out of a JSON file, and its place there."""

    def __init__(self, data: Any, place: str = "") -> None:
        self.data = data
        self.place = place

    def refuse(self, why: str) -> Malformed:
        """The complaint, to be raised."""
        return Malformed(f"{self.place or 'the whole'} {why}")

    def get(self, name: str) -> Value:
        """A field of an object; null if it is not there. Raises Malformed if this is no object."""
        return Value(self.mapping().get(name), f"{self.place}.{name}" if self.place else name)

    def items(self) -> Iterator[Value]:
        """The items of a list; none of null. Raises Malformed."""
        for index, item in enumerate(self._of(list, optional=True) or ()):
            yield Value(item, f"{self.place}[{index}]")

    def mapping(self) -> Mapping[str, Any]:
        """Raises Malformed."""
        found: Mapping[str, Any] = self._of(dict)
        return found

    def text(self) -> str:
        """Raises Malformed."""
        return str(self._of(str))

    def text_or_none(self) -> str | None:
        """Raises Malformed."""
        found = self._of(str, optional=True)
        return None if found is None else str(found)

    def flag(self) -> bool:
        """False if it is not there. Raises Malformed."""
        return bool(self._of(bool, optional=True))

    def moment(self) -> datetime | None:
        """A time in ISO 8601. Raises Malformed."""
        text = self.text_or_none()
        try:
            return None if text is None else from_iso(text)
        except (ValueError, OverflowError):
            raise self.refuse(f"is no time: {text!r}") from None

    def seconds(self, unit: float = 1.0) -> datetime | None:
        """A time as a number since 1970, in so many seconds each. Raises Malformed."""
        if self.data is None:
            return None
        if isinstance(self.data, bool) or not isinstance(self.data, int | float):
            raise self.refuse(f"is {_word(self.data)}, not a number")
        try:
            return from_seconds(self.data * unit)
        except (ValueError, OverflowError):
            raise self.refuse(f"is no time: {self.data!r}") from None

    def _of(self, kind: type, *, optional: bool = False) -> Any:
        if self.data is None and optional:
            return None
        if not isinstance(self.data, kind):
            raise self.refuse(f"is {_word(self.data)}, not {_WORDS[kind]}" if self.data is not None else "is missing")
        return self.data


def _word(data: Any) -> str:
    return _WORDS.get(type(data), type(data).__name__)
