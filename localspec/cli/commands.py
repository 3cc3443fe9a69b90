"""The ``localspec`` command with its sub-commands and its help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from localspec import __version__
from localspec.base.errors import ALL_ERRORS, SIGNAL_EXIT_CODES, UsageError
from localspec.cli.batch import batch
from localspec.cli.bench import bench
from localspec.cli.chat import chat, chat_options, open_chat
from localspec.cli.config import config
from localspec.cli.doctor import doctor
from localspec.cli.history import history
from localspec.cli.mcp import mcp
from localspec.cli.metrics import metrics
from localspec.cli.pairs import pairs
from localspec.cli.run import run
from localspec.cli.sections import SectionedCommand
from localspec.cli.serve import serve
from localspec.cli.serve_web import serve_web
from localspec.cli.stats import stats
from localspec.cli.trials import trials
from localspec.cli.verify import verify

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

_HELP = """Chat with a local model, made fast by speculative decoding.

Without a command this opens the chat, on the built-in pair unless the options name another. Without a terminal it
answers the lines of its input in plain text.

\b
  localspec pairs list                  pairs for this machine
  localspec run "Why is the sky blue?"  one reply on standard output
  localspec serve                       the pairs for other programs
"""


def exit_codes() -> tuple[tuple[int, str], ...]:
    """Every exit code with its meaning."""
    errors = ((error.exit_code, error.meaning) for error in ALL_ERRORS)
    return (0, "success"), *errors, *SIGNAL_EXIT_CODES


class LocalSpecGroup(SectionedCommand, click.Group):
    """A group whose help ends with completion, environment variables and exit codes."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write three tables at the end of the help."""
        with formatter.section("Completion with Tab, set up by this line in the startup file of your shell"):
            formatter.write_dl(list(COMPLETION.items()))
        with formatter.section("Environment variables"):
            formatter.write_dl(list(ENVIRONMENT.items()))
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in exit_codes()])


@click.group(
    cls=LocalSpecGroup,
    help=_HELP,
    invoke_without_command=True,
    context_settings={"help_option_names": list(HELP_OPTIONS), "max_content_width": 100},
)
@chat_options
@click.version_option(__version__, message="localspec %(version)s")
@click.pass_context
def localspec(context: click.Context, /, **given: Any) -> None:
    """The command without a sub-command: the chat."""
    if context.invoked_subcommand is None:
        open_chat(context.obj, **given)
    else:
        _refuse_options_before(context.invoked_subcommand, context)


def _refuse_options_before(command: str, context: click.Context) -> None:
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is click.core.ParameterSource.COMMANDLINE:
            option = parameter.opts[0]
            raise UsageError(
                f"{option} stands before {command}, where it has no effect.",
                f"Put it after: localspec {command} {option} ...",
            )


for _command in (
    chat,
    run,
    serve,
    batch,
    pairs,
    mcp,
    history,
    doctor,
    stats,
    trials,
    metrics,
    bench,
    verify,
    config,
    serve_web,
):
    localspec.add_command(_command)
