"""Dataclasses from the JSON of another program, and the check that every field has the type that it declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from localspec.base.visible import is_text

T = TypeVar("T")

_LARGEST = 2**53
"""Whole numbers up to here are the same in every reader of JSON."""


def from_json(kind: type[T], data: Any) -> T:
    """The dataclass ``kind`` from a JSON object: tuples and bytes from lists, paths and enums from texts.

    A field that has a default may be missing. Other values are taken as they are, which ``misfit`` checks. Raises
    KeyError, TypeError, ValueError or AttributeError if the object has another form.
    """
    types = _types(kind)
    return kind(**{name: _made(types[name], value) for name, value in data.items()})


def known_fields(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a JSON object that are fields of a dataclass, by name."""
    return {field.name: data[field.name] for field in fields(kind) if field.name in data}


def misfit(value: Any, name: str = "") -> str | None:
    """The path of the first field whose value is not of its declared type, as ``sampling.top_k``; None if all are.

    Fields of fields are held to theirs. A whole number may stand where any number may. A number is between -2**53 and
    2**53, or minus infinity. Text must be encodable as UTF-8.
    """
    own: Any = type(value)
    for field, kind, leaves in _checks(own):
        held = getattr(value, field)
        for fits in leaves:
            if fits(held):
                break  # nearly all, and a path takes a while to write
        else:
            found = _misfit(held, kind, f"{name}.{field}" if name else field)
            if found is not None:
                return found
    return None


def _types(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields, by name."""
    return _known_types(kind)


@cache
def _known_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


@cache
def _checks(kind: Any) -> list[tuple[str, Any, list[Callable[[object], bool]]]]:
    """For each field of a dataclass its name, its type, and the checks of the leaves among its possible types."""
    found = []
    for name, each in _known_types(kind).items():
        parts = get_args(each) if get_origin(each) in (UnionType, Union) else (each,)
        found.append((name, each, [_LEAVES[part] for part in parts if part in _LEAVES]))
    return found


def _made(kind: Any, data: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        found = next((part for part in parts if _may_be(part, data)), None)
        return data if found is None else _made(found, data)
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(data) if parts[0] in (int, float, str) else tuple(_made(parts[0], each) for each in data)
        return tuple(_made(part, each) for part, each in zip(parts, data, strict=True))
    if isinstance(kind, type) and is_dataclass(kind):
        return from_json(kind, data)
    return kind(data) if kind in (bytes, Path) or (isinstance(kind, type) and issubclass(kind, Enum)) else data


def _may_be(kind: Any, data: Any) -> bool:
    """True if JSON of this form may stand for an object of ``kind``, one of several that are possible."""
    if is_dataclass(kind):
        needed = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
        return isinstance(data, dict) and needed <= data.keys() <= _types(kind).keys()
    if get_origin(kind) is tuple:
        return isinstance(data, list)
    return kind is Path and isinstance(data, str)


def _misfit(value: object, kind: Any, name: str) -> str | None:
    if fits := _LEAVES.get(kind):
        return None if fits(value) else name
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        found = []
        for part in parts:
            if (misfitting := _misfit(value, part, name)) is None:
                return None
            found.append(misfitting)
        return max(found, key=len)
    if origin is tuple:
        return _tuple_misfit(value, parts, name)
    if origin is dict:
        if not isinstance(value, dict):
            return name
        wrong = any(_misfit(key, parts[0], name) or _misfit(each, parts[1], name) for key, each in value.items())
        return name if wrong else None
    if is_dataclass(kind):
        return misfit(value, name) if type(value) is kind else name
    return None if isinstance(value, kind) else name


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _is_number(value: object) -> bool:
    """True for a number that can be reckoned with: not NaN, and of the infinite ones only a banned token's bias."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= _LARGEST or value == -inf


def _is_encodable(value: object) -> bool:
    return isinstance(value, str) and is_text(value)


def _is_none(value: object) -> bool:
    return value is None


_LEAVES: Mapping[Any, Callable[[object], bool]] = {
    int: _is_whole,
    float: _is_number,
    str: _is_encodable,
    type(None): _is_none,
    Any: lambda _: True,
}


def _tuple_misfit(value: object, parts: tuple[Any, ...], name: str) -> str | None:
    if not isinstance(value, tuple):
        return name
    if len(parts) == 2 and parts[1] is Ellipsis:
        if (fits := _LEAVES.get(parts[0])) and all(map(fits, value)):
            return None
        parts = (parts[0],) * len(value)
    if len(parts) != len(value):
        return name
    found = (_misfit(each, part, f"{name}[{at}]") for at, (each, part) in enumerate(zip(value, parts, strict=True)))
    return next((each for each in found if each is not None), None)
