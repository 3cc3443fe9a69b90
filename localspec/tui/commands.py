"""Slash commands: which action is meant by what the reader wrote. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from localspec.compose.fuzzy import nearest
from localspec.tui.actions import ACTIONS, Action

OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("bye", "exit"), "quit"),
    **dict.fromkeys(("regenerate", "retry"), "again"),
    **dict.fromkeys(("history", "list", "open"), "conversations"),
    **dict.fromkeys(("model", "models", "pair"), "pairs"),
    "clear": "new",
    "config": "settings",
    "save": "export",
}
"""What the line mode and other programs call a command; understood, and not offered."""


def find_command(text: str) -> Action | None:
    """The action behind ``/word``; None if there is no such command."""
    word, argument = command_parts(text)
    named = OTHER_NAMES.get(word, word)
    found = next((action for action in ACTIONS if action.command == named), None)
    return None if found is None or (argument and not found.takes) else found


def command_parts(text: str) -> tuple[str, str]:
    """The word after the slash, and what follows it."""
    word, _, argument = text.strip().removeprefix("/").partition(" ")
    return word.lower(), argument.strip()


def is_command(text: str) -> bool:
    """Whether a message is meant as a command: one word after a slash, so that a path or code is not.

    More than a word is a command only where that is known to take more.
    """
    stripped = text.strip()
    return stripped.startswith("/") and (stripped[1:].isalpha() or find_command(stripped) is not None)


def no_such_command(text: str) -> str:
    """What to say about ``/wrod``."""
    word = command_parts(text)[0]
    meant = nearest(word, [*(action.command for action in ACTIONS if action.command), *OTHER_NAMES])
    advice = f"Did you mean /{meant}?" if meant else "Type /help for those there are."
    return f"There is no command /{word}. {advice}"


def matching_commands(text: str) -> list[Action]:
    """The commands that ``/wor`` may become; first the one that it is already."""
    if not text.startswith("/") or (not text[1:].isalpha() and text != "/"):
        return []
    word = text[1:].lower()
    found = [action for action in ACTIONS if action.command and action.command.startswith(word)]
    return sorted(found, key=lambda action: action.command != word)
