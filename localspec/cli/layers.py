"""The layers under a reply: the command line over the conversation over the file of settings over what is built in.

A setting of the file is exactly the default of the option of its name: it passes through the option itself,
and gives way where the command line says something it cannot stand beside.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from localspec.cli.options import Chosen
from localspec.config import Config, Problem, Value, config_file, setting
from localspec.config.file import text_of
from localspec.config.kinds import AUTO, TextOrFile
from localspec.config.record_kinds import NONE, OutFile
from localspec.engine.settings import MIROSTAT_IGNORES
from localspec.errors import LocalSpecError

if TYPE_CHECKING:
    from localspec.launch import Launch

_NOTHING: frozenset[str] = frozenset()
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


class Layers:
    """The command line as given, ready to be laid over settings as often as those change; see ``launch.Settings``."""

    def __init__(self, context: click.Context, given: Mapping[str, Any], *, without: frozenset[str] = _NOTHING) -> None:
        """``given`` has a value for every field of ``Chosen``; the file says nothing for the options in ``without``."""
        names = {field.name for field in fields(Chosen)}
        self._last = _Last(Config(config_file()))
        self.problems: tuple[Problem, ...] = ()
        self._context = context
        self._options = {option.name: option for option in context.command.params if option.name in names}
        self._built_in = {name: given[name] for name in names}
        self._said = {
            name: given[name] for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        self._without = without
        if given.get("system") is not None and given.get("persona") is not None:
            print("localspec: --system stands in place of --persona.", file=sys.stderr)

    @property
    def config(self) -> Config:
        """The file as it was read last, for this pair or another."""
        return self._last.config

    @property
    def said(self) -> Mapping[str, str]:
        """The settings that the command line has the say over, with the value it gives them, in words."""
        return dict.fromkeys(_displaced(self._said), "not used") | {
            name: _worded(name, value) for name, value in self._said.items()
        }

    def for_pair(self, pair_id: str) -> Layers:
        """The same, but for another pair than the command line and the file name."""
        other = copy(self)
        named = {"pair": pair_id, "target": None, "draft": None}
        other._said = {**{name: value for name, value in self._said.items() if name not in named}, "pair": pair_id}
        other._built_in = self._built_in | named
        return other

    def settle(self, config: Config, conversation: Mapping[str, Value] | None = None) -> Launch:
        """What is to be loaded and replied with.

        What of the file cannot be used with the rest is left out, and added to ``problems``. Raises
        LocalSpecError for the command line's own mistakes.
        """
        self._last.config = config
        own, here = self._keyed(conversation or {}), self._keyed(config.values)
        layered = {name: value for name, value in here.items() if name not in _displaced(own)} | own
        layered = {name: value for name, value in layered.items() if name not in _displaced(self._said)}
        problems = list(config.problems)
        while True:
            try:
                launch = self._launch(layered)
            except LocalSpecError as error:
                culprit = self._culprit(layered, error)
                problems.append(config.problem(setting(culprit).name, _sentence(culprit, error)))
                del layered[culprit]
            else:
                self.problems = tuple(problems)
                return replace(launch, settings=self)

    def _keyed(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Settings that are options, by the option."""
        keyed = {name.rpartition(".")[2]: value for name, value in values.items()}
        return {key: value for key, value in keyed.items() if setting(key).option and key not in self._without}

    def _launch(self, layered: Mapping[str, Value]) -> Launch:
        from localspec.cli.resolve import resolve

        settings = {name: self._converted(name, value) for name, value in layered.items()}
        return resolve(Chosen(**(self._built_in | settings | self._said)))

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

    def _culprit(self, layered: Mapping[str, Value], error: LocalSpecError) -> str:
        """The setting without which there would be no such error, of several the one that stands last.

        Raises ``error`` if there is none.
        """
        for name in sorted(layered, key=lambda name: -self.config.lines.get(setting(name).name, 0)):
            rest = {other: value for other, value in layered.items() if other != name}
            try:
                self._launch(rest)
            except LocalSpecError as still:
                if still.message == error.message:
                    continue
            return name
        raise error


def _displaced(said: Mapping[str, Any]) -> set[str]:
    """The settings that what was said leaves no place for."""
    gone = set(said)
    for name, value in said.items():
        if name != "mirostat" or value:
            gone.update(_GIVES_WAY.get(name, ()))
    if said.get("target") is not None:
        gone |= {"pair"} if said.get("draft") is not None else {"pair", "spec", *_DRAFT_ALONE}
    if said.get("depth") not in (None, 0, AUTO):
        gone.add("spec")
    if said.get("spec") in ((), "off"):
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


def _sentence(culprit: str, error: LocalSpecError) -> str:
    return f"{setting(culprit).name}: {error.message[:1].lower()}{error.message[1:].rstrip('.')}"


def lay(given: Mapping[str, Any], *, without: frozenset[str] = _NOTHING) -> Layers:
    """The layers of the command being run."""
    return Layers(click.get_current_context(), given, without=without)


def print_problems(layers: Layers) -> None:
    """Say on standard error what is left out."""
    for problem in layers.problems:
        print(f"localspec: {problem} It is left out.", file=sys.stderr)
