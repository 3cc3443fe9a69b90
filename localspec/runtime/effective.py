"""The values of settings that count, and the places they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from localspec.base.errors import LocalSpecError
from localspec.config import SETTINGS, Config, Problem, Setting, Value, setting
from localspec.config.kinds import shown
from localspec.config.presets import PRESETS
from localspec.models.pairs import BUILTIN_ID, Pair, load_catalogue
from localspec.runtime.chat_config import Layer
from localspec.runtime.resolver import SettingsResolver


class Source(StrEnum):
    """The place a value comes from, as in ``--json``."""

    FILE = "file"
    FOR_PAIR = "pair"
    PRESET = "preset"
    RECOMMENDED = "recommended"
    BUILT_IN = "built in"


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting with the value that counts."""

    setting: Setting
    value: Value | None
    """None for the built-in one."""
    source: Source
    line: int | None = None
    """Its line in the file, if it stands there."""

    @property
    def text(self) -> str:
        """A line about it, as in the file, and where it comes from."""
        if self.value is None:
            return f"{self.setting.key}: {self.setting.default_words}"
        return f"{self.setting.key} = {shown(self.value)}  ({self.origin})"

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        match self.source:
            case Source.FILE:
                return f"line {self.line}"
            case Source.FOR_PAIR:
                return f"line {self.line}, for this pair"
            case Source.PRESET:
                return "by the preset"
            case Source.RECOMMENDED:
                return "recommended by the pair"
            case Source.BUILT_IN:
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


def effective_settings(config: Config, pair: str) -> list[EffectiveSetting]:
    """Every setting, as it counts with this pair, which need not be in the catalogue any more."""
    layers = SettingsResolver({}).for_pair(pair).layers(config, {})
    catalogued = next((each for each in load_catalogue().pairs if each.id == pair), None)
    return [_effective(each, config, pair, layers, catalogued) for each in SETTINGS]


def general_settings(config: Config) -> list[EffectiveSetting]:
    """The settings that the file has for all pairs."""
    there = [each for each in SETTINGS if each.name in config.values]
    return [EffectiveSetting(each, config.values[each.name], Source.FILE, config.line(each)) for each in there]


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


def _effective(
    setting: Setting, config: Config, pair: str, layers: Mapping[str, Layer], catalogued: Pair | None
) -> EffectiveSetting:
    value = _held(config, pair, layers, setting)
    if value is not None:
        if layers[setting.name] is Layer.PAIR:
            return EffectiveSetting(setting, value, Source.FOR_PAIR, config.line(setting, pair))
        return EffectiveSetting(setting, value, Source.FILE, config.line(setting))
    if setting.section == "sampling":
        preset = PRESETS.get(str(_held(config, pair, layers, _PRESET)))
        for source, values in ((Source.PRESET, preset), (Source.RECOMMENDED, catalogued and catalogued.sampling)):
            value = getattr(values, setting.key, None)
            if value is not None:
                return EffectiveSetting(setting, value, source)
    return EffectiveSetting(setting, pair if setting.key == "pair" and pair != BUILTIN_ID else None, Source.BUILT_IN)


_PRESET = setting("preset")


def _held(config: Config, pair: str, layers: Mapping[str, Layer], setting: Setting) -> Value | None:
    """The value in the file that counts, or None."""
    match layers.get(setting.name):
        case Layer.PAIR:
            return config.of_pair(pair)[setting.name]
        case Layer.ALL:
            return config.values[setting.name]
    return None
