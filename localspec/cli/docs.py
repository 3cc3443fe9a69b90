"""The documentation of the command line from its definitions, for ``--help`` and the docs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from localspec.base.errors import ALL_ERRORS, SIGNAL_EXIT_CODES

HELP_OPTIONS = ("-h", "--help")
"""The options that show the help of a command."""

COMPLETION: Mapping[str, str] = {
    "bash": 'eval "$(_LOCALSPEC_COMPLETE=bash_source localspec)"',
    "zsh": 'eval "$(_LOCALSPEC_COMPLETE=zsh_source localspec)"',
    "fish": "_LOCALSPEC_COMPLETE=fish_source localspec | source",
}
"""The line that enables completion, by shell."""

ENVIRONMENT: Mapping[str, str] = {
    "LOCALSPEC_API_KEY": "the key for the server of `--connect`",
    "LOCALSPEC_HOME": "the folder for everything LocalSpec keeps, except downloaded models",
    "LOCALSPEC_DEBUG": "set to 1, prints the traceback of an unexpected error, which otherwise goes to the log alone",
    "HF_HOME, HF_HUB_CACHE": "the Hugging Face cache, where downloaded models are kept and shared with other programs",
    "HF_TOKEN": "the token for models that ask for one",
    "HF_ENDPOINT": "the address of a mirror of the Hub",
    "HF_HUB_OFFLINE": "set to 1, forbids downloads",
    "NO_COLOR": "set to 1, leaves out colours",
    "VISUAL, EDITOR": "your own editor for long messages",
}
"""The environment variables that LocalSpec reads."""


def exit_codes() -> tuple[tuple[int, str], ...]:
    """Every exit code with its meaning."""
    errors = ((error.exit_code, error.meaning) for error in ALL_ERRORS)
    return (0, "success"), *errors, *SIGNAL_EXIT_CODES


def exit_code_table() -> str:
    """The exit codes as a Markdown table."""
    rows = (f"| {code} | {meaning} |" for code, meaning in exit_codes())
    return "\n".join(("| Exit code | Meaning |", "| ---: | --- |", *rows))


def environment_table() -> str:
    """The environment variables as a Markdown table."""
    rows = (f"| `{name.replace(', ', '`, `')}` | {meaning} |" for name, meaning in ENVIRONMENT.items())
    return "\n".join(("| Variable | Meaning |", "| --- | --- |", *rows))


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
