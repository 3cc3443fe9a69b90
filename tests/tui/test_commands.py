"""Slash commands are found by what the reader writes, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from localspec.plain.commands import COMMANDS, Command
from localspec.tui.actions import ACTIONS, Action
from localspec.tui.commands import OTHER_NAMES, find_command, is_command, matching_commands, no_such_command


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


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_what_others_call_a_command_is_understood(name: str) -> None:
    """It does what the command does, and stands in for none of ours."""
    action = find_command(f"/{name}")
    assert action is not None
    assert action.command == OTHER_NAMES[name]
    assert name not in {each.command for each in ACTIONS}
    assert is_command(f"/{name}")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_commands_of_the_line_mode_are_known(command: Command) -> None:
    """By each of its names; what the screen has no command for is not taken for another one that is near."""
    ours = {name for name in (command.name, *command.other_names) if find_command(f"/{name}")}
    assert ours in (set(), {command.name, *command.other_names})
    assert not ours or len({find_command(f"/{name}") for name in ours}) == 1


def test_a_misspelt_command_is_told_the_nearest() -> None:
    assert "Did you mean /regenerate?" in no_such_command("/regenrate")


def test_no_two_commands_have_one_title() -> None:
    """In the search of commands they could not be told apart."""
    titles = [action.title for action in ACTIONS if action.in_palette]
    assert len(titles) == len(set(titles))
