"""Output on standard error: errors with the next step, remarks, and the messages of observers."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localspec.base.errors import ConfigError, LocalSpecError, OutputError, UsageError, explaining
from localspec.base.paths import user_paths
from localspec.base.visible import visible, visible_line

if TYPE_CHECKING:
    from localspec.insight.observers import Observer
    from localspec.insight.observers.observers import Observers


def show(error: LocalSpecError) -> int:
    """Print an error and return its exit code."""
    remark(str(error))
    return error.exit_code


def remark(sentence: str) -> None:
    """Print a remark on standard error, made visible on one line, so that a name in it cannot imitate another."""
    print(visible_line(f"localspec: {sentence}"), file=sys.stderr, flush=True)


def print_news(observer: Observer, wait_s: float = 0.0) -> None:
    """Print new messages of an observer; waits at most so long for a pending evaluation."""
    for news in observer.news(wait_s):
        remark(news.text)


@contextmanager
def closing_observers(observers: Observers) -> Iterator[Observers]:
    """Close observers at the end of a ``with``, and print what they met until then."""
    try:
        yield observers
    finally:
        observers.close()
        print_news(observers)


def from_click(error: click.ClickException, command: str = "localspec") -> LocalSpecError:
    """The UsageError for an error of click's.

    ``command`` is the one that was meant: click does not always say so.
    """
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context else command
    hint = f"{command} --help lists what there is."
    message = error.format_message()
    if isinstance(error, click.NoSuchCommand) and context is not None and context.parent is None:
        hint = f"{_meant(error.command_name, context)}; {hint}"
    return UsageError(_sentence(message), hint)


def _meant(name: str, context: click.Context) -> str:
    """The commands of that name in the groups, as other programs have them outside; without any, how to ask."""
    assert isinstance(context.command, click.Group)
    groups = (each for each in context.command.commands.values() if isinstance(each, click.Group))
    found = [f"{context.command_path} {group.name} {name}" for group in groups if name in group.commands]
    return f"Try {' or '.join(found)}" if found else f'To ask something, quote it: {context.command_path} run "..."'


def _sentence(message: str) -> str:
    return message if message.endswith((".", "?", "?)")) else f"{message}."


def show_unexpected(error: Exception) -> int:
    """Write the traceback of a bug to the log file, print its path, and return exit code 1.

    ``LOCALSPEC_DEBUG`` prints the traceback as well.
    """
    seen = bool(os.environ.get("LOCALSPEC_DEBUG"))
    try:
        log_file = user_paths().logs / "localspec.log"
        with explaining(OutputError, f"The log file {log_file} cannot be written, so the details are above", ""):
            _append(log_file, error)
        hint = f"The details are in {log_file}."
    except OutputError as refusal:
        hint, seen = refusal.message, True
    except ConfigError as refusal:  # there is no folder for a log
        hint, seen = str(refusal), True
    if seen:
        traceback.print_exception(error)
    summary = f"{type(error).__name__}: {error}".removesuffix(": ").splitlines()[0]
    return show(LocalSpecError(f"Something unexpected went wrong ({summary}).", hint))


def _append(log_file: Path, error: Exception) -> None:
    log_file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as log:
        log_file.chmod(0o600)  # a traceback may quote messages; earlier versions let others read it
        command = visible_line(" ".join(sys.argv[1:2]))
        log.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} localspec {command}\n")
        log.write(visible("".join(traceback.format_exception(error))))
