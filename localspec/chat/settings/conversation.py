"""The settings of a conversation and of the pair in use, changed by a command: /set, /unset, /schema, /persona.

The chat screen and the line mode share them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from localspec.base.errors import InputError, UsageError
from localspec.base.visible import capitalised, shortened
from localspec.chat.compose.file_reading import path_of, unquoted
from localspec.config import Config, Setting, Value, setting
from localspec.config.file import write_value
from localspec.config.kinds import NONE, Flag, shown
from localspec.config.lookup import find_for_conversation, find_for_pair, read_typed, with_setting
from localspec.config.table import find_key
from localspec.config.text_folder import PERSONAS, check_persona
from localspec.config.texts import read_setting
from localspec.runtime.chat_config import ChatConfig, Settings
from localspec.runtime.effective import EffectiveSetting, SettingSource, effective_settings

ALL, OFF, PAIR = "all", "off", "pair"
_LONGEST_SHOWN = 24
_SCHEMA = setting("json_schema")
_PERSONA = setting("persona")


@dataclass(frozen=True, slots=True)
class Changed:
    """The settings of a conversation after a change, and the configuration they make."""

    own: Mapping[str, Value]
    chat_config: ChatConfig
    sentence: str
    """A sentence about the change."""


def set_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """Set ``NAME VALUE`` as typed; after the word ``pair`` for the pair, in the file of settings.

    Raises UsageError and ConfigError.
    """
    of_pair = _behind_pair(text)
    name, value = _first_word(text if of_pair is None else of_pair)
    named = find_for_conversation(name) if of_pair is None else find_for_pair(name)
    if not value:
        form = f"It is {named.kind.form}: /set {'' if of_pair is None else 'pair '}{named.key} VALUE"
        raise UsageError(describe_setting(settings, own, named), form)
    set_there = change if of_pair is None else _write
    return set_there(settings, own, named, read_typed(named, value))


def unset_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """Unset ``NAME`` or ``all``; ``pair NAME`` takes it out of the pair's table. Raises UsageError, ConfigError."""
    of_pair = _behind_pair(text)
    if of_pair is not None:
        named, pair = find_for_pair(of_pair), _pair(settings)
        if named.name not in settings.config.of_pair(pair):
            raise UsageError(f"Nothing sets {named.title} for {pair} alone.", describe_setting(settings, own, named))
        return _write(settings, own, named, None)
    if not text.strip():
        raise UsageError("/unset needs the name of a setting, or all.", describe_own(own))
    if text.strip().lower() == ALL:
        return Changed({}, settings.resolve(settings.config, {}), "The conversation sets nothing for itself any more.")
    named = find_for_conversation(text)
    if named.name not in own:
        raise UsageError(f"This conversation does not set {named.title}.", describe_own(own))
    return change(settings, own, named, None)


def schema_from(settings: Settings, own: Mapping[str, Value], text: str) -> Changed:
    """Hold replies to the JSON Schema in ``FILE``, or to none with ``off``.

    Raises UsageError, NotFoundError and InputError.
    """
    if text.strip().lower() == OFF:
        if _SCHEMA.name not in own:
            raise UsageError("This conversation holds replies to no JSON Schema.", "/schema FILE sets one.")
        return change(settings, own, _SCHEMA, None)
    if not text.strip():
        holds = "holds" if _SCHEMA.name in own else "does not hold"
        raise UsageError(f"This conversation {holds} replies to a JSON Schema.", "/schema FILE, or /schema off.")
    return change(settings, own, _SCHEMA, _read_schema(unquoted(text.strip())))


def change(settings: Settings, own: Mapping[str, Value], named: Setting, value: Value | None) -> Changed:
    """Set one setting, or unset it for None. Raises UsageError if it contradicts the rest."""
    changed = with_setting(own, named, value)
    chat_config = settings.resolve(settings.config, changed)
    if refused := _refused(settings, named.name):
        settings.resolve(settings.config, own)
        raise UsageError(refused, f"{capitalised(named.title)} stays as it was.")
    return Changed(changed, chat_config, _describe_change(settings, named, value))


def persona_from(settings: Settings, own: Mapping[str, Value], name: str) -> Changed:
    """Choose a persona, or none with ``none``. Raises NotFoundError for one that is not there."""
    check_persona(name)
    changed = change(settings, own, _PERSONA, name)
    if "system" in settings.overrides:
        sentence = "The command line names a system prompt, which beats a persona."
    else:
        sentence = f"{'No persona' if name == NONE else name} speaks from the next reply on."
    return replace(changed, sentence=sentence)


def describe_personas(settings: Settings, own: Mapping[str, Value]) -> str:
    """The personas there are, and the one that the conversation has chosen, in a sentence."""
    there = PERSONAS.names()
    if not there:
        return (
            "There are no personas yet. One is a system prompt in a text file, such as "
            f"{PERSONAS.path / 'teacher.md'}; /persona edit teacher writes it."
        )
    chosen = own.get(_PERSONA.name, NONE)
    speaks = f"{chosen} speaks here; " if chosen != NONE and "system" not in settings.overrides else ""
    return f"Personas: {', '.join(there)}; {speaks}/persona NAME chooses one, /persona none ends it."


def describe_own(own: Mapping[str, Value]) -> str:
    """The settings of the conversation, in a sentence."""
    if not own:
        return "This conversation has no settings of its own; /set NAME VALUE gives it one, as in /set temperature 0.2."
    each = ", ".join(f"{setting(name.rpartition('.')[2]).title} {short(value)}" for name, value in sorted(own.items()))
    return f"This conversation sets {each}; /unset NAME takes one back, /unset all every one."


def describe_setting(settings: Settings, own: Mapping[str, Value], named: Setting) -> str:
    """The value of one setting, and the place it comes from, in a sentence."""
    found = effective_settings(settings, settings.config, own)[named.name]
    match found.source:
        case SettingSource.CONVERSATION:
            place = " in this conversation"
        case SettingSource.PAIR:
            place = f" with {settings.pair_id}"
        case SettingSource.FILE:
            place = " in all conversations"
        case SettingSource.BUILT_IN:
            return f"{capitalised(named.title)} is as built in: {named.default_words}."
        case _:
            place = f", {found.origin}"
    value = in_words(found) if found.value is None or isinstance(named.kind, Flag) else short(found.value)
    return f"{capitalised(named.title)} is {value}{place}."


def suggest_set(word: str, value: str) -> str:
    """A sentence with the /set that an unknown command was meant for; empty if no setting of a conversation fits."""
    named = find_key(word)
    if named is None or not named.per_conversation:
        return ""
    shown_value = value if value and len(value) <= _LONGEST_SHOWN else "VALUE"
    return f"/set {named.key} {shown_value} sets it."


def short(value: Value) -> str:
    """A value, cut to a few words; true and false are yes and no, as in the built-in values."""
    return shortened({True: "yes", False: "no"}[value] if isinstance(value, bool) else shown(value), _LONGEST_SHOWN)


def in_words(found: EffectiveSetting) -> str:
    """The value in force, as ``short`` words a flag."""
    if found.value is None or not isinstance(found.setting.kind, Flag):
        return found.words
    return short(found.setting.kind.read(found.words))


def _refused(settings: Settings, name: str) -> str:
    """The reason why the last resolving left a setting out; empty if it did not."""
    news = settings.problems[len(settings.config.problems) :]
    found = next((problem.what for problem in news if problem.what.startswith(f"{name}: ")), "")
    return found and f"{capitalised(found.partition(': ')[2])}."


def _behind_pair(text: str) -> str | None:
    """The text after the word ``pair``; None if it does not begin with that, or nothing follows."""
    first, rest = _first_word(text)
    return rest if first.lower() == PAIR and rest else None


def _first_word(text: str) -> tuple[str, str]:
    """The first word of a text, and what follows it, on its line or on others."""
    word, *rest = text.split(maxsplit=1) or [""]
    return word, rest[0].strip() if rest else ""


def _write(settings: Settings, own: Mapping[str, Value], named: Setting, value: Value | None) -> Changed:
    """Set a setting for the pair in the file, or unset it for None. Raises UsageError if it contradicts the rest."""
    pair = _pair(settings)
    before = settings.config

    def refuse_contradiction(changed: Config) -> None:
        settings.resolve(changed, own)
        if refused := _refused(settings, named.name_in(pair)):
            settings.resolve(before, own)
            raise UsageError(refused, f"{capitalised(named.title)} stays as it was.")

    config = write_value(named, value, pair, check=refuse_contradiction)
    chat_config = settings.resolve(config, own)
    what = f"no longer set for {pair}" if value is None else f"{short(value)} for {pair}, in {config.path.name}"
    if named.key in settings.overrides:
        also = "the command line beats it"
    elif named.name in own:
        also = "this conversation has its own"
    else:
        also = f"applies {named.applies}"
    return Changed(own, chat_config, f"{capitalised(named.title)} is {what}; {also}.")


def _pair(settings: Settings) -> str:
    """The id of the pair in use. Raises UsageError for files."""
    if settings.pair_id is None:
        raise UsageError("The files in use are not a pair.", "`localspec pairs add` makes one of them.")
    return settings.pair_id


def _describe_change(settings: Settings, named: Setting, value: Value | None) -> str:
    if named.key in settings.overrides:
        return f"The command line names {named.title}, which beats what a conversation sets."
    if value is None:
        return f"{describe_setting(settings, {}, named)[:-1]}, from the next reply on."
    return f"{capitalised(named.title)} is {short(value)} in this conversation, from the next reply on."


def _read_schema(path: str) -> str:
    text = read_setting(path_of(path))
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON that can be read: {error}.", "A JSON Schema is a JSON object.") from None
    return text
