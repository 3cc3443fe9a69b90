"""What a conversation can set for itself, over the file of settings and under the command line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from localspec.config.kinds import RefusedValue, Value
from localspec.config.setting import Applies, Setting
from localspec.config.table import SETTINGS, find_setting
from localspec.errors import UsageError

_EITHER_OR = (
    {"sampling.grammar", "sampling.json_schema"},
    {"reply.system", "reply.persona"},
)
"""Settings of which a conversation has one at most: the one set last."""


def can_be_own(setting: Setting) -> bool:
    """Whether a conversation may differ in it: it is about replies, and nothing has to be loaded for it."""
    return setting.option and setting.applies is Applies.REPLY


def find_own(name: str) -> Setting:
    """The setting that somebody means by its key, with spaces, dashes or its section. Raises UsageError."""
    key = name.strip().lower().lstrip("-").replace("-", "_").replace(" ", "_").rpartition(".")[2]
    there = {setting.key: setting for setting in SETTINGS}
    found = there.get(key)
    own = [setting.key for setting in SETTINGS if can_be_own(setting)]
    if found is None:
        close = get_close_matches(key, own, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(own[:6])}, and others of /settings."
        raise UsageError(f"There is no setting {name!r}.", hint)
    if not can_be_own(found):
        raise UsageError(f"{found.title.capitalize()} is the same for all conversations.", "/settings changes it.")
    return found


def read_own(setting: Setting, text: str) -> Value:
    """The value that somebody typed. Raises UsageError."""
    try:
        return setting.kind.read(text)
    except RefusedValue as refusal:
        raise UsageError(f"{setting.title.capitalize()}: {refusal}.", f"{setting.description}") from None


def with_own(own: Mapping[str, Value], setting: Setting, value: Value | None) -> dict[str, Value]:
    """A conversation's settings with one more, or without it for None."""
    displaced = {name for group in _EITHER_OR if setting.name in group for name in group}
    rest = {name: each for name, each in own.items() if name not in displaced and name != setting.name}
    return rest if value is None else rest | {setting.name: value}


def checked_own(data: object) -> dict[str, Value]:
    """What of stored settings can be used: another LocalSpec may have written them."""
    checked: dict[str, Value] = {}
    for name, value in data.items() if isinstance(data, dict) else ():
        setting = find_setting(name) if isinstance(name, str) else None
        if setting is not None and can_be_own(setting):
            try:
                checked[setting.name] = setting.kind.check(value)
            except RefusedValue:
                continue
    return checked
