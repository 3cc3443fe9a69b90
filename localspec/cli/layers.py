"""The layers under a reply: what is set where, and what of it counts.

The command line stands over the conversation, that over the pair's table in the file of settings, that over the rest
of the file, and all of it over what the pair recommends and what is built in. A setting of the file is exactly
the default of the option of its name: it passes through the option itself, and gives way where something above says
what it cannot stand beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from localspec.base.errors import LocalSpecError
from localspec.cli.options import GivenOptions
from localspec.cli.report import remark
from localspec.config import Config, Problem, Value, config_file, setting
from localspec.config.file import text_of
from localspec.config.kinds import AUTO, TextOrFile
from localspec.config.pair_table import name_in
from localspec.config.record_kinds import NONE, OutFile
from localspec.engine.settings import MIROSTAT_IGNORES
from localspec.models.pairs import BUILTIN_ID
from localspec.runtime.chat_config import Layer

if TYPE_CHECKING:
    from localspec.runtime.chat_config import ChatConfig

_NOTHING: frozenset[str] = frozenset()
_OFF = "off"
_FROM_BELOW = (Layer.ALL, Layer.PAIR, Layer.CONVERSATION)

Refused = frozenset[tuple[Layer, str]]
"""Settings that are left out, by who sets them and the option."""
_NONE_REFUSED: Refused = frozenset()
_DRAFT_ALONE = ("draft_threads", "draft_gpu_layers", "draft_device")
_OUTLETS = ("metrics", "audit_log")
_PRESET = ("temperature", "top_k", "top_p", "min_p")
_MIROSTAT = ("mirostat", "mirostat_tau", "mirostat_eta")
_GRAMMAR = ("grammar", "json_schema", "grammar_triggers")

_GIVES_WAY: Mapping[str, tuple[str, ...]] = {
    "preset": (*_PRESET, *_MIROSTAT),
    "mirostat": ("preset", *MIROSTAT_IGNORES, *_GRAMMAR),
    **dict.fromkeys(MIROSTAT_IGNORES, _MIROSTAT),
    "grammar": ("json_schema", *_MIROSTAT),
    "json_schema": ("grammar", *_MIROSTAT),
    "system": ("persona",),
    "persona": ("system",),
}
"""What an option says in place of settings that it would contradict."""


@dataclass(slots=True)
class _Last:
    """What layers for several pairs share."""

    config: Config


@dataclass(frozen=True, slots=True)
class _Held:
    """A setting that counts."""

    value: Value
    layer: Layer


class SettingsResolver:
    """The options as given, laid over the settings as often as those change; see ``chat_config.Settings``."""

    def __init__(self, context: click.Context, given: Mapping[str, Any], *, without: frozenset[str] = _NOTHING) -> None:
        """``given`` has a value for each field of ``GivenOptions``; those in ``without`` are not read from the file."""
        names = {field.name for field in fields(GivenOptions)}
        self._last = _Last(Config(config_file()))
        self.pair_id: str | None = None
        self.problems: tuple[Problem, ...] = ()
        self._context = context
        self._options = {option.name: option for option in context.command.params if option.name in names}
        self._built_in = {name: given[name] for name in names}
        self._said = {
            name: given[name] for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        self._without = without
        self._line_pair: str | None = self._said.get("pair")
        """What the command line itself calls the pair."""
        if given.get("system") is not None and given.get("persona") is not None:
            remark("--system stands in place of --persona.")

    @property
    def config(self) -> Config:
        """The file as it was read last, for this pair or another."""
        return self._last.config

    @property
    def overrides(self) -> Mapping[str, str]:
        """The settings that the command line has the say over, with the value it gives them, in words."""
        below = _values(self._stacked(self.config, {}, _NONE_REFUSED, self.pair_id))
        said = dict.fromkeys(_displaced(self._said, below), "not used")
        said |= {name: _worded(name, value) for name, value in self._said.items()}
        if self._line_pair is not None:
            return said | {"pair": self._line_pair}
        return {name: words for name, words in said.items() if name != "pair" or "target" in self._said}

    def for_pair(self, pair_id: str) -> SettingsResolver:
        """The same, but for this pair, whatever the command line and the file name."""
        if self._said.get("pair") == pair_id:
            return self
        other = copy(self)
        named = {"pair": pair_id, "target": None, "draft": None}
        other._said = {**{name: value for name, value in self._said.items() if name not in named}, "pair": pair_id}
        other._built_in = self._built_in | named
        other.pair_id = pair_id
        return other

    def layers(self, config: Config, conversation: Mapping[str, Value]) -> Mapping[str, Layer]:
        """As ``Settings.layers``."""
        held = self._layered(config, conversation, _NONE_REFUSED, self.pair_id)
        of_screen = (name for name in config.values if not setting(_key(name)).option)
        return dict.fromkeys(of_screen, Layer.ALL) | {setting(key).name: each.layer for key, each in held.items()}

    def resolve(self, config: Config, conversation: Mapping[str, Value] | None = None) -> ChatConfig:
        """What is to be loaded and replied with.

        What of the file cannot be used with the rest is left out, and added to ``problems``. Raises
        LocalSpecError for the command line's own mistakes.
        """
        self._last.config = config
        problems = list(config.problems)
        refused = _NONE_REFUSED
        while True:
            held = self._under(config, conversation or {}, refused)
            try:
                chat_config = self._chat_config(held)
            except LocalSpecError as error:
                culprit = self._culprit(held, error)
                problems.append(self._problem(held, culprit, error))
                refused |= {(held[culprit].layer, culprit)}
            else:
                self.pair_id, self.problems = chat_config.pair_id, tuple(problems)
                return replace(chat_config, settings=self)

    def _under(self, config: Config, conversation: Mapping[str, Value], refused: Refused) -> dict[str, _Held]:
        """What counts of all that the command line stands over, by the option; nothing that was ``refused``."""
        general = self._layered(config, conversation, refused, None)
        return self._layered(config, conversation, refused, self._pair(general))

    def _layered(
        self, config: Config, conversation: Mapping[str, Value], refused: Refused, pair: str | None
    ) -> dict[str, _Held]:
        """The same for this pair, or for none."""
        held = self._stacked(config, conversation, refused, pair)
        gone = _displaced(self._said, _values(held))
        return {key: each for key, each in held.items() if key not in gone}

    def _stacked(
        self, config: Config, conversation: Mapping[str, Value], refused: Refused, pair: str | None
    ) -> dict[str, _Held]:
        """The same, as if the command line said nothing."""
        of_pair = {} if pair is None else config.of_pair(pair)
        held: dict[str, _Held] = {}
        for layer, values in zip(_FROM_BELOW, (config.values, of_pair, conversation), strict=True):
            keyed = {key: _Held(value, layer) for key, value in self._keyed(values).items()}
            upper = {key: each for key, each in keyed.items() if (layer, key) not in refused}
            gone = _displaced(_values(upper), _values(held))
            held = {key: each for key, each in held.items() if key not in gone} | upper
        return held

    def _pair(self, held: Mapping[str, _Held]) -> str | None:
        """The id of the pair that is meant; None if files are."""
        options = self._built_in | _values(held) | self._said
        return None if options["target"] is not None else options["pair"] or BUILTIN_ID

    def _keyed(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Settings that are options, by the option."""
        keyed = {_key(name): value for name, value in values.items()}
        return {key: value for key, value in keyed.items() if setting(key).option and key not in self._without}

    def _chat_config(self, held: Mapping[str, _Held]) -> ChatConfig:
        from localspec.cli.resolve import resolve

        settings = {name: self._converted(name, each.value) for name, each in held.items()}
        return resolve(GivenOptions(**(self._built_in | settings | self._said)))

    def _converted(self, name: str, value: Value) -> Any:
        """A setting as its option would have it."""
        if isinstance(setting(name).kind, TextOrFile):
            return text_of(value, self.config.path.parent)
        if isinstance(setting(name).kind, OutFile) and isinstance(value, str) and value != NONE:
            # Beside the file of settings, wherever the program is called.
            value = value if value.startswith("~") else str(self.config.path.parent / value)
        if name == "dry_sequence_breakers" and not value:
            value = ("none",)
        return self._options[name].process_value(self._context, value)

    def _culprit(self, held: Mapping[str, _Held], error: LocalSpecError) -> str:
        """The setting without which there would be no such error, of several the lowest, and there the last.

        Raises ``error`` if there is none.
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
        name = name_in(setting(culprit), pair)
        what = f"{error.message[:1].lower()}{error.message[1:].rstrip('.')}"
        return Problem(self.config.path, self._line(held, culprit), f"{name}: {what}")

    def _line(self, held: Mapping[str, _Held], name: str) -> int | None:
        """Where it stands in the file; None if a conversation sets it."""
        match held[name].layer:
            case Layer.CONVERSATION:
                return None
            case Layer.PAIR:
                return self.config.line(setting(name), self._pair(held))
            case _:
                return self.config.line(setting(name))


def _key(name: str) -> str:
    return name.rpartition(".")[2]


def _values(held: Mapping[str, _Held]) -> dict[str, Value]:
    return {key: each.value for key, each in held.items()}


def _displaced(said: Mapping[str, Any], below: Mapping[str, Value]) -> set[str]:
    """The settings that what was said leaves no place for, of those ``below`` and whatever is built in."""
    gone = set(said)
    for name, value in said.items():
        if name != "mirostat" or value:
            gone.update(_GIVES_WAY.get(name, ()))
    if said.get("target") is not None:
        gone |= {"pair"} if said.get("draft") is not None else {"pair", "spec", *_DRAFT_ALONE}
    if said.get("depth") not in (None, 0, AUTO) and below.get("spec") == _OFF:
        gone.add("spec")
    if said.get("spec") in ((), _OFF):
        gone.add("depth")
    return gone


def _worded(name: str, value: object) -> str:
    """The value of an option in words."""
    if value is None and name in _OUTLETS:
        return NONE
    if value is None or value == ():
        return "off" if name == "spec" and value == () else "auto"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def lay(given: Mapping[str, Any], *, without: frozenset[str] = _NOTHING) -> SettingsResolver:
    """The layers of the command being run."""
    return SettingsResolver(click.get_current_context(), given, without=without)


def print_problems(layers: SettingsResolver) -> None:
    """Say on standard error what is left out."""
    for problem in layers.problems:
        remark(f"{problem} It is left out.")
