"""Slash commands: the command that a written line means, and why it cannot be done as it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from localspec.base.fuzzy import nearest
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command
from localspec.chat.settings.conversation import suggest_set

_COMMAND = re.compile(r"/[a-z]+(?!\S)", re.IGNORECASE)
AS_A_MESSAGE = "With a space before the slash it is a message."


def find_command(text: str) -> Command | None:
    """The command behind ``/word``, whatever follows it; None if there is no such command."""
    return _by_word().get(command_parts(text)[0])


def command_parts(text: str) -> tuple[str, str]:
    """The word after the slash, and its argument."""
    word, *rest = text.strip().removeprefix("/").split(maxsplit=1) or [""]
    return word.lower(), rest[0] if rest else ""


def is_command(text: str) -> bool:
    """Return True if a message begins with a slash and a word, so that a path or code is no command.

    Behind a space anything is a message.
    """
    return _COMMAND.match(text) is not None


def refusal(text: str) -> str:
    """The reason why a command cannot be run as written, and advice; empty if it can."""
    word, argument = command_parts(text)
    command = find_command(text)
    if command is not None:
        return f"/{word} takes nothing after it. {AS_A_MESSAGE}" if argument and not command.argument else ""
    meant = nearest(word, _by_word())
    advice = suggest_set(word, argument) or (f"Did you mean /{meant}?" if meant else "/help lists those there are.")
    return f"There is no command /{word}. {advice} {AS_A_MESSAGE}"


def matching_commands(text: str) -> list[Command]:
    """The commands that ``/wor`` may become; first the one that it is already."""
    if not text.startswith("/") or (not text[1:].isalpha() and text != "/"):
        return []
    word = text[1:].lower()
    found = [command for command in CHAT.commands if command.slash and command.slash.startswith(word)]
    return sorted(found, key=lambda command: command.slash != word)


def _by_word() -> Mapping[str, Command]:
    """Each command by its slash command, and by the other words for it that are no slash command themselves."""
    with_slash = [command for command in CHAT.commands if command.slash]
    others = {word: command for command in with_slash for word in command.also}
    return others | {command.slash: command for command in with_slash}
