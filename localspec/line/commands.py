"""The commands of the line mode: the declarations of the chat with their handlers, also for help and completion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from localspec.base.errors import UsageError
from localspec.base.fuzzy import nearest
from localspec.chat.commands import moving
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command, FrontEnd, LineForm
from localspec.chat.commands.conversations import CONVERSATIONS, EXPORT, IMPORT, NEW, RENAME, SEARCH
from localspec.chat.commands.setup import PAIRS, STATS, TOOLS
from localspec.chat.commands.slash import AS_A_MESSAGE, command_parts, is_command
from localspec.chat.commands.turns import AGAIN, COMPACT, CONTINUE, DELETE, EDIT, UNDO
from localspec.chat.commands.watching import COMPARE, MARKS, STOP
from localspec.chat.commands.writing import ATTACH
from localspec.chat.compose.completing import argument_values
from localspec.chat.marks import Marks
from localspec.chat.settings.conversation import suggest_set
from localspec.line import choices, comparing, conversations, figures, tools, turns
from localspec.line.choices import LineFrontEnd
from localspec.line.output import LEGENDS
from localspec.line.state import State

QUIT = "quit"


@dataclass(frozen=True, slots=True)
class LineCommand:
    """A command with its handler in the line mode."""

    form: LineForm
    do: Callable[[State, str], None]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it is understood by, its own first."""
        return (self.form.name, *self.form.also)


def help_(state: State, argument: str) -> None:
    """List the commands, or explain one."""
    if argument:
        command = _find(argument.removeprefix("/").lower())
        if command is None:
            raise no_such_command(argument.removeprefix("/"))
        state.output.say(_line(command))
        return
    state.output.say("\n".join([*map(_line, commands()), *_ABOUT]))


def quit_(state: State, argument: str) -> None:
    """Nothing here: the loop ends by the command's name."""


_HANDLERS: tuple[tuple[Command | LineForm, Callable[[State, str], None]], ...] = (
    (moving.HELP, help_),
    (NEW, conversations.new),
    (CONVERSATIONS, conversations.list_),
    (
        LineForm("open", "Open a conversation by its number in the list, or by its id.", "NUMBER"),
        conversations.open_,
    ),
    (LineForm("show", "Show the last turn, or all of the conversation.", "[all]"), conversations.show),
    (SEARCH, conversations.search),
    (RENAME, conversations.rename),
    (DELETE, conversations.delete),
    (UNDO, conversations.undo),
    (COMPACT, turns.compact),
    (AGAIN, turns.again),
    (EDIT, turns.edit),
    (CONTINUE, turns.continue_),
    (LineForm("version", "Show another version of the last reply.", "[NUMBER]"), turns.version),
    (STOP, turns.stop),
    (ATTACH, turns.attach),
    (LineForm("detach", "Remove the attachments."), turns.detach),
    (EXPORT, conversations.export),
    (IMPORT, conversations.import_),
    (LineForm("figures", "Show the figures of the last reply."), figures.figures),
    (STATS, figures.stats),
    (MARKS, choices.marks),
    (PAIRS, choices.pair),
    (COMPARE, comparing.compare),
    (TOOLS, tools.tools),
    (moving.QUIT, quit_),
)
"""Handlers of the line mode's own. A command that has none here and none in its declaration needs a screen."""


def commands() -> list[LineCommand]:
    """All commands of the line mode, in the order of its help; those without a handler of its own before the last."""
    own = [LineCommand(_form(command), do) for command, do in _HANDLERS]
    shared = [
        LineCommand(command.line, partial(_run, command.handler))
        for command in CHAT.commands
        if command.line is not None and command.handler is not None
    ]
    return [*own[:-1], *shared, own[-1]]


def _form(command: Command | LineForm) -> LineForm:
    form = command if isinstance(command, LineForm) else command.line
    assert form is not None, "a command with a handler here has a form here"
    return form


def _run(handler: Callable[[FrontEnd, str], None], state: State, argument: str) -> None:
    handler(LineFrontEnd(state), argument)


_ABOUT = (
    "Everything else is a message to the model, and so is a line that begins with a space.",
    'A line that ends with a backslash goes on in the next; lines between """ and """ are one message. In what you '
    "type, @FILE attaches a file.",
    "Ctrl-C ends a reply, and its text stays. At an empty prompt, twice, it leaves.",
    LEGENDS[Marks.ASCII],
)


def find_command(text: str) -> tuple[LineCommand, str] | None:
    """The command that a message is, with what follows it; None if it is none, as a path is.

    Raises UsageError for a word that is no command, and for a command that takes nothing of what follows it.
    """
    if not is_command(text):
        return None
    word, argument = command_parts(text)
    command = _find(word)
    if command is None:
        raise no_such_command(word, argument)
    if argument and not command.form.argument:
        raise UsageError(f"/{word} takes nothing after it.", AS_A_MESSAGE)
    return command, argument


def names() -> list[str]:
    """For completion."""
    return [command.form.name for command in commands()]


def file_commands() -> list[str]:
    """Names of the commands that take a file, also for completion."""
    return [command.form.name for command in commands() if "FILE" in command.form.argument]


def values(state: State, name: str, named: Sequence[str]) -> list[str]:
    """The words that may come behind a command and the words ``named`` there already; none where that is free text."""
    command = _find(name)
    match command.form.name if command is not None else "":
        case "help" if not named:
            return names()
        case "marks" if not named:
            return list(Marks)
        case own:
            found = argument_values(own, state.chat.tool_use.toolbox)
            goes_on = not named or (own == "compare" and found.keys() >= set(named))
            return [each for each in found if each not in named] if goes_on else []


def no_such_command(word: str, argument: str = "") -> UsageError:
    """The error for an unknown command, with the nearest known one."""
    if word.lower() in screen_only():
        return UsageError(f"/{word.lower()} works on the chat screen only.", "/help lists what there is here.")
    near = nearest(word, [name for command in commands() for name in command.names])
    advice = suggest_set(word, argument) or (f"Did you mean /{near}?" if near else "/help lists them.")
    return UsageError(f"There is no command /{word}.", f"{advice} {AS_A_MESSAGE}")


def screen_only() -> frozenset[str]:
    """Slash commands of the chat screen that the line mode does not have: ways to look, to copy, to change by hand."""
    return frozenset(each.slash for each in CHAT.commands if each.slash and each.line is None)


def _find(name: str) -> LineCommand | None:
    return next((command for command in commands() if name in command.names), None)


def _line(command: LineCommand) -> str:
    form = command.form
    return f"/{form.name}{f' {form.argument}' if form.argument else ''}: {form.help}"
