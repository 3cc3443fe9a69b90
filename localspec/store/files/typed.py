"""A type check of dataclasses that were made from untrusted JSON."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def misfit(instance: Any) -> str | None:
    """The first field of a dataclass, or of one inside it, whose value does not fit its type; None if all fit."""
    hints = _hints(instance.__class__)
    for field in fields(instance):
        value = getattr(instance, field.name)
        if not _fits(value, hints[field.name]):
            return f"{field.name} is {value!r:.60}"
        for inner in value if isinstance(value, tuple) else (value,):
            found = misfit(inner) if is_dataclass(inner) else None
            if found is not None:
                return f"{field.name}.{found}"
    return None


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and _all_fit(value, arguments)
    if origin in (dict, Mapping):
        key, inner = arguments
        return isinstance(value, dict) and all(_fits(k, key) and _fits(v, inner) for k, v in value.items())
    if hint is None or hint is NoneType:
        return value is None
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float) if hint is float else isinstance(value, hint)


def _all_fit(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(_fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(_fits, values, hints))
