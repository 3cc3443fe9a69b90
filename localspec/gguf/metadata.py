"""The values a header's metadata holds, and how to ask for one of a kind."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

Value: TypeAlias = "bool | int | float | str | tuple[str, ...] | array[int] | array[float]"
"""A metadata value. Text that is not UTF-8 keeps its bytes as surrogate escapes."""

_V = TypeVar("_V", bool, int, str, tuple[str, ...])


def get(metadata: Mapping[str, Value], key: str, kind: type[_V]) -> _V | None:
    value = metadata.get(key)
    # A bool is an int to Python, but not to the file.
    return value if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) else None
