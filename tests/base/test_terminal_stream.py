"""Streams that lead to a terminal."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.terminal_stream import TerminalStream, escape_for, filtered
from localspec.chat.marks import Marks, marked
from localspec.cli.streams import Status, settle_streams
from localspec.cli.tables import coloured
from localspec.engine.events import Origin, Token

HOSTILE = "\x1b]52;c;AA\a\x1b[31m\x9b2J\u202e\r\b"
SHOWN = "␛]52;c;AA␇␛[31m\ufffd2J\ufffd␍␈"


class Screen(io.StringIO):
    """A stream that leads to a terminal."""

    encoding = "ascii"

    def isatty(self) -> bool:
        return True


@contextmanager
def begun() -> Iterator[Screen]:
    """Standard output and error of a program that has just begun."""
    screen = Screen()
    with redirect_stdout(screen), redirect_stderr(screen):
        settle_streams()
        yield screen


def test_whatever_prints_passes_the_net() -> None:
    """Also what nobody thought of: a traceback, a library, several lines at once."""
    with begun() as screen:
        print(HOSTILE, HOSTILE)
        sys.stdout.writelines([HOSTILE, "\n"])
        click.echo(HOSTILE, color=True)
        traceback.print_exception(ValueError(HOSTILE))
        assert not hasattr(sys.stdout, "buffer")
    assert screen.getvalue().count(SHOWN) == 5
    assert not set(screen.getvalue()) & set("\x1b\x9b\u202e\r\b\a")


def test_our_own_styles_pass() -> None:
    """Colours of tables, marks of tokens, and the line of status; the text in them does not."""
    with begun() as screen:
        print(coloured(HOSTILE, "31"))
        tokens = [Token(1, HOSTILE, Origin.ACCEPTED)]
        print(marked(tokens, Marks.ANSI, escape=escape_for(sys.stdout)))
        status = Status()
        status.show(HOSTILE, 0.5)
        status.clear()
    assert screen.getvalue() == (
        f"\x1b[31m{SHOWN}\x1b[0m\n\x1b[4;38;5;75m{SHOWN}\x1b[0m\n\x1b[G\x1b[2K{SHOWN} 50 %\x1b[G\x1b[2K"
    )


@given(text=st.text(st.sampled_from(f"a{HOSTILE}\n\t\ufdd0é")))
def test_nothing_comes_through(text: str) -> None:
    """Whatever is written, in whatever pieces."""
    screen = Screen()
    stream = filtered(screen)
    for piece in (text[: len(text) // 2], text[len(text) // 2 :], f"\ufdd0{'0' * 16}\ufdd0[31m"):
        assert stream.write(piece) == len(piece)
    assert not set(screen.getvalue()) & set("\x1b\x9b\u202e\b\a\r")


def test_a_file_gets_the_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is netted that nobody reads at a terminal, and nothing twice."""
    settle_streams()
    print(HOSTILE)
    assert capsys.readouterr().out == f"{HOSTILE}\n"
    stream = filtered(Screen())
    assert isinstance(stream, TerminalStream)
    assert filtered(stream) is stream
