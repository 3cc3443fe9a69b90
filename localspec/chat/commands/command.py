"""Everything a person can do on the chat screen: one table for keys, palette, commands and help.

Pure data. The screen turns it into bindings, the help screen into a page, the prompt into commands;
whatever is documented elsewhere can be checked against it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, and every way to do it."""

    id: str
    """Names the binding, so that keys can be changed without touching code."""
    keys: str
    """Textual's names, comma-separated; the first is the one shown."""
    title: str
    """One or two words, for the row of hints and the palette."""
    help: str
    """A sentence."""
    handler: str
    """Textual's name of the method that does it."""
    command: str | None = None
    """The slash command, without the slash."""
    hinted: bool = False
    """Whether the row of hints shows it."""
    in_palette: bool = True
    in_turn: bool = False
    """Whether the keys count only while a turn is chosen, and are hinted then."""
    twice: bool = False
    """Whether its key has to be pressed twice: it takes something away, and may be the first letter of a message."""
    takes: str = ""
    """What the command may be followed by, for example PATH."""
    also: tuple[str, ...] = ()
    """What people call it besides: the palette finds it so, and the prompt understands it as the command."""


_KEY_WORDS = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "Page Up",
    "pagedown": "Page Down",
    "end": "End",
    "at": "@",
    "left": "←",
    "right": "→",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "question_mark": "?",
    "colon": ":",
    "slash": "/",
}


def key_label(keys: str) -> str:
    """The first of an action's keys as people write it: ``ctrl+t`` is "Ctrl+T"."""
    parts = keys.split(",")[0].split("+")
    return "+".join(_KEY_WORDS.get(part, _capital(part, parts)) for part in parts)


def _capital(part: str, parts: list[str]) -> str:
    """A letter by itself is told from the same one with shift."""
    return part if len(part) == 1 and len(parts) == 1 else part.capitalize()
