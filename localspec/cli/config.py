"""``localspec config``: what is set, where, and whether it is right."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click

from localspec.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from localspec.config import Config, Problem, Setting

_HEAD = """\
# LocalSpec's settings. `localspec config show --all` lists what can be set here, and what it does.
"""
_HINT = "Mend the lines named above; `localspec config edit` opens the file."


@click.group(short_help="Show, edit and check the settings.")
def config() -> None:
    """Show, edit and check the settings: one file, which the chat's settings screen writes too.

    What the command line says beats a setting; a setting beats what is built in.
    """


@config.command(short_help="List the settings that are set.")
@click.option("--all", "everything", is_flag=True, help="List all settings there are, with what each does.")
@click.option("--json", "as_json", is_flag=True, help="Write the settings as a JSON object.")
def show(everything: bool, as_json: bool) -> None:
    """List the settings that are set in the file; with --all every one there is."""
    from localspec.config import SETTINGS, read_config

    read = read_config()
    chosen = [each for each in SETTINGS if everything or each.name in read.values]
    if as_json:
        print(json.dumps(_described(read, chosen), indent=2))
        return
    print("\n".join(_listing(read, chosen, everything)))
    _tell(_problems(read))


@config.command(short_help="Say where the file is.")
def path() -> None:
    """Say where the file of settings is, whether it is there or not."""
    from localspec.config import config_file

    print(config_file())


@config.command(short_help="Open the file in your editor.")
def edit() -> None:
    """Open the file in $VISUAL or $EDITOR, and check it afterwards."""
    from localspec.config import config_file

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    file = config_file()
    try:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_HEAD, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}.", "Check its permissions.") from error
    try:
        ended = subprocess.run([*shlex.split(editor), str(file)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"The editor {editor!r} cannot be started: {error}.", "Set VISUAL or EDITOR.") from None
    if ended.returncode:
        raise UsageError(f"The editor {editor!r} ended with exit code {ended.returncode}.", f"The file is {file}.")
    _check()


@config.command(short_help="Look for mistakes; the exit code says whether there are any.")
def check() -> None:
    """Look for mistakes in the file; the exit code is 9 if there are any, 0 if not."""
    _check()


def _check() -> None:
    """Raises ConfigError."""
    from localspec.config import read_config

    read = read_config()
    problems = _problems(read)
    _tell(problems)
    if problems:
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        raise ConfigError(f"{read.path} has {count}; what is left out counts as not set.", _HINT)
    print(f"{read.path}: {_count(read)}, no mistakes." if read.stamp else f"{read.path} is not there; nothing is set.")


def _count(read: Config) -> str:
    count = len(read.values) + len(read.keys)
    return "1 setting" if count == 1 else f"{count} settings"


def _problems(read: Config) -> list[Problem]:
    """All mistakes in the order of the lines: those of single settings, of settings together, and of keys."""
    from localspec.cli.layers import Layers
    from localspec.cli.run import run
    from localspec.tui.keymap import resolve_keymap

    with run.make_context("localspec run", ["-"]) as context:
        given = {name: value for name, value in context.params.items() if name not in _OF_RUN_ALONE}
        layers = Layers(context, given)
        layers.settle(read)
    return sorted([*layers.problems, *resolve_keymap(read).problems], key=lambda problem: problem.line or 0)


_OF_RUN_ALONE = ("words", "raw", "as_json", "explain", "marks")


def _tell(problems: list[Problem]) -> None:
    for problem in problems:
        print(f"localspec: {problem}", file=sys.stderr)


def _listing(read: Config, chosen: list[Setting], everything: bool) -> list[str]:
    from localspec.config.kinds import shown
    from localspec.config.table import SECTIONS

    lines: list[str] = []
    for section, about in SECTIONS.items():
        rows = [each for each in chosen if each.section == section]
        if rows:
            lines += ["", f"[{section}]" + (f"  {about}" if everything else "")]
        for each in rows:
            value = read.values.get(each.name)
            lines.append(f"{each.key} = {shown(value)}" if value is not None else f"{each.key}: {each.default_words}")
            if everything:
                lines.append(f"    {each.description}")
    if read.keys:
        lines += ["", "[keys]", *(f"{action} = {keys}" for action, keys in read.keys.items())]
    return lines[1:] or [f"Nothing is set in {read.path}; `localspec config show --all` lists what can be."]


def _described(read: Config, chosen: list[Setting]) -> dict[str, Any]:
    return {
        "path": str(read.path),
        "settings": [
            {
                "name": each.name,
                "value": read.values.get(each.name),
                "line": read.lines.get(each.name),
                "default": each.default,
                "form": each.kind.form,
                "about": each.description,
                "applies": str(each.applies),
            }
            for each in chosen
        ],
        "keys": dict(read.keys),
        "problems": [{"line": problem.line, "problem": problem.what} for problem in _problems(read)],
    }
