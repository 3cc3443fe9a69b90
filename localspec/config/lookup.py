"""Settings found by the names that people type, and the settings that a conversation may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from localspec.base.errors import UsageError
from localspec.base.fuzzy import nearest
from localspec.config.kinds import RefusedValue, TextOrFile, Value
from localspec.config.setting import Setting
from localspec.config.table import SETTINGS, find_key, find_setting
from localspec.config.texts import require_text

_EITHER_OR = (
    {"sampling.grammar", "sampling.json_schema"},
    {"reply.system", "reply.persona"},
)
"""Settings of which a conversation has at most one: the one set last."""


def find_for_conversation(name: str) -> Setting:
    """A setting that conversations may have, as ``find_by_name``. Raises UsageError."""
    found = find_by_name(name, among=lambda setting: setting.per_conversation)
    if not found.per_conversation:
        where = f"/set pair {found.key} VALUE, or /settings." if found.per_pair else "/settings changes it."
        raise UsageError(f"{found.title.capitalize()} is the same for all conversations.", where)
    return found


def find_for_pair(name: str) -> Setting:
    """A setting that pairs may have, as ``find_by_name``. Raises UsageError."""
    found = find_by_name(name, among=lambda setting: setting.per_pair)
    if not found.per_pair:
        raise UsageError(f"{found.title.capitalize()} is the same for all pairs.", "Set it for all of them.")
    return found


def find_by_name(name: str, among: Callable[[Setting], bool] = lambda setting: True) -> Setting:
    """The setting of this key, which may have spaces or dashes, or its section before it.

    Raises UsageError, with names out of those ``among`` which it is sought as a hint.
    """
    section, _, key = name.strip().lower().lstrip("-").replace("-", "_").replace(" ", "_").rpartition(".")
    found = find_key(key)
    if found is None or section not in ("", found.section):
        chosen = [setting for setting in SETTINGS if among(setting)]
        others = {word.replace(" ", "_"): setting.key for setting in reversed(chosen) for word in setting.also}
        close = nearest(key, [*(setting.key for setting in chosen), *others])
        hint = f"Did you mean {others.get(close, close)}?" if close else "`localspec config show --all` lists them."
        raise UsageError(f"There is no setting {name!r}.", hint)
    return found


def read_typed(setting: Setting, text: str) -> Value:
    """The value of a typed text. Raises UsageError, InputError for one that is not UTF-8."""
    require_text(text, setting.title.capitalize())
    try:
        return setting.kind.read(text)
    except RefusedValue as refusal:
        raise UsageError(f"{setting.title.capitalize()}: {refusal}.", f"{setting.description}") from None


def with_setting(own: Mapping[str, Value], setting: Setting, value: Value | None) -> dict[str, Value]:
    """The settings of a conversation with one more, or without it for None."""
    displaced = {name for group in _EITHER_OR if setting.name in group for name in group}
    rest = {name: each for name, each in own.items() if name not in displaced and name != setting.name}
    return rest if value is None else rest | {setting.name: value}


def without_files(settings: Mapping[str, Value]) -> dict[str, Value]:
    """The settings but for those that have a file of this machine read, which a stranger may have written."""
    return {name: value for name, value in settings.items() if not _names_file(name, value)}


def _names_file(name: str, value: Value) -> bool:
    setting = find_setting(name)
    return setting is not None and isinstance(setting.kind, TextOrFile) and str(value).startswith("@")


def valid_settings(data: object) -> dict[str, Value]:
    """The settings in stored data that are valid here: another version may have written it."""
    checked: dict[str, Value] = {}
    for name, value in data.items() if isinstance(data, dict) else ():
        setting = find_setting(name) if isinstance(name, str) else None
        if setting is not None and setting.per_conversation:
            try:
                checked[setting.name] = setting.kind.check(value)
            except RefusedValue:
                continue
    return checked
