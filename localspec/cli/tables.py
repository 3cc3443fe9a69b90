"""Tables of text, and colours."""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from localspec.base.terminal_stream import escape_for
from localspec.base.visible import visible, visible_line
from localspec.cli.streams import wants_ansi, wants_colour

GREEN, AMBER, RED, DIM = "32", "33", "31", "2"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table that is fitted to the terminal."""

    head: str
    text: Callable[[Any], str]
    short: Callable[[Any], str] | None = None
    """A shorter form for narrow terminals."""
    optional: bool = False
    """True if it is left out on narrow terminals."""


def width() -> int:
    """The width of the terminal; without one COLUMNS, or 80."""
    return shutil.get_terminal_size().columns


def columns(rows: Sequence[tuple[str, ...]], *, right: Container[int] = (), gap: str = "  ") -> list[str]:
    """The rows with aligned columns, one line each; columns with the numbers ``right`` are aligned to the right."""
    shown = [tuple(map(visible_line, row)) for row in rows]
    widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
    return [
        gap.join(
            padded(text, width, right=column in right)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    ]


def padded(text: str, width: int, *, right: bool = False) -> str:
    """``text`` with spaces behind it, or before it for ``right``, up to so many cells."""
    spaces = " " * (width - cells(text))
    return spaces + text if right else text + spaces


def cells(text: str) -> int:
    """The width of a text on a terminal, in cells."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def named(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names and texts under each other. On a terminal a text that is too long goes on below itself."""
    longest = max(len(visible_line(name)) for name, _ in rows)
    return [line for name, text in rows for line in hanging(f"{visible_line(name):<{longest}}  ", text)]


def hanging(head: str, text: str) -> list[str]:
    """``text`` behind ``head``, in as many lines as the terminal needs for it; in one where there is no terminal."""
    whole = f"{head}{visible_line(text)}".rstrip()
    if not sys.stdout.isatty() or len(whole) <= width():
        return [whole]
    return textwrap.wrap(
        whole[len(head) :],
        max(40, width()),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def fitted(table: Sequence[Column], items: Sequence[Any]) -> list[str]:
    """The header and the rows, fitted to the terminal: optional columns are left out first, from the right."""
    needed = [column for column in table if not column.optional]
    optional = [column for column in table if column.optional]
    choices = [[*needed, *optional[:n]] for n in reversed(range(len(optional) + 1))]
    lines: list[str] = []
    for chosen in choices:
        heads = tuple(column.head for column in chosen)
        lines = columns([heads, *(tuple(column.text(item) for column in chosen) for item in items)])
        if max(map(cells, lines)) <= width():
            return lines
    short = [(column.head, column.short or column.text) for column in needed]
    heads = tuple(head for head, _ in short)
    return columns([heads, *(tuple(text(item) for _, text in short) for item in items)])


def paragraph(text: str, *, indent: str = "") -> str:
    """``text`` made visible, and wrapped to the terminal."""
    return textwrap.fill(
        visible(text),
        max(40, width()),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def coloured(text: str, colour: str | None) -> str:
    """``text`` in a colour, if standard output shows colours. A word beside it must have the same meaning."""
    if colour is None or not (wants_ansi(sys.stdout) and wants_colour()):
        return text
    escape = escape_for(sys.stdout)
    return f"{escape}[{colour}m{text}{escape}[0m"
