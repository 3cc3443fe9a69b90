"""Options and settings of ``localspec run`` for commands that load and reply, but not in every way it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from localspec.cli.options import GivenOptions
from localspec.cli.run import run

if TYPE_CHECKING:
    from localspec.runtime.chat_config import ChatConfig

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

LOADING = (
    *("ctx", "threads", "draft_threads", "gpu_layers", "draft_gpu_layers", "device", "draft_device", "require_gpu"),
    *("cache_type_k", "cache_type_v", "flash_attn", "mmap", "mlock"),
)
"""How both models are loaded."""


def sampling_names() -> tuple[str, ...]:
    """How the target chooses, but for what holds a reply to a grammar."""
    from localspec.cli.sampling_options import SECTION
    from localspec.cli.sections import SectionOption

    grammar = {"grammar", "json_schema", "grammar_triggers"}
    names = (each.name or "" for each in run.params if isinstance(each, SectionOption) and each.section == SECTION)
    return tuple(name for name in names if name not in grammar)


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
    """What is to be loaded; of the user's file only these ``settings`` count, each an option of the command.

    ``quiet`` says nothing of what in the file is left out. Raises what ``resolve`` does.
    """
    from localspec.cli.layers import lay, print_problems
    from localspec.config import read_config

    defaults = {field.name: field.default for field in fields(GivenOptions)}
    options = defaults | {name: value for name, value in given.items() if name in defaults}
    layers = lay(options, without=frozenset(defaults) - frozenset(settings))
    chat_config = layers.resolve(read_config())
    if not quiet:
        print_problems(layers)
    return chat_config
