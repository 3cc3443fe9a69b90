"""Text with its tokens marked by origin: by escape sequences of a terminal, or by plain characters.

Every origin has two cues, so that it can be seen without colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import groupby

from localspec.engine.events import Origin, Token

_BLUE, _ORANGE, _YELLOW = "38;5;75", "38;5;208", "38;5;220"
_BOLD, _UNDERLINED = "1", "4"

_COLOURED: Mapping[Origin, str] = {
    Origin.ACCEPTED: f"{_UNDERLINED};{_BLUE}",
    Origin.CORRECTED: f"{_BOLD};{_ORANGE}",
    Origin.BONUS: f"{_BOLD};{_UNDERLINED};{_YELLOW}",
}
_COLOURLESS: Mapping[Origin, str] = {
    Origin.ACCEPTED: _UNDERLINED,
    Origin.CORRECTED: _BOLD,
    Origin.BONUS: f"{_BOLD};{_UNDERLINED}",
}
_BRACKETS: Mapping[Origin, tuple[str, str]] = {
    Origin.ACCEPTED: ("[", "]"),
    Origin.CORRECTED: ("{", "}"),
    Origin.BONUS: ("<", ">"),
}


class Marks(StrEnum):
    """The kind of marks for the origin of tokens."""

    NEVER = "never"
    ANSI = "ansi"
    """Accepted underlined blue, corrected bold orange, bonus bold underlined yellow."""
    ASCII = "ascii"
    """[accepted], {corrected}, <bonus>."""


def marked(tokens: Iterable[Token], marks: Marks, *, colour: bool = True, escape: str = "\x1b") -> str:
    """The text of some tokens, neighbours of one origin marked together; plain tokens never are.

    ``escape`` is what the escape sequences begin with; see ``escape_for``.
    """
    runs = groupby(tokens, key=lambda token: token.origin)
    return "".join(_mark("".join(token.text for token in run), origin, marks, colour, escape) for origin, run in runs)


def _mark(text: str, origin: Origin, marks: Marks, colour: bool, escape: str) -> str:
    if not text or origin is Origin.PLAIN or marks is Marks.NEVER:
        return text
    if marks is Marks.ASCII:
        opening, closing = _BRACKETS[origin]
        return f"{opening}{text}{closing}"
    style = (_COLOURED if colour else _COLOURLESS)[origin]
    return f"{escape}[{style}m{text}{escape}[0m"
