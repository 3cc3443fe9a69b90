"""The options of settings, made from their declarations.

Loads nothing beyond click: their values are resolved by ``runtime.resolver``, when a command needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from localspec.base.errors import NotFoundError, UsageError
from localspec.cli.report import remark
from localspec.cli.sections import SectionOption
from localspec.cli.values import PathParam, ValueParam
from localspec.config import SETTINGS, Setting, read_config, setting
from localspec.config.kinds import NONE, Choice, Flag, RefusedValue, Texts

if TYPE_CHECKING:
    from localspec.runtime.resolver import SettingsResolver

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FILES: Mapping[str, str] = {
    "target": "Use this GGUF file as the target, instead of a pair.",
    "draft": "Draft for --target with this GGUF file, a smaller model or a head (default: the target's MTP layers).",
    "projector": "Read images for --target through this GGUF file (default: the one beside it).",
}
"""Options that are no settings, with their help: a file by its name belongs on a command line, or into a pair."""
_SECTIONS_FIRST = ("speculation", "sampling", "reply")
"""The sections that the help lists before the others, as they are given most often."""
_HEADINGS: Mapping[str, str] = {
    "sampling": "Sampling",
    "model": "Loading",
    "tools": "Tools",
    "stats": "Figures, logs and checks",
    "audit": "Figures, logs and checks",
}
"""The headings in the help over the options of a section; those of the others stand first, without one."""
_COMMON = ("pair", "connect")
"""Options that stand among the first, whatever their section."""


def param_of(key: str) -> click.ParamType[Any]:
    """The type of the option of a setting that has one value."""
    kind = setting(key).kind
    return click.Choice(kind.words) if isinstance(kind, Choice) else ValueParam(kind)


def _gather(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> Any:
    """All texts of an option that may be given several times; None without any."""
    kind = setting(parameter.name or "").kind
    assert isinstance(kind, Texts)
    try:
        return kind.from_options(given) if given else None
    except RefusedValue as refusal:
        raise click.BadParameter(f"{refusal}.", context, parameter) from None


def _option(each: Setting) -> Callable[[Any], Any]:
    """The option of a setting; None where it is not given."""
    attributes: dict[str, Any] = {"help": each.help, "default": None}
    if each.section in _HEADINGS and each.key not in _COMMON:
        attributes |= {"cls": SectionOption, "section": _HEADINGS[each.section]}
    if isinstance(each.kind, Flag):
        (name,) = each.options
        return click.option(f"{name}/--no-{name.removeprefix('--')}", each.key, **attributes)
    if isinstance(each.kind, Texts):
        attributes |= {"multiple": True, "callback": _gather, "metavar": each.kind.metavar}
    else:
        attributes["type"] = param_of(each.key)
    return click.option(*each.options, each.key, **attributes)


def _options() -> list[Callable[[Any], Any]]:
    file = PathParam()
    pair = setting("pair")
    order = {section: place for place, section in enumerate(_SECTIONS_FIRST)}
    ordered = sorted(SETTINGS, key=lambda each: order.get(each.section, len(order)))
    return [
        _option(pair),
        *(click.option(f"--{name}", type=file, metavar="FILE", help=text) for name, text in FILES.items()),
        *(_option(each) for each in ordered if each.option and each is not pair),
    ]


def reply_options(command: Decorated) -> Decorated:
    """Give a command the options of all settings that have one, and those of files."""
    for option in reversed(_options()):
        command = option(command)
    return command


def overrides(context: click.Context) -> dict[str, Any]:
    """The values that the command line gives, by the key of the setting, and the files."""
    keys = (*FILES, *(each.key for each in SETTINGS if each.option))
    given = (key for key in keys if context.get_parameter_source(key) is ParameterSource.COMMANDLINE)
    return {key: context.params[key] for key in given}


def command_line_settings(*, without: frozenset[str] = frozenset()) -> SettingsResolver:
    """The settings under the command being run; those in ``without`` are not read from the file."""
    from localspec.runtime.resolver import SettingsResolver

    given = overrides(click.get_current_context())
    if given.get("connect") not in (None, NONE):
        _check_elsewhere(given)
    _check_tools(given)
    if given.get("system") is not None and given.get("persona") is not None:
        remark("--system stands in place of --persona.")
    return SettingsResolver(given, without=without)


def _check_elsewhere(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that says how to load a pair here, beside one that names a server."""
    for each in SETTINGS:
        if each.section == "model" and each.key not in _COMMON and each.key in given:
            raise UsageError(
                f"{each.options[0]} is for pairs that are loaded here, and --connect names a server.",
                "Leave one of them out.",
            )


def _check_tools(given: Mapping[str, Any]) -> None:
    """Raise NotFoundError for a tool, an MCP server or a folder of tools that is named and not there."""
    from localspec.models.pairs.disk import is_folder

    tools, servers, folder = given.get("tool") or (), given.get("mcp") or (), given.get("tool_folder")
    if tools or servers:
        from localspec.chat.tools.own import OWN_TOOLS
        from localspec.cli.mcp import check_server

        for name in (*servers, *(tool.partition(".")[0] for tool in tools if "." in tool)):
            check_server(name)
        unknown = {tool for tool in tools if "." not in tool} - {*OWN_TOOLS, *read_config().servers}
        if unknown:
            hint = "`localspec run --help` names LocalSpec's own, `localspec mcp list` servers with others."
            raise NotFoundError(f"There is no tool {min(unknown)}.", hint)
    if folder is not None and not is_folder(folder):
        raise NotFoundError(f"There is no folder {folder}.", "--tool-folder names the folder that tools read below.")


def print_problems(settings: SettingsResolver) -> None:
    """Print the settings that are left out on standard error."""
    for problem in settings.problems:
        remark(f"{problem} It is left out.")


class MarksChoice(click.Choice[str]):
    """``auto`` (None), or one of the ways to show where a token came from."""

    WAYS = ("never", "ansi", "ascii")
    HELP = "Show the origin of every token by colour and style or in brackets (default: auto, ansi on a terminal)."
    HELP_IN_PLAIN = "In plain text, show the origin of every token by colour and style or in brackets (default: never)."

    def __init__(self) -> None:
        super().__init__(("auto", *self.WAYS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from localspec.chat.marks import Marks

        way = super().convert(value, param, ctx)
        return None if way == "auto" else Marks(way)
