"""What a conversation sets for itself: changed by a command, told in a sentence, laid over the file of settings.

The same for the chat screen and the line mode.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localspec.config import Setting, Value, setting
from localspec.config.kinds import shown
from localspec.config.own import find_own, read_own, with_own
from localspec.config.texts import read_text
from localspec.errors import InputError, NotFoundError, UsageError
from localspec.launch import Launch, Settings

ALL, OFF = "all", "off"
_LONGEST_SHOWN = 24
_SCHEMA = setting("json_schema")


@dataclass(frozen=True, slots=True)
class Changed:
    """The settings of a conversation after a change."""

    own: Mapping[str, Value]
    launch: Launch
    said: str
    """A sentence about it."""


def set_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """``NAME VALUE``, as it was typed. Raises UsageError, and what the value is refused with."""
    name, _, value = text.strip().partition(" ")
    named = find_own(name)
    if not value.strip():
        raise UsageError(told_of(settings, own, named), f"It is {named.kind.form}: /set {named.key} VALUE")
    return change(settings, own, named, read_own(named, value.strip()))


def unset_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """``NAME`` or ``all``. Raises UsageError."""
    if not text.strip():
        raise UsageError("/unset needs the name of a setting, or all.", told(own))
    if text.strip().lower() == ALL:
        return Changed({}, settings.settle(settings.config, {}), "The conversation sets nothing for itself any more.")
    named = find_own(text)
    if named.name not in own:
        raise UsageError(f"This conversation does not set {named.title}.", told(own))
    return change(settings, own, named, None)


def schema_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """``FILE`` or ``off``. Raises UsageError, NotFoundError, InputError."""
    if text.strip().lower() == OFF:
        if _SCHEMA.name not in own:
            raise UsageError("This conversation holds replies to no JSON Schema.", "/schema FILE begins that.")
        return change(settings, own, _SCHEMA, None)
    if not text.strip():
        holds = "holds" if _SCHEMA.name in own else "does not hold"
        raise UsageError(f"This conversation {holds} replies to a JSON Schema.", "/schema FILE, or /schema off.")
    return change(settings, own, _SCHEMA, _read_schema(text.strip()))


def change(settings: Settings, own: Mapping[str, Value], named: Setting, value: Value | None) -> Changed:
    """One setting more, or less for None. Raises UsageError if it cannot stand with the rest."""
    changed = with_own(own, named, value)
    launch = settings.settle(settings.config, changed)
    news = settings.problems[len(settings.config.problems) :]
    refused = next((problem.what for problem in news if problem.what.startswith(f"{named.name}: ")), None)
    if refused is not None:
        settings.settle(settings.config, own)
        raise UsageError(f"{refused.partition(': ')[2].capitalize()}.", f"{named.title.capitalize()} stays as it was.")
    return Changed(changed, launch, _said(settings, named, value))


def told(own: Mapping[str, Value]) -> str:
    """What the conversation has of its own, in a sentence."""
    if not own:
        return "This conversation has no settings of its own; /set NAME VALUE gives it one, as in /set temperature 0.2."
    each = ", ".join(f"{setting(name.rpartition('.')[2]).title} {short(value)}" for name, value in sorted(own.items()))
    return f"This conversation sets {each}; /unset NAME takes one back, /unset all every one."


def told_of(settings: Settings, own: Mapping[str, Value], named: Setting) -> str:
    """What holds for one setting, and why, in a sentence."""
    if named.key in settings.said:
        return f"{named.title.capitalize()} is {settings.said[named.key]}, by the command line."
    if named.name in own:
        return f"{named.title.capitalize()} is {short(own[named.name])} in this conversation."
    if named.name in settings.config.values:
        return f"{named.title.capitalize()} is {short(settings.config.values[named.name])} in all conversations."
    return f"{named.title.capitalize()} is as built in: {named.default_words}."


def short(value: Value) -> str:
    """A value in a few words."""
    text = shown(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _said(settings: Settings, named: Setting, value: Value | None) -> str:
    if named.key in settings.said:
        return f"The command line names {named.title}, which beats what a conversation sets."
    if value is None:
        return f"{told_of(settings, {}, named)[:-1]}, from the next reply on."
    return f"{named.title.capitalize()} is {short(value)} in this conversation, from the next reply on."


def _read_schema(path: str) -> str:
    try:
        text = read_text(Path(path).expanduser())
    except RuntimeError:
        raise NotFoundError(f"There is no file {path}.", "Check its name.") from None
    try:
        json.loads(text)
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {error}.", "A JSON Schema is a JSON object.") from None
    return text
