"""Slash commands: which action is meant by what the reader wrote. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from localspec.base.fuzzy import nearest
from localspec.chat.commands.command import Action
from localspec.chat.commands.places import ACTIONS
from localspec.chat.settings.conversation import suggest_set

_BY_WORD: Mapping[str, Action] = {
    **{word: action for action in ACTIONS if action.command for word in action.also},
    **{action.command: action for action in ACTIONS if action.command},
}
_COMMAND = re.compile(r"/[a-z]+(?!\S)", re.IGNORECASE)
AS_A_MESSAGE = "With a space before the slash it is a message."


def find_command(text: str) -> Action | None:
    """The action behind ``/word``, whatever follows it; None if there is no such command."""
    return _BY_WORD.get(command_parts(text)[0])


def command_parts(text: str) -> tuple[str, str]:
    """The word after the slash, and what follows it."""
    word, _, argument = text.strip().removeprefix("/").partition(" ")
    return word.lower(), argument.strip()


def is_command(text: str) -> bool:
    """Whether a message is meant as a command: it begins with a slash and a word, so that a path or code is not.

    Behind a space anything is a message.
    """
    return _COMMAND.match(text) is not None


def refusal(text: str) -> str:
    """Why a command cannot be done as it is written, and what can be; empty if it can."""
    word, argument = command_parts(text)
    action = find_command(text)
    if action is not None:
        return f"/{word} takes nothing after it. {AS_A_MESSAGE}" if argument and not action.takes else ""
    meant = nearest(word, _BY_WORD)
    advice = suggest_set(word, argument) or (f"Did you mean /{meant}?" if meant else "/help lists those there are.")
    return f"There is no command /{word}. {advice} {AS_A_MESSAGE}"


def matching_commands(text: str) -> list[Action]:
    """The commands that ``/wor`` may become; first the one that it is already."""
    if not text.startswith("/") or (not text[1:].isalpha() and text != "/"):
        return []
    word = text[1:].lower()
    found = [action for action in ACTIONS if action.command and action.command.startswith(word)]
    return sorted(found, key=lambda action: action.command != word)
