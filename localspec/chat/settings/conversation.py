"""What a conversation, or the pair in use, has set for itself: changed by a command, told in a sentence.

The same for the chat screen and the line mode.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localspec.base.errors import InputError, NotFoundError, UsageError
from localspec.config import Setting, Value, setting
from localspec.config.file import write_value
from localspec.config.kinds import shown
from localspec.config.own import find_of_pair, find_own, read_own, with_own
from localspec.config.table import find_key
from localspec.config.texts import read_setting
from localspec.runtime.chat_config import ChatConfig, Layer, Settings

ALL, OFF, PAIR = "all", "off", "pair"
_LONGEST_SHOWN = 24
_SCHEMA = setting("json_schema")


@dataclass(frozen=True, slots=True)
class Changed:
    """The settings of a conversation after a change."""

    own: Mapping[str, Value]
    chat_config: ChatConfig
    sentence: str
    """A sentence about it."""


def set_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """``NAME VALUE``, as it was typed; after ``pair`` it is for the pair, in the file of settings.

    Raises UsageError, what the value is refused with, and ConfigError.
    """
    of_pair = _behind_pair(text)
    if of_pair is not None:
        return _set_for_pair(settings, own, of_pair)
    name, _, value = text.strip().partition(" ")
    named = find_own(name)
    if not value.strip():
        raise UsageError(told_of(settings, own, named), f"It is {named.kind.form}: /set {named.key} VALUE")
    return change(settings, own, named, read_own(named, value.strip()))


def unset_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """``NAME`` or ``all``; ``pair NAME`` takes it out of the pair's table. Raises UsageError, ConfigError."""
    of_pair = _behind_pair(text)
    if of_pair is not None:
        named, pair = find_of_pair(of_pair), _pair(settings)
        if named.name not in settings.config.of_pair(pair):
            raise UsageError(f"Nothing sets {named.title} for {pair} alone.", told_of(settings, own, named))
        return _write(settings, own, named, None)
    if not text.strip():
        raise UsageError("/unset needs the name of a setting, or all.", told(own))
    if text.strip().lower() == ALL:
        return Changed({}, settings.resolve(settings.config, {}), "The conversation sets nothing for itself any more.")
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
    chat_config = settings.resolve(settings.config, changed)
    if refused := _refused(settings, named.name):
        settings.resolve(settings.config, own)
        raise UsageError(refused, f"{named.title.capitalize()} stays as it was.")
    return Changed(changed, chat_config, _said(settings, named, value))


def told(own: Mapping[str, Value]) -> str:
    """What the conversation has of its own, in a sentence."""
    if not own:
        return "This conversation has no settings of its own; /set NAME VALUE gives it one, as in /set temperature 0.2."
    each = ", ".join(f"{setting(name.rpartition('.')[2]).title} {short(value)}" for name, value in sorted(own.items()))
    return f"This conversation sets {each}; /unset NAME takes one back, /unset all every one."


def told_of(settings: Settings, own: Mapping[str, Value], named: Setting) -> str:
    """What holds for one setting, and why, in a sentence."""
    title = named.title.capitalize()
    if named.key in settings.overrides:
        return f"{title} is {settings.overrides[named.key]}, by the command line."
    match settings.layers(settings.config, own).get(named.name):
        case Layer.CONVERSATION:
            return f"{title} is {short(own[named.name])} in this conversation."
        case Layer.PAIR:
            value = settings.config.of_pair(settings.pair_id)[named.name]
            return f"{title} is {short(value)} with {settings.pair_id}."
        case Layer.ALL:
            return f"{title} is {short(settings.config.values[named.name])} in all conversations."
    return f"{title} is as built in: {named.default_words}."


def as_setting(word: str, value: str) -> str:
    """How to set what somebody took for a command; empty if it is no setting of a conversation."""
    named = find_key(word)
    if named is None or not named.per_conversation:
        return ""
    shown_value = value if value and len(value) <= _LONGEST_SHOWN else "VALUE"
    return f"/set {named.key} {shown_value} sets it."


def short(value: Value) -> str:
    """A value in a few words."""
    text = shown(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _refused(settings: Settings, name: str) -> str:
    """Why something cannot stand with the rest, as was found out last; empty if it can."""
    news = settings.problems[len(settings.config.problems) :]
    found = next((problem.what for problem in news if problem.what.startswith(f"{name}: ")), "")
    return found and f"{found.partition(': ')[2].capitalize()}."


def _behind_pair(text: str) -> str | None:
    """What follows the word ``pair``; None if that is not the first, or nothing follows."""
    first, _, rest = text.strip().partition(" ")
    return rest.strip() if first.lower() == PAIR and rest.strip() else None


def _set_for_pair(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    name, _, value = text.partition(" ")
    named = find_of_pair(name)
    if not value.strip():
        raise UsageError(told_of(settings, own, named), f"It is {named.kind.form}: /set pair {named.key} VALUE")
    return _write(settings, own, named, read_own(named, value.strip()))


def _write(settings: Settings, own: Mapping[str, Value], named: Setting, value: Value | None) -> Changed:
    """Set something for the pair in the file, or no more for None. Raises UsageError if it contradicts the rest."""
    pair = _pair(settings)
    before = settings.config.of_pair(pair).get(named.name)
    config = write_value(named, value, pair)
    chat_config = settings.resolve(config, own)
    if refused := _refused(settings, named.name_in(pair)):
        settings.resolve(write_value(named, before, pair), own)
        raise UsageError(refused, f"{named.title.capitalize()} stays as it was.")
    what = f"no longer set for {pair}" if value is None else f"{short(value)} for {pair}, in {config.path.name}"
    if named.key in settings.overrides:
        also = "the command line beats it"
    elif named.name in own:
        also = "this conversation has its own"
    else:
        also = f"applies {named.applies}"
    return Changed(own, chat_config, f"{named.title.capitalize()} is {what}; {also}.")


def _pair(settings: Settings) -> str:
    """The pair in use. Raises UsageError."""
    if settings.pair_id is None:
        raise UsageError("What is in use is no pair but files.", "`localspec pairs add` makes a pair of them.")
    return settings.pair_id


def _said(settings: Settings, named: Setting, value: Value | None) -> str:
    if named.key in settings.overrides:
        return f"The command line names {named.title}, which beats what a conversation sets."
    if value is None:
        return f"{told_of(settings, {}, named)[:-1]}, from the next reply on."
    return f"{named.title.capitalize()} is {short(value)} in this conversation, from the next reply on."


def _read_schema(path: str) -> str:
    try:
        text = read_setting(Path(path).expanduser())
    except RuntimeError:
        raise NotFoundError(f"There is no file {path}.", "Check its name.") from None
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON that can be read: {error}.", "A JSON Schema is a JSON object.") from None
    return text
