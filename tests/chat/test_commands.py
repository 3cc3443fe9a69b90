"""Slash commands are found by what the reader writes, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command
from localspec.chat.commands.slash import command_parts, find_command, is_command, matching_commands, refusal
from localspec.chat.compose.completing import argument_values
from localspec.chat.tools.toolbox import Toolbox
from localspec.config.text_folder import PERSONAS
from localspec.line.commands import LineCommand, commands

COMMANDED = [action for action in CHAT.commands if action.slash]


@pytest.mark.parametrize("action", COMMANDED, ids=lambda action: str(action.id))
def test_commands_are_found(action: Command) -> None:
    """By their word, whatever the case and the space around."""
    assert find_command(f"/{action.slash}") is action
    assert find_command(f"/{str(action.slash).upper()} ") is action
    assert action in matching_commands(f"/{str(action.slash)[:2]}")


@pytest.mark.parametrize("action", COMMANDED, ids=lambda action: str(action.id))
def test_a_command_is_done_or_refused_whatever_follows_it(action: Command) -> None:
    """It never goes to the model; what takes nothing says so, and how it would be a message."""
    assert not refusal(f"/{action.slash}")
    refused = refusal(f"/{action.slash} some words")
    for text in (f"/{action.slash} some words", f"/{action.slash}\nsome words", f"/{action.slash}\t some words\n"):
        assert is_command(text)
        assert find_command(text) is action
        assert command_parts(text) == (action.slash, "some words")
        assert refusal(text) == refused
    assert bool(refused) is not bool(action.argument)
    assert not refused or "takes nothing after it. With a space before the slash" in refused


def test_a_slash_and_a_word_are_a_command() -> None:
    """A path, a comment and what stands behind a space are messages."""
    for text in ("/help ", "/nonsense", "/help me with this", "/system be short", "/load x"):
        assert is_command(text)
    for text in ("/etc/passwd", "// a comment", "/ hello", " /help", " /help me with this", "help", "/", "/2", "/a.b"):
        assert not is_command(text)


@pytest.mark.parametrize(("name", "action"), [(name, action) for action in COMMANDED for name in action.also])
def test_what_others_call_a_command_is_understood(name: str, action: Command) -> None:
    """It does what the command does, and stands in for none of ours."""
    assert find_command(f"/{name}") is action
    assert name not in {each.slash for each in CHAT.commands}


def test_a_command_takes_the_same_values_in_every_front_end() -> None:
    """Whatever it is called there."""
    PERSONAS.write("pirate", "Speak as a pirate.")
    tools = Toolbox()
    for command in COMMANDED:
        if command.line is not None:
            assert argument_values(command.line.name, tools) == argument_values(command.slash, tools)
    known = {command.slash: list(argument_values(command.slash, tools)) for command in COMMANDED}
    assert "builtin" in known["pairs"]
    assert known["persona"] == ["none", "pirate"]
    assert "temperature" in known["set"]
    assert "nord" in known["theme"]
    assert known["new"] == []


def test_no_two_actions_are_called_the_same() -> None:
    words = [word for action in CHAT.commands for word in (action.slash, *action.also) if word]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("command", commands(), ids=lambda command: str(command.form.name))
def test_commands_of_the_line_mode_are_known(command: LineCommand) -> None:
    """By each of its names; what the screen has no command for is not taken for another one that is near."""
    ours = {name for name in command.names if find_command(f"/{name}")}
    assert ours in (set(), set(command.names))
    assert not ours or len({find_command(f"/{name}") for name in ours}) == 1


def test_a_misspelt_command_is_told_the_nearest() -> None:
    assert "Did you mean /regenerate?" in refusal("/regenrate")
    assert "Did you mean /rename?" in refusal("/renam my talk")


def test_a_setting_taken_for_a_command_says_how_it_is_set() -> None:
    """As other programs have commands for them."""
    assert "There is no command /system. /set system be short sets it." in refusal("/system be short")
    assert "/set temperature VALUE sets it." in refusal("/temperature")
    assert "/set " not in refusal("/mlock yes"), "no conversation can set that"


def test_no_two_commands_have_one_title() -> None:
    """In the search of commands they could not be told apart."""
    titles = [action.title for action in CHAT.commands if action.in_palette]
    assert len(titles) == len(set(titles))
