"""What of the settings counts with a pair, and where each value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localspec.config import SETTINGS, Config, Problem, Setting, Value
from localspec.config.kinds import shown
from localspec.config.pair_table import can_be_of_pair
from localspec.config.presets import PRESETS
from localspec.models.pairs import BUILTIN_ID
from localspec.runtime.chat_config import Layer

if TYPE_CHECKING:
    from localspec.cli.layers import SettingsResolver
    from localspec.models.pairs import Pair

_OF_RUN_ALONE = ("words", "raw", "as_json", "explain", "marks")
_PRESET = "sampling.preset"

FILE, FOR_PAIR, BY_PRESET, RECOMMENDED, BUILT_IN = "file", "pair", "preset", "recommended", "built in"
"""Where values come from, as in ``--json``."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A setting as it counts."""

    setting: Setting
    value: Value | None
    """None for what is built in."""
    source: str
    line: int | None = None
    """Of the file, if it stands there."""

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
            case "file":
                return f"line {self.line}"
            case "pair":
                return f"line {self.line}, for this pair"
            case "preset":
                return "by the preset"
            case "recommended":
                return "recommended by the pair"
        return "built in"

    def to_dict(self) -> dict[str, Any]:
        """As in ``--json``."""
        return {
            "name": self.setting.name,
            "value": self.value,
            "source": self.source,
            "line": self.line,
            "default": self.setting.default,
            "form": self.setting.kind.form,
            "about": self.setting.description,
            "applies": str(self.setting.applies),
            "per_pair": can_be_of_pair(self.setting),
        }


def standings(config: Config, pair: str) -> list[Standing]:
    """Every setting as it counts with this pair, which need not be there any more."""
    layers = bare_layers().for_pair(pair).layers(config, {})
    known = {each.id: each for each in _catalogued()}.get(pair)
    preset = _held(config, pair, layers, _PRESET)
    return [_standing(config, pair, layers, each, known, str(preset or "")) for each in SETTINGS]


def generally(config: Config) -> list[Standing]:
    """What the file has for all pairs."""
    there = [each for each in SETTINGS if each.name in config.values]
    return [Standing(each, config.values[each.name], FILE, config.line(each)) for each in there]


def set_pair(config: Config) -> str:
    """The pair that is used where none is named."""
    return str(config.values.get("model.pair", BUILTIN_ID))


def strangers(config: Config) -> list[str]:
    """Pairs that have a table in the file and are not there."""
    known = {each.id for each in _catalogued()}
    return [pair for pair in config.pairs if pair not in known]


def problems_of(config: Config) -> list[Problem]:
    """All mistakes in the order of the lines: those of single settings, of settings together, and of keys.

    Of settings together as far as they are used: with the pair that is set, and with each that has a table and is here.
    """
    from localspec.base.errors import LocalSpecError
    from localspec.chat.commands.keymap import resolve_keymap

    layers = bare_layers()
    layers.resolve(config)
    found = [*layers.problems, *resolve_keymap(config).problems]
    for pair in config.pairs:
        of_pair = layers.for_pair(pair)
        try:
            of_pair.resolve(config)
        except LocalSpecError:
            continue
        found += of_pair.problems
    return sorted(dict.fromkeys(found), key=lambda problem: problem.line or 0)


def bare_layers() -> SettingsResolver:
    """Of a command line that says nothing."""
    from localspec.cli.layers import SettingsResolver
    from localspec.cli.run import run

    with run.make_context("localspec run", ["-"]) as context:
        given = {name: value for name, value in context.params.items() if name not in _OF_RUN_ALONE}
        return SettingsResolver(context, given)


def _standing(
    config: Config, pair: str, layers: Mapping[str, Layer], setting: Setting, known: Pair | None, preset: str
) -> Standing:
    layer = layers.get(setting.name)
    if layer is Layer.PAIR:
        return Standing(setting, config.of_pair(pair)[setting.name], FOR_PAIR, config.line(setting, pair))
    if layer is Layer.ALL:
        return Standing(setting, config.values[setting.name], FILE, config.line(setting))
    if setting.section == "sampling":
        for source, wishes in ((BY_PRESET, PRESETS.get(preset)), (RECOMMENDED, known and known.sampling)):
            value: Value | None = getattr(wishes, setting.key, None)
            if value is not None:
                return Standing(setting, value, source)
    if setting.name == "model.pair":
        return Standing(setting, pair, BUILT_IN) if pair != BUILTIN_ID else Standing(setting, None, BUILT_IN)
    return Standing(setting, None, BUILT_IN)


def _held(config: Config, pair: str, layers: Mapping[str, Layer], name: str) -> Value | None:
    values = {Layer.PAIR: config.of_pair(pair), Layer.ALL: config.values}
    layer = layers.get(name)
    return None if layer is None else values[layer].get(name)


def _catalogued() -> Iterator[Pair]:
    from localspec.models.pairs import load_catalogue

    yield from load_catalogue().pairs
