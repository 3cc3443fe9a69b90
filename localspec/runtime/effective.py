"""The values of settings that count, and the places they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from localspec.base.errors import LocalSpecError
from localspec.config import SETTINGS, Config, Problem, Setting, Value, find_setting, setting
from localspec.config.kinds import shown
from localspec.config.presets import PRESETS, Preset
from localspec.models.pairs import BUILTIN_ID, RecommendedSampling, load_catalogue
from localspec.runtime.chat_config import Layer, Settings
from localspec.runtime.resolver import SettingsResolver


class SettingSource(StrEnum):
    """The place a value comes from, as in ``--json``."""

    OVERRIDE = "command line"
    CONVERSATION = "conversation"
    PAIR = "pair"
    FILE = "file"
    PRESET = "preset"
    RECOMMENDED = "recommended"
    BUILT_IN = "built in"


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting with the value that counts."""

    setting: Setting
    value: Value | None
    """None for the built-in one; of an override the value in words."""
    source: SettingSource
    line: int | None = None
    """Its line in the file, if it stands there."""

    @property
    def words(self) -> str:
        """The value as a person would type it; the built-in one in words."""
        return self.setting.default_words if self.value is None else shown(self.value)

    @property
    def text(self) -> str:
        """A line about it, as in the file, and where it comes from."""
        if self.value is None:
            return f"{self.setting.key}: {self.words}"
        return f"{self.setting.key} = {self.words}  ({self.origin})"

    @property
    def origin(self) -> str:
        """The place it comes from, in words."""
        match self.source:
            case SettingSource.OVERRIDE:
                return "by the command line"
            case SettingSource.CONVERSATION:
                return "by this conversation"
            case SettingSource.PAIR:
                return f"line {self.line}, for this pair"
            case SettingSource.FILE:
                return f"line {self.line}"
            case SettingSource.PRESET:
                return "by the preset"
            case SettingSource.RECOMMENDED:
                return "recommended by the pair"
            case SettingSource.BUILT_IN:
                return "built in"

    def to_dict(self) -> dict[str, Any]:
        """As in ``--json``."""
        return {
            "name": self.setting.name,
            "value": self.value,
            "source": str(self.source),
            "line": self.line,
            "default": self.setting.default,
            "form": self.setting.kind.form,
            "about": self.setting.description,
            "applies": str(self.setting.applies),
            "per_pair": self.setting.per_pair,
        }


def effective_settings(
    settings: Settings, config: Config, conversation: Mapping[str, Value]
) -> Mapping[str, EffectiveSetting]:
    """Every setting by its name, for this file and conversation, and the pair that was resolved last."""
    overrides = settings.overrides
    found: dict[str, EffectiveSetting] = {}
    for name, layer in settings.layers(config, conversation).items():
        own = find_setting(name)
        if own is not None:
            found[name] = _in_layer(own, layer, settings.pair_id, config, conversation)
    for each in SETTINGS:
        if each.option and each.key in overrides:
            found[each.name] = EffectiveSetting(each, overrides[each.key], SettingSource.OVERRIDE)
    preset = PRESETS.get(str(found[_PRESET.name].value)) if _PRESET.name in found else None
    recommended = _recommended(settings.pair_id)
    for each in SETTINGS:
        if each.name not in found:
            found[each.name] = _below(each, settings.pair_id, preset, recommended)
    return {each.name: found[each.name] for each in SETTINGS}


def settings_of_pair(config: Config, pair: str) -> list[EffectiveSetting]:
    """Every setting as it counts with this pair, which need not be in the catalogue any more."""
    counting = effective_settings(SettingsResolver({}).for_pair(pair), config, {})
    chosen = {each.setting.name: each for each in general_settings(config) if each.setting.name in _CHOICE_OF_PAIR}
    return list({**counting, **chosen}.values())


def general_settings(config: Config) -> list[EffectiveSetting]:
    """The settings that the file has for all pairs."""
    there = [each for each in SETTINGS if each.name in config.values]
    return [EffectiveSetting(each, config.values[each.name], SettingSource.FILE, config.line(each)) for each in there]


def set_pair(config: Config) -> str:
    """The pair that is used where none is named."""
    return str(config.values.get("model.pair", BUILTIN_ID))


def unknown_pairs(config: Config) -> list[str]:
    """The pairs that have a table in the file and are not in the catalogue."""
    known = {each.id for each in load_catalogue().pairs}
    return [pair for pair in config.pairs if pair not in known]


def setting_problems(config: Config) -> list[Problem]:
    """The mistakes in single settings and in settings together.

    Settings together are checked as far as they are used: with the pair that is set, and with each that has a table
    and is in the catalogue.
    """
    resolver = SettingsResolver({})
    resolver.resolve(config)
    found = [*resolver.problems]
    for pair in config.pairs:
        for_pair = resolver.for_pair(pair)
        try:
            for_pair.resolve(config)
        except LocalSpecError:
            continue
        found += for_pair.problems
    return found


_CHOICE_OF_PAIR = ("model.pair", "model.connect")
"""The settings that choose the pair; for a given one the resolver overrides them."""
_PRESET = setting("preset")


def _in_layer(
    setting: Setting, layer: Layer, pair: str | None, config: Config, conversation: Mapping[str, Value]
) -> EffectiveSetting:
    if layer is Layer.CONVERSATION:
        return EffectiveSetting(setting, conversation[setting.name], SettingSource.CONVERSATION)
    of_pair = pair if layer is Layer.PAIR else None
    value = config.of_pair(of_pair)[setting.name]
    return EffectiveSetting(
        setting, value, SettingSource.FILE if of_pair is None else SettingSource.PAIR, config.line(setting, of_pair)
    )


def _below(
    setting: Setting, pair: str | None, preset: Preset | None, recommended: RecommendedSampling | None
) -> EffectiveSetting:
    """The value of a setting that no layer sets."""
    if setting.section == "sampling":
        for source, values in ((SettingSource.PRESET, preset), (SettingSource.RECOMMENDED, recommended)):
            value = getattr(values, setting.key, None)
            if value is not None:
                return EffectiveSetting(setting, value, source)
    named = pair if setting.name == "model.pair" and pair != BUILTIN_ID else None
    return EffectiveSetting(setting, named, SettingSource.BUILT_IN)


def _recommended(pair: str | None) -> RecommendedSampling | None:
    """The values that the makers of a pair recommend; None of no pair, or if the catalogue cannot be read."""
    try:
        return next((each.sampling for each in load_catalogue().pairs if each.id == pair), None)
    except LocalSpecError:
        return None
