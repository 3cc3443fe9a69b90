"""Messages of strangers, held to the types that their classes declare: the codec builds objects and checks none."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from localspec.engine.settings import BANNED

_LARGEST = 2**53
"""Whole numbers up to here are the same in every reader of JSON."""


def misfit(value: Any, name: str = "") -> str | None:
    """The first field of a dataclass that has not its type, as ``options.sampling.top_k``; None if all have.

    Fields of fields are held to theirs. A whole number may stand where any number may. Numbers and texts are such as
    can be reckoned with, stored and shown.
    """
    for field, kind in _types(type(value)).items():  # type: ignore[arg-type]
        path = f"{name}.{field}" if name else field
        found = _misfit(getattr(value, field), kind, path)
        if found is not None:
            return found
    return None


@cache
def _types(kind: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _misfit(value: object, kind: Any, name: str) -> str | None:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        found = [_misfit(value, part, name) for part in parts]
        return None if None in found else max((each for each in found if each is not None), key=len)
    if origin is tuple:
        return _tuple_misfit(value, parts, name)
    if origin is dict:
        if not isinstance(value, dict):
            return name
        pairs = ((each, part) for pair in value.items() for each, part in zip(pair, parts, strict=True))
        return next((name for each, part in pairs if _misfit(each, part, name)), None)
    if is_dataclass(kind):
        return misfit(value, name) if type(value) is kind else name
    if kind is float:
        return None if _is_number(value) else name
    if kind is int:
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST
        return None if whole else name
    if kind is str:
        return None if isinstance(value, str) and _is_text(value) else name
    return None if isinstance(value, kind) else name


def _is_number(value: object) -> bool:
    """True for a number that can be reckoned with: not NaN, and of the infinite ones only a banned token's bias."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= _LARGEST or value == BANNED


def _is_text(value: str) -> bool:
    """True for text that can be written: a surrogate without its other half cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tuple_misfit(value: object, parts: tuple[Any, ...], name: str) -> str | None:
    if not isinstance(value, tuple):
        return name
    if len(parts) == 2 and parts[1] is Ellipsis:
        parts = (parts[0],) * len(value)
    if len(parts) != len(value):
        return name
    found = (_misfit(each, part, f"{name}[{at}]") for at, (each, part) in enumerate(zip(value, parts, strict=True)))
    return next((each for each in found if each is not None), None)
