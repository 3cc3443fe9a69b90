"""Changing one value of a TOML text; comments, order and everything else stay as they are."""

from __future__ import annotations

import tomllib

from localspec.config.kinds import Value, literal
from localspec.config.statements import NOT_TOML, Path, Statement, dotted, statements, values


class NotSafelyChanged(Exception):
    """The text is written in a way that this module cannot change."""


def with_value(text: str, path: Path, value: Value | None) -> str:
    """``text`` with the value at ``path`` set, or taken out for None. Raises NotSafelyChanged."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found = [entry for entry in statements(text) if isinstance(entry, Statement)]
    own = [entry for entry in found if entry.key and entry.path == path]
    holders = [entry for entry in found if entry.key and entry.path == path[: len(entry.path)]]
    if len(holders) > 1:
        raise NotSafelyChanged
    if holders and not own:
        changed = _within(text, found, holders[0], path, value, newline)
    elif value is None:
        changed = _without(text, found, own[0], newline) if own else text
    elif own:
        changed = text[: own[0].value_start] + literal(value) + text[own[0].value_end :]
    else:
        changed = _inserted(text, found, path, literal(value), newline)
    _check(text, changed, path, value)
    return changed


def _without(text: str, found: list[Statement], own: Statement, newline: str) -> str:
    """``text`` without a statement; the header of a table within a table goes with the last one there."""
    table = own.path[:-1]
    mates = [entry for entry in found if entry is not own and entry.path[: len(table)] == table]
    if len(table) < 2 or len(mates) != 1 or mates[0].key or text[mates[0].end : own.start].strip():
        return text[: own.start] + text[own.end :]
    before = text[: mates[0].start]
    return (before.removesuffix(newline) if before.endswith(newline * 2) else before) + text[own.end :]


def _within(text: str, found: list[Statement], own: Statement, path: Path, value: Value | None, newline: str) -> str:
    """``text`` with a value set, or taken out for None, in an inline table, which goes with its last value."""
    written = text[own.value_start : own.value_end]
    changed = _changed(tomllib.loads(f"table = {written}")["table"], path[len(own.path) :], value)
    if "\n" in written:  # in an array, where comments may stand
        raise NotSafelyChanged
    if not changed:
        return _without(text, found, own, newline)
    return text[: own.value_start] + literal(changed) + text[own.value_end :]


def _changed(table: object, path: Path, value: object) -> dict[str, object]:
    """A table with a value set, or taken out for None, with the tables that this leaves empty."""
    if not isinstance(table, dict):
        raise NotSafelyChanged
    name, *rest = path
    if rest:
        value = _changed(table.get(name, {}), tuple(rest), value) or None
    changed = {**table, name: value}
    return {each: kept for each, kept in changed.items() if kept is not None}


def _inserted(text: str, found: list[Statement], path: Path, value: str, newline: str) -> str:
    """``text`` with a new statement behind the last one of its table, or in a new table at the end."""
    table, depth = path[:-1], len(path) - 1
    mates = [entry for entry in found if entry.path[:depth] == table and len(entry.path) - bool(entry.key) == depth]
    if not mates:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        return f"{text}{gap}[{dotted(table)}]{newline}{dotted(path[-1:])} = {value}{newline}"
    last = mates[-1]
    name = dotted(path[len(last.table) :])
    before = text[: last.end]
    before += "" if before.endswith("\n") else newline
    return f"{before}{name} = {value}{newline}{text[last.end :]}"


def _check(before: str, after: str, path: Path, value: Value | None) -> None:
    """Raise NotSafelyChanged unless exactly one value changed, and the text is TOML if it was before."""
    expected, got = _readings(before), _readings(after)
    expected.pop(path, None)
    if value is not None:
        expected[path] = literal(value)
    if got != expected or (_is_toml(before) and not _is_toml(after)):
        raise NotSafelyChanged


def _readings(text: str) -> dict[Path, str]:
    """The values by their paths, as literals: as numbers ``nan`` is not equal to itself, and 1 is ``true``."""
    readings: dict[Path, str] = {}
    for entry in statements(text):
        if isinstance(entry, Statement) and entry.key:
            readings |= {path: literal(value) for path, value in values(text, entry).items() if path not in readings}
    return readings


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except NOT_TOML:
        return False
    return True
