"""A TOML text with one value changed; comments, order and all else stay as they were written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from localspec.config.kinds import Value, literal
from localspec.config.statements import Path, Statement, statements, values


class NotSafelyChanged(Exception):
    """The text is written in a way that this module does not change."""


def with_value(text: str, section: str, key: str, value: Value | None) -> str:
    """``text`` with ``section.key`` set, or taken out for None. Raises NotSafelyChanged."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found = [entry for entry in statements(text) if isinstance(entry, Statement)]
    own = [entry for entry in found if entry.key and entry.path == (section, key)]
    if len(own) > 1:
        raise NotSafelyChanged
    if value is None:
        changed = text[: own[0].start] + text[own[0].end :] if own else text
    elif own:
        changed = text[: own[0].value_start] + literal(value) + text[own[0].value_end :]
    else:
        changed = _inserted(text, found, section, key, literal(value), newline)
    _check(text, changed, (section, key), value)
    return changed


def _inserted(text: str, found: list[Statement], section: str, key: str, value: str, newline: str) -> str:
    """``text`` with a new statement behind the last one of its section, or in a new section at the end."""
    mates = [entry for entry in found if entry.path[:1] == (section,) and len(entry.path) - bool(entry.key) == 1]
    if not mates:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        return f"{text}{gap}[{section}]{newline}{key} = {value}{newline}"
    last = mates[-1]
    name = key if last.table else f"{section}.{key}"
    before = text[: last.end]
    before += "" if before.endswith("\n") else newline
    return f"{before}{name} = {value}{newline}{text[last.end :]}"


def _check(before: str, after: str, path: Path, value: Value | None) -> None:
    """That exactly one thing changed, and that the file is TOML if it was."""
    expected, got = _readings(before), _readings(after)
    expected.pop(path, None)
    if value is not None:
        expected[path] = list(value) if isinstance(value, tuple) else value
    if got != expected or (_is_toml(before) and not _is_toml(after)):
        raise NotSafelyChanged


def _readings(text: str) -> dict[Path, object]:
    readings: dict[Path, object] = {}
    for entry in statements(text):
        if isinstance(entry, Statement) and entry.key:
            settled: Mapping[Path, object] = values(text, entry)
            readings |= {path: value for path, value in settled.items() if path not in readings}
    return readings


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True
