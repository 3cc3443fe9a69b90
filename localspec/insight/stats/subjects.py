"""The subject of a reply, by simple rules.

In this order:

- ``json``: all of it, or all of its only fence, reads as a JSON object or array;
- ``code``: at least half of its lines that are not blank stand in code fences;
- ``list``: at least half of its lines that are not blank begin as items of a list or rows of a table;
- ``short``: fewer than 20 words;
- ``prose``: all else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_ITEM = re.compile(r"\s*([-*+•]\s|\d{1,3}[.)]\s|\|)")
_FEW_WORDS = 20


class Subject(StrEnum):
    """The kind of a text."""

    CODE = "code"
    JSON = "json"
    LIST = "list"
    PROSE = "prose"
    SHORT = "short"


def subject_of(text: str) -> Subject:
    """The kind of ``text``, by the rules of this module."""
    lines = [line for line in text.splitlines() if line.strip()]
    inside, outside = _sorted(lines)
    if _is_json("\n".join(inside if inside and not outside else lines)):
        return Subject.JSON
    if len(inside) * 2 >= len(inside) + len(outside) and inside:
        return Subject.CODE
    if outside and 2 * sum(_ITEM.match(line) is not None for line in outside) >= len(outside):
        return Subject.LIST
    return Subject.SHORT if len(text.split()) < _FEW_WORDS else Subject.PROSE


def _sorted(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines inside and outside of code fences, without the fences."""
    inside: list[str] = []
    outside: list[str] = []
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        else:
            (inside if fenced else outside).append(line)
    return inside, outside


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
