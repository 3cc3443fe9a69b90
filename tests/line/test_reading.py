"""Messages out of lines, and commands among them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from localspec.base.errors import InputError, UsageError
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import LineForm
from localspec.line.commands import LineCommand, commands, find_command, names, screen_only
from localspec.line.reading import GOES_ON, INVITATION, InputLine, read_message


class Script:
    """Lines that are there already; remembers how it was asked for them."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.invitations: list[str] = []

    def next(self, invitation: str, begin: str = "") -> str | None:
        self.invitations.append(invitation)
        return self._lines.pop(0) if self._lines else None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["hello "], InputLine("hello")),
        ([" hello "], InputLine("hello", literal=True)),
        (["one\\", "two"], InputLine("one\ntwo", literal=True)),
        (["one\\", "two\\"], InputLine("one\ntwo", literal=True)),
        ([r"a & b \\"], InputLine(r"a & b \\")),
        (['"""one', "", " two", 'three"""'], InputLine("one\n\n two\nthree", literal=True)),
        (['"""one"""'], InputLine("one", literal=True)),
        (['"""', "/quit", '"""'], InputLine("/quit", literal=True)),
        (['{"text": 1}'], InputLine('{"text": 1}')),
        ([""], InputLine("")),
        ([], None),
    ],
)
def test_lines_make_messages(lines: Sequence[str], said: InputLine | None) -> None:
    """A backslash goes on, two are text; quotes hold whatever stands between them."""
    script = Script(*lines)
    assert read_message(script) == said
    assert script.invitations[0] == INVITATION
    assert set(script.invitations[1:]) <= {GOES_ON}


def test_quotes_that_are_never_closed() -> None:
    """Half a message is not sent."""
    with pytest.raises(InputError, match="has no end"):
        read_message(Script('"""one', "two"))


def test_objects_carry_any_text() -> None:
    """A program need not think of slashes, backslashes or line ends."""
    assert read_message(Script(r'{"text": "/quit\ntwo\\"}'), objects=True) == InputLine("/quit\ntwo\\", literal=True)


@pytest.mark.parametrize(
    "line", ["{", '{"txt": "a"}', '{"text": 1}', '{"text": " "}', '{"text": "\\ud800"}', '{"a": ' * 5000]
)
def test_objects_that_are_no_messages(line: str) -> None:
    with pytest.raises(InputError):
        read_message(Script(line), objects=True)


@pytest.mark.parametrize("text", ["/etc/hosts", "a /list", "/", "/5", "// a comment", "/ list"])
def test_what_is_no_command(text: str) -> None:
    """A path, a comment."""
    assert find_command(text) is None


def understood(text: str) -> tuple[LineForm, str]:
    found = find_command(text)
    assert found is not None
    return found[0].form, found[1]


@pytest.mark.parametrize("command", commands(), ids=lambda command: str(command.form.name))
def test_a_command_is_found_or_refused_whatever_follows_it(command: LineCommand) -> None:
    """It never goes to the model; what takes nothing says so, and how it would be a message."""
    for name in command.names:
        assert understood(f"/{name}") == (command.form, "")
        if command.form.argument:
            assert understood(f"/{name} some words") == (command.form, "some words")
        else:
            with pytest.raises(UsageError, match=r"takes nothing after it\. With a space before the slash"):
                find_command(f"/{name} some words")


def test_a_line_that_begins_with_a_space_is_a_message() -> None:
    """What it says begins with its first letter."""
    assert read_message(Script(" /new ideas")) == InputLine("/new ideas", literal=True)
    assert read_message(Script("/new ideas ")) == InputLine("/new ideas")


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [("/NEW", "new", ""), ("/open  3 ", "open", "3"), ("/again", "regenerate", ""), ("/exit", "quit", "")],
)
def test_what_is_a_command(text: str, name: str, argument: str) -> None:
    found = find_command(text.strip())
    assert found is not None
    assert (found[0].form.name, found[1]) == (name, argument)


def test_an_unknown_command_says_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean /regenerate"):
        find_command("/regenrate")
    with pytest.raises(UsageError, match="/help lists them"):
        find_command("/xyzzy")
    with pytest.raises(UsageError, match="/set system be short sets it"):
        find_command("/system be short")


def test_every_command_is_explained() -> None:
    """No name twice, and a sentence for each."""
    every = [name for command in commands() for name in command.names]
    assert len(every) == len(set(every))
    assert names() == [command.form.name for command in commands()]
    for command in commands():
        assert command.form.help[0].isupper()
        assert command.form.help.endswith(".")


def test_the_commands_are_those_of_the_screen() -> None:
    """Each is here, under its own name or as another, but for those that need a screen; and these say so."""
    known = {name for command in commands() for name in command.names}
    on_screen = {action.slash for action in CHAT.commands if action.slash}
    assert on_screen - known == screen_only()
    for name in screen_only():
        with pytest.raises(UsageError, match="on the chat screen only"):
            find_command(f"/{name}")
