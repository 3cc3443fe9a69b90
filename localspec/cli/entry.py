"""The entry point of ``localspec``, where every error becomes a sentence and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from localspec.base.errors import INTERRUPTED_EXIT_CODE, LocalSpecError, NotFoundError, OutputError, refused
from localspec.cli import report
from localspec.cli.commands import localspec
from localspec.cli.services import Services
from localspec.cli.streams import StdoutError, give_up_stdout, settle_streams
from localspec.cli.watch import watched

_COMPLETION_VARIABLE = "_LOCALSPEC_COMPLETE"


def main(arguments: Sequence[str] | None = None, *, services: Services | None = None) -> NoReturn:
    """Run the command line and exit."""
    settle_streams()
    if _COMPLETION_VARIABLE in os.environ:
        _complete()
    if arguments is None and services is None:
        arguments, services = sys.argv[1:], Services()
        if _loads_models(arguments, services):
            services = watched(services)
    sys.exit(_answer(sys.argv[1:] if arguments is None else arguments, services or Services()))


def _complete() -> NoReturn:
    """Answer the shell that completes a command line, and exit."""
    from click.shell_completion import FishComplete, ZshComplete, add_completion_class

    class WholeDescriptions(FishComplete):
        """click's, whose script cuts a description at its first comma."""

        source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')

    class LoadingCompletion(ZshComplete):
        """click's, whose script fails where nothing has loaded zsh's system of completion, as by default on macOS."""

        source_template = ZshComplete.source_template.replace(
            "\n", "\n(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n", 1
        )

    add_completion_class(WholeDescriptions)
    add_completion_class(LoadingCompletion)
    sys.exit(localspec.main(prog_name="localspec", complete_var=_COMPLETION_VARIABLE))


def _loads_models(arguments: Sequence[str], services: Services) -> bool:
    """True if the command loads models in its own process; the chat screen has an engine process for that."""
    command = _command_words(arguments)
    if command in ("localspec", "localspec chat"):
        return not services.has_terminal() or not {"--plain", "--json"}.isdisjoint(arguments)
    return command in ("localspec run", "localspec bench", "localspec verify")


def _answer(arguments: Sequence[str], services: Services) -> int:
    """Run a command and return its exit code."""
    try:
        return _invoke(arguments, services)
    except LocalSpecError as error:
        return report.show(error)
    except click.ClickException as error:
        return report.show(report.from_click(error, _command_words(arguments)))
    except (KeyboardInterrupt, click.Abort):
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the terminal has echoed ^C
        return INTERRUPTED_EXIT_CODE
    except BrokenPipeError:
        give_up_stdout()
        return 0  # the reader of our output has closed the pipe
    except StdoutError as error:
        give_up_stdout()
        return report.show(OutputError(*refused("Standard output cannot be written", error, "send it elsewhere")))
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return report.show_unexpected(error)
        return report.show(NotFoundError("The name of a file on the command line is too long.", "Shorten it."))
    except Exception as error:  # noqa: BLE001 -- the edge of the program; nothing above could tell the person
        return report.show_unexpected(error)


def _command_words(arguments: Sequence[str]) -> str:
    """The command and its sub-commands as they were typed."""
    path = ["localspec"]
    command: click.Command = localspec
    for word in arguments:
        found = command.commands.get(word) if isinstance(command, click.Group) else None
        if found is None:
            break
        path, command = [*path, word], found
    return " ".join(path)


def _invoke(arguments: Sequence[str], services: Services) -> int:
    """Run a command without click's own handling of errors, which has other texts and exit codes."""
    try:
        with localspec.make_context("localspec", list(arguments), obj=services) as context:
            localspec.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    finally:
        sys.stdout.flush()
    return 0
