"""The command line described from its own definitions, for ``--help`` and for the README."""

from __future__ import annotations

from collections.abc import Iterator

import click

from localspec.errors import ALL_ERRORS, INTERRUPTED_EXIT_CODE

HELP_OPTIONS = ("-h", "--help")
"""What asks any command for its help."""


def exit_codes() -> tuple[tuple[int, str], ...]:
    """Every exit code with what it means."""
    errors = ((error.exit_code, error.meaning) for error in ALL_ERRORS)
    return (0, "success"), *errors, (INTERRUPTED_EXIT_CODE, "interrupted from the keyboard")


def exit_code_table() -> str:
    """The exit codes as a Markdown table."""
    rows = (f"| {code} | {meaning} |" for code, meaning in exit_codes())
    return "\n".join(("| Exit code | Meaning |", "| ---: | --- |", *rows))


def options_table(command: click.Command) -> str:
    """The options of a command as a Markdown table."""
    rows = (f"| `{names}` | {text} |" for names, text in _options(command))
    return "\n".join(("| Option | What it does |", "| --- | --- |", *rows))


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    # A command keeps the help option it was first asked for, whatever that was called there.
    command = click.Command(command.name, params=list(command.params))
    context = click.Context(command, help_option_names=list(HELP_OPTIONS))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, text = record
            yield names.replace("|", "\\|"), text.replace("|", "\\|")
