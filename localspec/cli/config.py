"""``localspec config``: shows, changes and checks the settings."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localspec.base.amounts import number_of
from localspec.base.errors import OWN_FOLDER, ConfigError, UsageError, explaining
from localspec.cli.options import param_of
from localspec.cli.report import remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from localspec.config import Config, Problem, Setting
    from localspec.runtime.effective import EffectiveSetting

_HEAD = """\
# LocalSpec's settings. `localspec config show --all` lists what can be set here, and what it does.
"""
_ALL = "all"
_HINT = "Correct the lines named above; `localspec config edit` opens the file."


Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Write the settings as a JSON object.")
_NAME = click.argument("name")


def _for_pair(text: str) -> Callable[[Decorated], Decorated]:
    return click.option("--pair", type=param_of("pair"), help=text)


@click.group(short_help="Show, change and check the settings.", invoke_without_command=True)
@click.pass_context
def config(context: click.Context, /) -> None:
    """Show, change and check the settings: one file, which the chat's settings screen writes too.

    The command line beats the settings of a conversation, those beat the settings of the pair, those beat the
    settings for all pairs, and those beat what the pair recommends and what is built in. Without a command the
    settings are shown.
    """
    if context.invoked_subcommand is None:
        context.invoke(show)


@config.command(short_help="List the settings that are set.")
@click.option("--all", "everything", is_flag=True, help="List all settings there are, with what each does.")
@_for_pair("List what counts with this pair, and where it comes from.")
@_AS_JSON
def show(everything: bool, pair: str | None, as_json: bool) -> None:
    """List the settings that are set in the file; with --all every one there is, as it counts now."""
    from localspec.config import read_config
    from localspec.runtime.effective import SettingSource, general_settings, set_pair, settings_of_pair

    read = read_config()
    _check_pair(pair, read)
    if pair is None and not everything:
        chosen = general_settings(read)
    else:
        counting = settings_of_pair(read, pair or set_pair(read))
        chosen = [each for each in counting if everything or each.source is not SettingSource.BUILT_IN]
    if as_json:
        print(json.dumps(_described(read, chosen), indent=2))
        return
    print("\n".join(_listing(read, chosen, everything=everything, pair=pair)))
    _tell(_problems(read))


@config.command(short_help="Say what a setting is.")
@_NAME
@_for_pair("Say what it is with this pair (default: the one that is set).")
@_AS_JSON
def get(name: str, pair: str | None, as_json: bool) -> None:
    """Say what a setting is: its value alone, as `set` takes it, and on standard error where it comes from."""
    from localspec.config import read_config
    from localspec.config.kinds import typed
    from localspec.config.lookup import find_by_name
    from localspec.runtime.effective import set_pair, settings_of_pair

    named, read = find_by_name(name), read_config()
    _check_pair(pair, read)
    (found,) = (each for each in settings_of_pair(read, pair or set_pair(read)) if each.setting is named)
    if as_json:
        print(json.dumps(found.to_dict(), indent=2))
    elif found.value is None:
        remark(f"{named.name} is not set. The built-in value is: {named.default_words}.")
    else:
        print(typed(found.value))
        place = f"{read.path}, " if found.line else ""
        remark(f"{named.name}: {place}{found.origin}.")


@config.command("set", short_help="Set something.", context_settings={"ignore_unknown_options": True})
@_NAME
@click.argument("value")
@_for_pair("Set it for this pair alone.")
def set_(name: str, value: str, pair: str | None) -> None:
    """Set something, for all pairs or for one: localspec config set depth 6 --pair ID."""
    from localspec.config.file import write_value
    from localspec.config.kinds import shown
    from localspec.config.lookup import find_by_name, find_for_pair, read_typed
    from localspec.models.pairs import load_catalogue

    named = find_by_name(name) if pair is None else find_for_pair(name)
    if pair is not None:
        load_catalogue().find(pair)
    wanted, known = read_typed(named, value), named.name_in(pair)

    def refuse_mistake(changed: Config) -> None:
        for problem in _problems(changed):
            if problem.what.startswith(f"{known}: "):
                if named.key == "pair":
                    load_catalogue().find(str(wanted)).files()  # raises with the way to get it
                raise UsageError(f"{problem.what.rstrip('.')}.", "The setting stays as it was.")

    written = write_value(named, wanted, pair, check=refuse_mistake)
    print(f"{written.path}, line {written.line(named, pair)}: {known} = {shown(wanted)}")
    if pair is None and (others := [each for each in written.pairs if named.name in written.pairs[each]]):
        remark(f"Pairs with one of their own keep it: {', '.join(others)}.")


@config.command(short_help="Take a setting out of the file.")
@_NAME
@_for_pair("Take it out for this pair alone; the name may be all.")
def unset(name: str, pair: str | None) -> None:
    """Take a setting out of the file, so that what stands below counts."""
    from localspec.config import find_setting, read_config
    from localspec.config.file import write_value
    from localspec.config.lookup import find_by_name

    read = read_config()
    there = read.of_pair(pair)
    if pair is not None and name == _ALL:
        chosen = [each for each in map(find_setting, there) if each is not None]
    else:
        named = find_by_name(name)
        is_wrong = any(problem.what.startswith(f"{named.name_in(pair)}: ") for problem in read.problems)
        chosen = [named] if named.name in there or is_wrong else []
    if not chosen:
        what = f"for {pair}" if pair is not None else "for all pairs"
        sets = "sets nothing" if pair is not None and name == _ALL else f"does not set {name}"
        raise UsageError(f"{read.path} {sets} {what}.", "`localspec config` lists what is set.")
    for named in chosen:
        write_value(named, None, pair)
        print(f"{read.path}: {named.name_in(pair)} is no longer set.")


@config.command(short_help="Say where the file is.")
def path() -> None:
    """Say where the file of settings is, whether it is there or not."""
    from localspec.config import config_file

    print(config_file())


@config.command(short_help="Open the file in your editor.")
@click.pass_context
def edit(context: click.Context, /) -> None:
    """Open the file in $VISUAL or $EDITOR, and check it afterwards."""
    from localspec.config import config_file

    editor = (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "").strip() or "vi"
    file = config_file()
    with explaining(ConfigError, f"{file} cannot be written", OWN_FOLDER):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_HEAD, encoding="utf-8")
    try:
        ended = subprocess.run([*shlex.split(editor), str(file)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"The editor {editor!r} cannot be started: {error}.", "Set VISUAL or EDITOR.") from None
    if ended.returncode:
        raise UsageError(f"The editor {editor!r} ended with exit code {ended.returncode}.", f"The file is {file}.")
    context.invoke(check)


@config.command(short_help="Look for mistakes; the exit code says whether there are any.")
def check() -> None:
    """Look for mistakes in the file; the exit code is 9 if there are any, 0 if not."""
    from localspec.config import read_config

    read = read_config()
    problems = _problems(read)
    _tell(problems)
    if problems:
        count = number_of(len(problems), "mistake")
        raise ConfigError(f"{read.path} has {count}; what is left out counts as not set.", _HINT)
    print(f"{read.path}: {_count(read)}, no mistakes." if read.stamp else f"{read.path} is not there; nothing is set.")
    for sentence in _waiting(read):
        print(sentence)


def _check_pair(pair: str | None, read: Config) -> None:
    """Raise NotFoundError for a pair that is neither in the catalogue nor in the file, as that of a pair removed is."""
    from localspec.models.pairs import load_catalogue

    if pair is not None and pair not in read.pairs:
        load_catalogue().find(pair)


def _problems(config: Config) -> list[Problem]:
    """The mistakes in settings, keys and the choice of tools, in the order of the lines."""
    from localspec.chat.commands.keymap import resolve_keymap
    from localspec.runtime.effective import setting_problems

    found = dict.fromkeys([*setting_problems(config), *resolve_keymap(config).problems, *_unknown_tools(config)])
    return sorted(found, key=lambda problem: problem.line or 0)


def _unknown_tools(config: Config) -> Iterator[Problem]:
    """The tools and MCP servers that are chosen and not there."""
    tools, servers = (_texts(config, name) for name in ("tools.tool", "tools.mcp"))
    for name in servers:
        if name not in config.servers:
            yield config.problem("tools.mcp", f"tools.mcp: there is no MCP server {name}")
    if tools:
        from localspec.chat.tools.own import OWN_TOOLS

        for name in tools:
            if name not in OWN_TOOLS and name.partition(".")[0] not in config.servers:
                yield config.problem("tools.tool", f"tools.tool: there is no tool {name}")


def _texts(config: Config, name: str) -> tuple[str, ...]:
    value = config.values.get(name, ())
    return value if isinstance(value, tuple) else (str(value),)


def _count(read: Config) -> str:
    return number_of(len(read.values) + len(read.keys) + sum(map(len, read.pairs.values())), "setting")


def _waiting(read: Config) -> Iterator[str]:
    """A sentence for each pair that has settings and is not in the catalogue, which is no mistake."""
    from localspec.runtime.effective import unknown_pairs

    for pair in unknown_pairs(read):
        line = min(read.line(each, pair) or 0 for each in _settings_of(read, pair))
        yield f"Line {line}: there is no pair {pair!r} now; what is set for it waits."


def _settings_of(read: Config, pair: str) -> list[Setting]:
    from localspec.config import SETTINGS

    return [each for each in SETTINGS if each.name in read.of_pair(pair)]


def _tell(problems: list[Problem]) -> None:
    for problem in problems:
        remark(str(problem))


def _listing(read: Config, chosen: list[EffectiveSetting], *, everything: bool, pair: str | None) -> list[str]:
    from localspec.config.kinds import shown
    from localspec.config.table import KEYS_SECTION, SECTIONS

    counting = everything or pair is not None
    lines: list[str] = []
    for section, about in SECTIONS.items():
        rows = [each for each in chosen if each.setting.section == section]
        if rows:
            lines += ["", f"[{section}]" + (f"  {about}" if everything else "")]
        for each in rows:
            if counting or each.value is None:
                lines.append(each.text)
            else:
                lines.append(f"{each.setting.key} = {shown(each.value)}")
            if everything:
                lines.append(f"    {each.setting.description}")
    if pair is None:
        lines += _pair_tables(read)
        if keys := _counting_keys(read):
            lines += ["", f"[{KEYS_SECTION}]", *(f"{action} = {each}" for action, each in keys.items())]
    return lines[1:] or [f"Nothing is set in {read.path}; `localspec config show --all` lists what can be."]


def _counting_keys(read: Config) -> dict[str, str]:
    """The keys of the file that are not among the mistakes."""
    from localspec.chat.commands.keymap import resolve_keymap
    from localspec.config.table import KEYS_SECTION

    refused = {problem.what.partition(": ")[0] for problem in resolve_keymap(read).problems}
    return {action: keys for action, keys in read.keys.items() if f"{KEYS_SECTION}.{action}" not in refused}


def _pair_tables(read: Config) -> Iterator[str]:
    from localspec.config.kinds import shown
    from localspec.config.setting import PAIR_TABLES
    from localspec.config.statements import dotted
    from localspec.runtime.effective import unknown_pairs

    gone = unknown_pairs(read)
    for pair in read.pairs:
        yield ""
        yield f"[{dotted((PAIR_TABLES, pair))}]" + ("  There is no such pair now." if pair in gone else "")
        for each in _settings_of(read, pair):
            yield f"{each.key} = {shown(read.pairs[pair][each.name])}"


def _described(read: Config, chosen: list[EffectiveSetting]) -> dict[str, Any]:
    from localspec.runtime.effective import unknown_pairs

    gone = unknown_pairs(read)
    return {
        "path": str(read.path),
        "settings": [each.to_dict() for each in chosen],
        "pairs": {pair: {"there": pair not in gone, "settings": dict(values)} for pair, values in read.pairs.items()},
        "keys": _counting_keys(read),
        "problems": [{"line": problem.line, "problem": problem.what} for problem in _problems(read)],
    }
