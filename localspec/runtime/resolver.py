"""The layers under a reply, and the resolving of what counts.

Overrides, such as the command line's, stand over the conversation, that over the pair's table in the file of settings,
that over the rest of the file, and all of it over what the pair recommends and what is built in. A setting gives way
where a layer above has something that it cannot stand beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from localspec.base.errors import LocalSpecError
from localspec.config import Config, Problem, Value, config_file, setting
from localspec.config.kinds import AUTO, NONE, OFF, OutFile
from localspec.config.presets import Preset
from localspec.engine.settings import MIROSTAT_IGNORES
from localspec.models.pairs import BUILTIN_ID
from localspec.runtime.building import DRAFT_SETTINGS, build_chat_config, is_elsewhere
from localspec.runtime.chat_config import ChatConfig, Layer

_FROM_BELOW = (Layer.ALL, Layer.PAIR, Layer.CONVERSATION)
_EMPTY: Mapping[str, Any] = MappingProxyType({})

Refused = frozenset[tuple[Layer, str]]
"""Settings that are left out, by layer and key."""
_NONE_REFUSED: Refused = frozenset()

_BY_PRESET = tuple(field.name for field in fields(Preset) if field.name != "about")
_MIROSTAT = ("mirostat", "mirostat_tau", "mirostat_eta")
_GRAMMAR = ("grammar", "json_schema", "grammar_triggers")
_DISPLACES: Mapping[str, tuple[str, ...]] = {
    "preset": (*_BY_PRESET, *_MIROSTAT),
    "mirostat": ("preset", *MIROSTAT_IGNORES, *_GRAMMAR),
    **dict.fromkeys(MIROSTAT_IGNORES, _MIROSTAT),
    "grammar": ("json_schema", *_MIROSTAT),
    "json_schema": ("grammar", *_MIROSTAT),
    "system": ("persona",),
    "persona": ("system",),
}
"""The settings of lower layers that one takes the place of, because it would contradict them."""


@dataclass(slots=True)
class _Latest:
    """The file as it was read last, shared by the resolvers of several pairs."""

    config: Config


@dataclass(frozen=True, slots=True)
class _Held:
    """A setting that counts, and the layer that sets it."""

    value: Value
    layer: Layer


class SettingsResolver:
    """Implements ``chat_config.Settings``: the overrides over the settings, resolved anew as often as those change."""

    def __init__(
        self,
        overrides: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any] = _EMPTY,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """``overrides`` are the values that beat all settings, ``defaults`` those that all settings beat.

        Both are as the kinds of the settings resolve them, by their keys; files in place of a pair are among them.
        Settings in ``without`` are not read from the file.
        """
        self._latest = _Latest(Config(config_file()))
        self.pair_id: str | None = None
        self.problems: tuple[Problem, ...] = ()
        self._overrides = dict(overrides)
        self._defaults = dict(defaults)
        self._without = without
        self._named_pair: str | None = self._overrides.get("pair")
        """The pair that the overrides name themselves."""

    @property
    def config(self) -> Config:
        """The file as it was read last, for this pair or another."""
        return self._latest.config

    @property
    def overrides(self) -> Mapping[str, str]:
        """As ``Settings.overrides``; a setting that an override displaces is "not used"."""
        below = _values(self._merge_layers(self.config, {}, _NONE_REFUSED, self.pair_id))
        words = dict.fromkeys(_displaced(self._overrides, below), "not used")
        words |= {key: _in_words(key, value) for key, value in self._overrides.items()}
        if self._overrides.get("connect") == NONE:
            del words["connect"]
        if self._named_pair is not None:
            return words | {"pair": self._named_pair}
        return {key: each for key, each in words.items() if key != "pair" or "target" in self._overrides}

    def for_pair(self, pair_id: str) -> SettingsResolver:
        if self._overrides.get("pair") == pair_id and not self._is_elsewhere:
            return self
        other = copy(self)
        other._overrides = _without_files(self._overrides) | {"pair": pair_id, "connect": NONE}
        other._defaults = _without_files(self._defaults)
        other.pair_id = pair_id
        return other

    @property
    def _is_elsewhere(self) -> bool:
        return is_elsewhere({"connect": self.config.values.get("model.connect")} | self._overrides)

    def layers(self, config: Config, conversation: Mapping[str, Value]) -> Mapping[str, Layer]:
        held = self._counting_with(config, conversation, _NONE_REFUSED, self.pair_id)
        of_screen = (name for name in config.values if not setting(_key(name)).option)
        return dict.fromkeys(of_screen, Layer.ALL) | {setting(key).name: each.layer for key, each in held.items()}

    def resolve(self, config: Config, conversation: Mapping[str, Value] | None = None) -> ChatConfig:
        """As ``Settings.resolve``: a setting that contradicts the rest is left out, and added to ``problems``.

        Raises LocalSpecError for mistakes in the overrides themselves.
        """
        self._latest.config = config
        problems = list(config.problems)
        refused = _NONE_REFUSED
        while True:
            held = self._counting(config, conversation or {}, refused)
            try:
                chat_config = self._chat_config(held)
            except LocalSpecError as error:
                culprit = self._culprit(held, error)
                problems.append(self._problem(held, culprit, error))
                refused |= {(held[culprit].layer, culprit)}
            else:
                self.pair_id, self.problems = chat_config.pair_id, tuple(problems)
                return replace(chat_config, settings=self)

    def _counting(self, config: Config, conversation: Mapping[str, Value], refused: Refused) -> dict[str, _Held]:
        """The settings that count, by key, without those that were ``refused``, for the pair that they name."""
        general = self._counting_with(config, conversation, refused, None)
        return self._counting_with(config, conversation, refused, self._pair(general))

    def _counting_with(
        self, config: Config, conversation: Mapping[str, Value], refused: Refused, pair: str | None
    ) -> dict[str, _Held]:
        """The settings that count for this pair, or for none: of all layers, those that no override displaces."""
        held = self._merge_layers(config, conversation, refused, pair)
        gone = _displaced(self._overrides, _values(held))
        return {key: each for key, each in held.items() if key not in gone}

    def _merge_layers(
        self, config: Config, conversation: Mapping[str, Value], refused: Refused, pair: str | None
    ) -> dict[str, _Held]:
        """The settings of all layers, as if there were no overrides."""
        of_pair = {} if pair is None else config.of_pair(pair)
        held: dict[str, _Held] = {}
        for layer, values in zip(_FROM_BELOW, (config.values, of_pair, conversation), strict=True):
            keyed = {key: _Held(value, layer) for key, value in self._by_key(values).items()}
            upper = {key: each for key, each in keyed.items() if (layer, key) not in refused}
            gone = _displaced(_values(upper), _values(held))
            held = {key: each for key, each in held.items() if key not in gone} | upper
        return held

    def _pair(self, held: Mapping[str, _Held]) -> str | None:
        """The id of the pair; None if files are named, or a server."""
        values = self._defaults | _values(held) | self._overrides
        here = values.get("target") is None and not is_elsewhere(values)
        return values.get("pair") or BUILTIN_ID if here else None

    def _by_key(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The settings of a layer, by key, that make a ``ChatConfig``."""
        keyed = {_key(name): value for name, value in values.items()}
        return {key: value for key, value in keyed.items() if setting(key).option and key not in self._without}

    def _chat_config(self, held: Mapping[str, _Held]) -> ChatConfig:
        folder = self.config.path.parent
        resolved = {key: setting(key).kind.resolve(each.value, folder) for key, each in held.items()}
        values = self._defaults | resolved | self._overrides
        if is_elsewhere(values) and "pair" not in self._overrides:
            values["pair"] = None  # the file names one of this machine
        return build_chat_config(values)

    def _culprit(self, held: Mapping[str, _Held], error: LocalSpecError) -> str:
        """The setting that causes the error: of several the one of the lowest layer, and there the last.

        Raises ``error`` if no setting does.
        """

        def order(name: str) -> tuple[int, int]:
            return _FROM_BELOW.index(held[name].layer), -(self._line(held, name) or 0)

        for name in sorted(held, key=order):
            rest = {other: each for other, each in held.items() if other != name}
            try:
                self._chat_config(rest)
            except LocalSpecError as still:
                if still.message == error.message:
                    continue
            return name
        raise error

    def _problem(self, held: Mapping[str, _Held], culprit: str, error: LocalSpecError) -> Problem:
        pair = self._pair(held) if held[culprit].layer is Layer.PAIR else None
        name = setting(culprit).name_in(pair)
        what = f"{error.message[:1].lower()}{error.message[1:].rstrip('.')}"
        return Problem(self.config.path, self._line(held, culprit), f"{name}: {what}")

    def _line(self, held: Mapping[str, _Held], name: str) -> int | None:
        """Its line in the file; None if a conversation sets it."""
        match held[name].layer:
            case Layer.CONVERSATION:
                return None
            case Layer.PAIR:
                return self.config.line(setting(name), self._pair(held))
            case _:
                return self.config.line(setting(name))


def _without_files(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in ("target", "draft", "projector")}


def _key(name: str) -> str:
    return name.rpartition(".")[2]


def _values(held: Mapping[str, _Held]) -> dict[str, Value]:
    return {key: each.value for key, each in held.items()}


def _displaced(upper: Mapping[str, Any], lower: Mapping[str, Value]) -> set[str]:
    """The settings that the ``upper`` layer displaces, of those in ``lower`` layers and the built-in ones."""
    gone = set(upper)
    for key, value in upper.items():
        if key != "mirostat" or value:
            gone.update(_DISPLACES.get(key, ()))
    if upper.get("target") is not None:
        gone |= {"connect"}
        gone |= {"pair"} if upper.get("draft") is not None else {"pair", "spec", *DRAFT_SETTINGS}
    if upper.get("depth") not in (None, 0, AUTO) and lower.get("spec") == OFF:
        gone.add("spec")
    if upper.get("spec") in ((), OFF):
        gone.add("depth")
    return gone


def _in_words(key: str, value: object) -> str:
    """The value of an override, as a person would type it."""
    if value is None and isinstance(setting(key).kind, OutFile):
        return NONE
    if value is None or value == ():
        return OFF if key == "spec" and value == () else AUTO
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
