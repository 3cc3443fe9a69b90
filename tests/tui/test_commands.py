"""Slash commands are found by what the reader writes, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from localspec.tui.actions import ACTIONS, Action
from localspec.tui.commands import find_command, is_command, matching_commands


@pytest.mark.parametrize("action", [action for action in ACTIONS if action.command], ids=lambda action: str(action.id))
def test_commands_are_found(action: Action) -> None:
    """By their word, whatever the case and the space around."""
    assert find_command(f"/{action.command}") is action
    assert find_command(f"/{str(action.command).upper()} ") is action
    assert action in matching_commands(f"/{str(action.command)[:2]}")


def test_only_one_word_after_a_slash_is_a_command() -> None:
    """A path, a comment or a question that begins with a slash is a message."""
    assert is_command("/help ")
    assert is_command("/nonsense")
    for text in ("/etc/passwd", "// a comment", "/ hello", "/help me with this", "help", "/"):
        assert not is_command(text)
