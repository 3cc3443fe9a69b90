"""Messages from lines that are typed or come through a pipe.

A line is a message. One that ends with a backslash goes on in the next; one that begins with three quotes goes on
until a line ends with three. A line that begins with a space is no command.
"""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from localspec.base.errors import InputError
from localspec.base.visible import visible

QUOTES = '"""'
INVITATION, GOES_ON = "> ", "... "


@dataclass(frozen=True, slots=True)
class InputLine:
    """A message, or a command."""

    text: str
    literal: bool = False
    """True if it is for the model even if it looks like a command."""


class Lines(Protocol):
    """A source of lines."""

    def next(self, invitation: str, begin: str = "") -> str | None:
        """The next line without its line end; None at the end. ``begin`` is put into it to be edited, if possible.

        Raises InputError for what is not UTF-8, KeyboardInterrupt for Ctrl-C.
        """
        ...


class TypedLines:
    """Lines typed at a terminal, edited with readline if Python has it."""

    def next(self, invitation: str, begin: str = "") -> str | None:
        try:
            with _beginning(begin):
                line = input(invitation)
        except EOFError:
            print(file=sys.stderr)
            return None
        except UnicodeDecodeError:
            raise _not_text() from None
        return _text(line.encode("utf-8", "surrogateescape"))


class PipedLines:
    """The lines of standard input; with ``invited`` the prompt goes to standard error."""

    def __init__(self, *, invited: bool) -> None:
        self._invited = invited

    def next(self, invitation: str, begin: str = "") -> str | None:
        if sys.stdin is None:
            return None
        if self._invited:
            print(invitation, end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
        return _text(line.removeprefix(BOM_UTF8).removesuffix(b"\n").removesuffix(b"\r")) if line else None


def read_message(lines: Lines, *, objects: bool = False) -> InputLine | None:
    """The next message or command, stripped; None at the end of the input.

    With ``objects`` a line that begins with a brace is a JSON object with the text of a message. Raises as
    ``Lines.next``, and InputError for quotes that are never closed.
    """
    line = lines.next(INVITATION)
    if line is None:
        return None
    if objects and line.lstrip().startswith("{"):
        return InputLine(_from_object(line), literal=True)
    if line.lstrip().startswith(QUOTES):
        return InputLine(_quoted(lines, line.strip().removeprefix(QUOTES)), literal=True)
    if _goes_on(line):
        return InputLine(_continued(lines, line), literal=True)
    return InputLine(line.strip(), literal=line[:1].isspace())


def _goes_on(line: str) -> bool:
    """True for a single backslash at the end; two are text, as at the end of a line of LaTeX."""
    return line.endswith("\\") and not line.endswith("\\\\")


def _continued(lines: Lines, first: str) -> str:
    parts, line = [], first
    while _goes_on(line):
        parts.append(line[:-1])
        line = lines.next(GOES_ON) or ""
    return "\n".join([*parts, line]).strip()


def _quoted(lines: Lines, first: str) -> str:
    parts, line = [], first
    while not line.rstrip().endswith(QUOTES):
        parts.append(line)
        following = lines.next(GOES_ON)
        if following is None:
            raise InputError(f"A message that begins with {QUOTES} has no end.", f"End it with {QUOTES}.")
        line = following
    return "\n".join([*parts, line.rstrip().removesuffix(QUOTES)]).strip()


def _from_object(line: str) -> str:
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str) or not text.strip():
        raise InputError("A line that begins with a brace is no message.", 'Write {"text": "..."} on one line.')
    return _text(text.encode("utf-8", "surrogatepass")).strip()


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _not_text() from None


def _not_text() -> InputError:
    return InputError("A line of the input is not UTF-8 text.", "Convert it first, for example with iconv.")


def can_be_edited(text: str) -> bool:
    """True if a text to change can be put into the line that is typed: one line, where readline is used."""
    return bool(text) and "\n" not in text and "readline" in sys.modules


@contextmanager
def _beginning(text: str) -> Iterator[None]:
    """A context in which readline begins the next line with a text."""
    if not can_be_edited(text):
        yield
        return
    readline = sys.modules["readline"]
    readline.set_startup_hook(lambda: readline.insert_text(visible(text)))
    try:
        yield
    finally:
        readline.set_startup_hook(None)
