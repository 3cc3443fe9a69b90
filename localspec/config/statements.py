"""The statements of a TOML text, one by one, each with its place.

``tomllib`` does not tell the place of a value. This module finds the spans of keys and values, and leaves their meaning
to ``tomllib``, which gets every statement by itself; so one that cannot be read spoils no other.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from localspec.base.toml_text import toml_name

_HEADER = re.compile(r"[ \t]*\[")
_PART = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_KEY = re.compile(rf"[ \t]*(?P<key>{_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*=[ \t]*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!"")|""(?!"))*"{3,5}|\'\'\'(?:[^\']|\'(?!\'\')|\'\'(?!\'))*\'{3,5}'
    r'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
NOT_TOML = (ValueError, RecursionError)
"""The errors of ``tomllib``: its own, a ValueError, and those for too many digits and too many brackets."""

Path = tuple[str, ...]
"""Names from the root down, e.g. ("sampling", "top_k")."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A key with its value, or the header of a table (``key`` is empty)."""

    table: Path
    """The table it stands in, or begins."""
    key: Path
    start: int
    """Offset of its first line."""
    end: int
    """Offset behind its last line, line break included."""
    value_start: int
    value_end: int
    line: int
    """Its first line, from 1."""

    @property
    def path(self) -> Path:
        return self.table + self.key


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no TOML, and why."""

    line: int
    why: str


def statements(text: str) -> Iterator[Statement | Unreadable]:
    """Everything in ``text`` but comments and empty lines, in order."""
    table: Path = ()
    at = 0
    lost = False
    while at < len(text):
        start, line = at, text.count("\n", 0, at) + 1
        found = _one(text, start, line, table)
        if found is None:
            at = _line_end(text, start)
            continue
        if isinstance(found, Unreadable):
            # What follows a header that cannot be read belongs to no table that is known.
            lost = lost or bool(_HEADER.match(text, start))
            at = _line_end(text, start)
            yield found
            continue
        at = found.end
        if not found.key:
            table, lost = found.table, False
        if not lost:
            yield found


def values(text: str, statement: Statement) -> Mapping[Path, object]:
    """The values that a statement sets, by path; an inline table sets several."""
    parsed: object = tomllib.loads(text[statement.start : statement.end])
    for name in statement.key:
        assert isinstance(parsed, dict)
        parsed = parsed[name]
    return dict(_flat(statement.path, parsed))


def dotted(names: Path) -> str:
    """The names as TOML has them, from the root down.

    >>> dotted(("pair", "qwen2.5-7b", "depth"))
    'pair."qwen2.5-7b".depth'
    """
    return ".".join(map(toml_name, names))


def _flat(path: Path, value: object) -> Iterator[tuple[Path, object]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flat((*path, name), inner)
    else:
        yield path, value


def _one(text: str, start: int, line: int, table: Path) -> Statement | Unreadable | None:
    """The statement that begins on the line at ``start``; None if there is none."""
    end = _line_end(text, start)
    content = text[start:end].strip()
    if not content or content.startswith("#"):
        return None
    if _HEADER.match(text, start):
        return _header(text, start, end, line)
    match = _KEY.match(text, start)
    if match is None:
        return Unreadable(line, _reason(text[start:end]))
    value_end = _value_end(text, match.end())
    if value_end is None:
        return Unreadable(line, _reason(text[start:end]))
    end = _line_end(text, value_end)
    try:
        key = _names(match["key"])
        tomllib.loads(text[start:end])
    except NOT_TOML:
        return Unreadable(line, _reason(text[start:end]))
    return Statement(table, key, start, end, match.end(), value_end, line)


def _header(text: str, start: int, end: int, line: int) -> Statement | Unreadable:
    try:
        parsed: object = tomllib.loads(text[start:end])
    except NOT_TOML:
        return Unreadable(line, _reason(text[start:end]))
    names = []
    while parsed:
        if isinstance(parsed, list):
            parsed = parsed[0]
            continue
        assert isinstance(parsed, dict)
        ((name, parsed),) = parsed.items()
        names.append(name)
    return Statement(tuple(names), (), start, end, end, end, line)


def _names(dotted: str) -> Path:
    """The parts of a dotted key."""
    parsed: object = tomllib.loads(f"{dotted} = 0")
    names = []
    while isinstance(parsed, dict):
        ((name, parsed),) = parsed.items()
        names.append(name)
    return tuple(names)


def _value_end(text: str, start: int) -> int | None:
    """The offset behind the value at ``start``, without what white space or comment follows; None if it has no end."""
    at = end = start
    depth = 0
    while at < len(text):
        character = text[at]
        if character in "\"'":
            string = _STRING.match(text, at)
            if string is None:
                return None
            at = end = string.end()
            continue
        if character == "#":
            at = _comment_end(text, at)
            continue
        if character == "\n" and not depth:
            break
        depth += (character in "[{") - (character in "]}")
        at += 1
        if not character.isspace():
            end = at
    return end if depth == 0 and end > start else None


def _comment_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _line_end(text: str, at: int) -> int:
    match = _LINE.match(text, at)
    assert match is not None
    return match.end()


def _reason(statement: str) -> str:
    """The reason that ``tomllib`` gives, without its own count of lines."""
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError as error:
        return re.sub(r"\s*\(at .*\)$", "", str(error)).rstrip(".")
    except RecursionError:
        return "it is nested too deeply"
    except ValueError:
        return "a number in it is too long"
    return "it does not end"
