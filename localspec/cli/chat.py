"""``localspec`` and ``localspec chat``: the chat screen, or the line mode where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localspec.cli.options import Chosen, MarksChoice, reply_options
from localspec.cli.sections import SectionedCommand
from localspec.cli.services import Services

if TYPE_CHECKING:
    from localspec.launch import Launch
    from localspec.marks import Marks

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def chat_options(command: Decorated) -> Decorated:
    """The options of a chat: those of every reply, and those of the line mode."""
    for option in (
        click.option("--marks", type=MarksChoice(), default="auto", help=MarksChoice.HELP_IN_PLAIN),
        click.option("--plain", is_flag=True, help="Chat line by line in plain text, also on a terminal."),
    ):
        command = option(command)
    return reply_options(command)


@click.command(cls=SectionedCommand, short_help="Open the chat; the same as no command.")
@chat_options
@click.pass_obj
def chat(services: Services, /, **given: Any) -> None:
    """Open the chat.

    Without a terminal, and with --plain, every line of the input is a turn of one conversation and is answered
    in plain text; /help lists the commands.
    """
    open_chat(services, **given)


def open_chat(services: Services, *, plain: bool, marks: Marks | None, **given: Any) -> None:
    """Open the screen, or answer lines."""
    from localspec.cli.resolve import resolve

    launch = resolve(Chosen(**given))
    if services.has_terminal() and not plain:
        services.open_screen(launch)
    else:
        _answer_lines(services, launch, marks, asked=plain)


def _answer_lines(services: Services, launch: Launch, marks: Marks | None, *, asked: bool) -> None:
    from localspec.cli.streams import Status, wants_colour
    from localspec.interruptible import open_interruptibly
    from localspec.marks import Marks
    from localspec.plain import LineChat

    if not asked:
        print("No terminal: every line of the input is answered in plain text.", file=sys.stderr)
    status = Status()
    try:
        with open_interruptibly(services.open_pair, launch.load, status.show) as pair:
            status.clear()
            LineChat(pair, launch, marks=marks or Marks.NEVER, colour=wants_colour()).run()
    finally:
        status.clear()
