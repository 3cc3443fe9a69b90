"""The line mode: every line a turn of one conversation."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from localspec.base.errors import CapacityError
from localspec.cli.services import Services
from localspec.runtime.messages import Role
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld

NOTICE = "No terminal: every line of the input is answered in plain text.\n"


def said_by_the_user(world: FakeWorld, turn: int) -> list[str]:
    prompt = world.pairs[0].asked[turn][0]
    assert not isinstance(prompt, str)
    return [message.content for message in prompt if message.role is Role.USER]


@pytest.mark.parametrize("command", [(), ("chat",)])
def test_without_a_terminal_lines_are_answered(localspec: Localspec, command: tuple[str, ...]) -> None:
    """``localspec`` says so on standard error, and answers each line as a turn of one conversation."""
    world = FakeWorld()
    done = localspec(*command, *FILES, world=world, stdin=b"hello\n\n  and then\n")
    assert done.code == 0
    assert done.err.startswith(NOTICE)
    assert said_by_the_user(world, 0) == ["hello"]
    assert said_by_the_user(world, 1) == ["hello", "and then"]
    assert done.err.count("of the draft's guesses accepted") == 2
    assert world.pairs[0].closed
    assert not world.screens


class Terminal(StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("redirected", [None, "stdin", "stdout", "stderr"])
def test_the_screen_needs_all_three_streams(monkeypatch: pytest.MonkeyPatch, redirected: str | None) -> None:
    """Textual draws on standard error: with that in a file nothing would be seen."""
    monkeypatch.setenv("TERM", "xterm")
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, StringIO() if name == redirected else Terminal())
    assert Services().has_terminal() == (redirected is None)


def test_replies_are_all_that_stands_on_standard_output(localspec: Localspec) -> None:
    """The same text as ``localspec run`` gives, each reply on lines of its own."""
    alone = localspec("run", *FILES, "hello").out
    assert localspec(*FILES, stdin=b"hello").out == alone
    assert localspec(*FILES, stdin=b"hello\n/new\nhello\n").out == alone * 2


def test_plain_needs_no_notice_where_it_was_asked_for(localspec: Localspec) -> None:
    """--plain forces the line mode, on a terminal too."""
    world = FakeWorld(terminal=True)
    done = localspec("chat", "--plain", *FILES, world=world, stdin=b"hello\n")
    assert done.code == 0
    assert NOTICE not in done.err
    assert len(world.pairs[0].asked) == 1
    assert not world.screens


def test_the_commands(localspec: Localspec) -> None:
    """/help lists them, /new forgets, /quit leaves; a word that is none is not said to the model."""
    world = FakeWorld()
    done = localspec(*FILES, world=world, stdin=b"/help\nhello\n/new\nhello again\n/nonsense\n/quit\nnever\n")
    assert done.code == 0
    assert "Ctrl-C ends a reply" in done.err
    assert "There is no command /nonsense. /help lists them." in done.err
    assert len(world.pairs[0].asked) == 2
    assert said_by_the_user(world, 1) == ["hello again"]


def test_a_path_is_no_command(localspec: Localspec) -> None:
    """A word after the slash is one, unless a space stands before it; what follows it changes nothing of that."""
    world = FakeWorld()
    done = localspec(*FILES, world=world, stdin=b"/etc/hosts is what?\n /new ideas\n/new ideas\n/load x\n")
    assert said_by_the_user(world, 0) == ["/etc/hosts is what?"]
    assert said_by_the_user(world, 1) == ["/etc/hosts is what?", "/new ideas"]
    assert len(world.pairs[0].asked) == 2
    assert "/new takes nothing after it." in done.err


def test_the_system_prompt_leads_every_turn(localspec: Localspec) -> None:
    """It also survives /new."""
    world = FakeWorld()
    localspec(*FILES, "--system", "Be brief.", world=world, stdin=b"hello\n/new\nhello\n")
    assert len(world.pairs[0].asked) == 2
    for prompt, _ in world.pairs[0].asked:
        assert not isinstance(prompt, str)
        assert (prompt[0].role, prompt[0].content) == (Role.SYSTEM, "Be brief.")


def test_an_error_ends_the_input(localspec: Localspec) -> None:
    """A script whose turn fails must not go on as if nothing had happened."""
    error = CapacityError("The conversation is too long.", "Begin a new one with /new.")
    world = FakeWorld(reply_error=error)
    done = localspec(*FILES, world=world, stdin=b"hello\nagain\n")
    assert (done.code, done.out) == (7, "")
    assert done.err.endswith(f"localspec: {error}\n")
    assert len(world.pairs[0].asked) == 1


def test_a_line_that_is_no_text_is_refused(localspec: Localspec) -> None:
    """Lines before it have been answered."""
    world = FakeWorld()
    done = localspec(*FILES, world=world, stdin=b"hello\n\xff\n")
    assert done.code == 3
    assert len(world.pairs[0].asked) == 1


def test_marks_in_brackets(localspec: Localspec) -> None:
    """--marks ascii shows origins where colours cannot; otherwise plain text is plain."""
    plain = localspec(*FILES, stdin=b"hello\n").out
    done = localspec(*FILES, "--marks", "ascii", stdin=b"hello\n")
    assert "[" in done.out
    assert done.out.translate(str.maketrans("", "", "[]{}<>")) == plain


def test_a_terminal_gets_the_screen(localspec: Localspec) -> None:
    """The chat screen is handed what was asked for, resolved; nothing is loaded here."""
    world = FakeWorld(terminal=True)
    assert localspec(*FILES, "--depth", "2", "--system", "Be brief.", world=world).code == 0
    (chat_config,) = world.screens
    assert chat_config.load.target.name == "big.gguf"
    assert (chat_config.title, chat_config.pair_id, chat_config.tour) == ("big + small", None, False)
    assert (chat_config.reply.depth, chat_config.system) == (2, "Be brief.")
    assert not world.loads
