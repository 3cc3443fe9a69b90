"""Typed access to the values in the metadata of a header."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

Value: TypeAlias = "bool | int | float | str | tuple[str, ...] | array[int] | array[float]"
"""A metadata value. Text that is not UTF-8 keeps its bytes as surrogate escapes."""

_V = TypeVar("_V", bool, int, str, tuple[str, ...])


def get(metadata: Mapping[str, Value], key: str, kind: type[_V]) -> _V | None:
    """The value under ``key``; None if it is missing or of another type."""
    value = metadata.get(key)
    # In Python bool is a subclass of int; in the file they are different types.
    return value if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) else None
