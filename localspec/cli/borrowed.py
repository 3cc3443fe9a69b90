"""Options and settings of ``localspec run`` for commands that load and reply, but not in every way it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from localspec.cli.options import FILES, Decorated, overrides, print_problems
from localspec.cli.run import run
from localspec.config import SETTINGS

if TYPE_CHECKING:
    from localspec.runtime.chat_config import ChatConfig

LOADING = tuple(each.key for each in SETTINGS if each.section == "model" and each.key not in ("pair", "connect"))
"""The settings of loading both models."""
_GRAMMAR = ("grammar", "json_schema", "grammar_triggers")
SAMPLING = tuple(each.key for each in SETTINGS if each.section == "sampling" and each.key not in _GRAMMAR)
"""The settings of sampling, but for those that hold a reply to a grammar."""


def borrow(names: Iterable[str]) -> Callable[[Decorated], Decorated]:
    """Give a command these options, as they are in ``run`` and in its order."""
    wanted = set(names)
    options = [parameter for parameter in run.params if parameter.name in wanted]
    assert len(options) == len(wanted), wanted - {parameter.name for parameter in options}

    def decorate(command: Decorated) -> Decorated:
        # As click's own decorators leave them, last first.
        memo = getattr(command, "__click_params__", [])
        command.__click_params__ = [*memo, *reversed(options)]  # type: ignore[attr-defined]
        return command

    return decorate


def resolve_options(given: Mapping[str, Any], settings: Iterable[str], *, quiet: bool = False) -> ChatConfig:
    """The configuration for the values in ``given``; of the user's file only these ``settings`` count.

    A value that the command line does not give is a default, which the file beats. ``quiet`` prints no problems of the
    file. Raises what ``SettingsResolver.resolve`` does.
    """
    from localspec.config import read_config
    from localspec.runtime.resolver import SettingsResolver

    keys = {*FILES, *(each.key for each in SETTINGS if each.option)}
    overriding = overrides(click.get_current_context())
    defaults = {key: value for key, value in given.items() if key in keys - overriding.keys() and value is not None}
    resolver = SettingsResolver(overriding, defaults=defaults, without=frozenset(keys) - frozenset(settings))
    chat_config = resolver.resolve(read_config())
    if not quiet:
        print_problems(resolver)
    return chat_config
