"""Tokens with their origin, in a terminal or in plain characters: text in, text out.

Every origin has two cues, so that nothing is lost without colour. Knows nothing of streams; whoever
writes decides which ``Marks`` fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import groupby

from localspec.engine.events import Origin, Token

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of the text around them."""

_RESET = "\x1b[0m"
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
    """How the origin of a token is shown."""

    NEVER = "never"
    ANSI = "ansi"
    """Accepted underlined blue, corrected bold orange, bonus bold underlined yellow."""
    ASCII = "ascii"
    """[accepted], {corrected}, <bonus>."""


def marked(tokens: Iterable[Token], marks: Marks, *, colour: bool = True, clean: Callable[[str], str] = str) -> str:
    """The text of some tokens, neighbours of one origin marked together; plain tokens never are.

    ``clean`` is applied to the tokens' own text, before the marks.
    """
    runs = groupby(tokens, key=lambda token: token.origin)
    return "".join(_mark(clean("".join(token.text for token in run)), origin, marks, colour) for origin, run in runs)


def harmless(text: str) -> str:
    """``text`` for a terminal: signs that would steer it, which a model may write like any other, become U+FFFD."""
    return _STEERING.sub("\ufffd", text)


def _mark(text: str, origin: Origin, marks: Marks, colour: bool) -> str:
    if not text or origin is Origin.PLAIN or marks is Marks.NEVER:
        return text
    if marks is Marks.ASCII:
        opening, closing = _BRACKETS[origin]
        return f"{opening}{text}{closing}"
    style = (_COLOURED if colour else _COLOURLESS)[origin]
    return f"\x1b[{style}m{text}{_RESET}"
