"""The commands of the line mode: one table for what is done, for the help, and for completion."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from localspec.base.errors import UsageError
from localspec.base.fuzzy import nearest
from localspec.chat.marks import Marks
from localspec.chat.settings.conversation import suggest_set
from localspec.line import choices, compacting, conversations, figures, turns
from localspec.line.state import State
from localspec.line.voice import LEGENDS

QUIT = "quit"

_WORD = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_AS_A_MESSAGE = "With a space before the slash it is a message."


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that can be done."""

    name: str
    help: str
    do: Callable[[State, str], None]
    takes: str = ""
    """What it may be followed by; in brackets if it need not be."""
    other_names: tuple[str, ...] = ()
    """What the chat screen and other programs call it."""


def help_(state: State, argument: str) -> None:
    """All commands, or one of them."""
    if argument:
        command = _find(argument.removeprefix("/").lower())
        if command is None:
            raise no_such_command(argument.removeprefix("/"))
        state.voice.say(_line(command))
        return
    state.voice.say("\n".join([*map(_line, COMMANDS), *_ABOUT]))


COMMANDS: tuple[Command, ...] = (
    Command("help", "List the commands, or explain one.", help_, "[COMMAND]", ("keys",)),
    Command("new", "Begin a new conversation.", conversations.new, "", ("clear",)),
    Command(
        "list",
        "List conversations, or those with these letters in the title.",
        conversations.list_,
        "[LETTERS]",
        ("conversations", "history"),
    ),
    Command("open", "Open a conversation by its number in the list, or by its id.", conversations.open_, "NUMBER"),
    Command("show", "Read the last turn, or all of the conversation.", conversations.show, "[all]"),
    Command("search", "Find words in everything that was said.", conversations.search, "WORDS"),
    Command("rename", "Give the conversation a title; without one it gets its own.", conversations.rename, "[TITLE]"),
    Command("delete", "Delete the last turn, or the whole conversation.", conversations.delete, "[conversation]"),
    Command("undo", "Bring back what was deleted or summarised last.", conversations.undo),
    Command(
        "compact",
        "Have all but the last 2 turns summarised, or but as many as you say, to make room.",
        compacting.compact,
        "[TURNS]",
    ),
    Command("regenerate", "Answer the last question anew; the first reply stays.", turns.again, "", ("again", "retry")),
    Command("edit", "Ask the last question in other words; the first ones stay.", turns.edit, "[TEXT]"),
    Command("continue", "Go on with a reply that was stopped.", turns.continue_),
    Command("version", "Show another version of the last reply.", turns.version, "[NUMBER]"),
    Command("stop", "Say how a reply is stopped: with Ctrl-C.", turns.stop),
    Command("attach", "Put a file or a folder into the next message.", turns.attach, "[FILE]"),
    Command("detach", "Take off what is attached.", turns.detach),
    Command(
        "export", "Write the conversation to a file: .md, .json or .ndjson.", conversations.export, "FILE", ("save",)
    ),
    Command("import", "Import what LocalSpec (JSON), ChatGPT or LM Studio wrote.", conversations.import_, "FILE"),
    Command("figures", "Say the figures of the last reply.", figures.figures),
    Command("stats", "Show the figures of all replies: acceptance, times and speed.", figures.stats),
    Command("marks", "Mark tokens by origin in brackets, or no more.", choices.marks, "[never|ascii|ansi]"),
    Command("persona", "Have a persona speak in this conversation, or list them.", choices.persona, "[NAME|none]"),
    Command(
        "set",
        "Set something for this conversation, or for the pair in the file of settings; or say what it sets.",
        choices.set_,
        "[[pair] NAME VALUE]",
    ),
    Command(
        "unset",
        "Leave a setting of this conversation to the file of settings again, or take it from the pair there.",
        choices.unset,
        "NAME|all|pair NAME",
    ),
    Command("schema", "Hold the replies of this conversation to a JSON Schema.", choices.schema, "FILE|off"),
    Command(
        "pair",
        "Talk to another pair, or list those there are.",
        choices.pair,
        "[ID]",
        ("pairs", "model", "models", "load", "download"),
    ),
    Command(QUIT, "Leave, as does the end of the input.", lambda state, argument: None, "", ("exit", "bye")),
)
SCREEN_ONLY = frozenset(
    (
        *("accept", "code", "copy", "editor", "fast", "ghosts", "inspect", "links"),
        *("race", "recall", "rewrite", "settings", "theme", "thoughts", "tokens", "tour"),
    )
)
"""What the chat screen has besides: ways to look, to copy and to change by hand that lines have no use for."""
_ABOUT = (
    "Everything else is said to the model, and so is a line that begins with a space.",
    'A line that ends with a backslash goes on in the next; lines between """ and """ are one message. In what you '
    "type, @FILE attaches a file.",
    "Ctrl-C ends a reply, and its text stays. At an empty prompt, twice, it leaves.",
    LEGENDS[Marks.ASCII],
)


def find_command(text: str) -> tuple[Command, str] | None:
    """The command that a message is, with what follows it; None if it is none, as a path is.

    Raises UsageError for a word that is no command, and for a command that takes nothing of what follows it.
    """
    match = _WORD.fullmatch(text)
    if match is None:
        return None
    word, argument = match[1].lower(), (match[2] or "").strip()
    command = _find(word)
    if command is None:
        raise no_such_command(word, argument)
    if argument and not command.takes:
        raise UsageError(f"/{word} takes nothing after it.", _AS_A_MESSAGE)
    return command, argument


def names() -> list[str]:
    """For completion."""
    return [command.name for command in COMMANDS]


def told_a_file() -> list[str]:
    """Names of those that are told a file, for completion too."""
    return [command.name for command in COMMANDS if "FILE" in command.takes]


def no_such_command(word: str, argument: str = "") -> UsageError:
    """What to say about ``/wrod``."""
    if word.lower() in SCREEN_ONLY:
        return UsageError(f"/{word.lower()} is there on the chat screen only.", "/help lists what there is here.")
    near = nearest(word, [name for command in COMMANDS for name in (command.name, *command.other_names)])
    advice = suggest_set(word, argument) or (f"Did you mean /{near}?" if near else "/help lists them.")
    return UsageError(f"There is no command /{word}.", f"{advice} {_AS_A_MESSAGE}")


def _find(name: str) -> Command | None:
    return next((command for command in COMMANDS if name in (command.name, *command.other_names)), None)


def _line(command: Command) -> str:
    return f"/{command.name}{f' {command.takes}' if command.takes else ''}: {command.help}"
