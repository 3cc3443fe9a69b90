"""A command: one declaration for its key, its entry in the palette, its slash command, help and the line mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from localspec.chat.settings.conversation import Changed
from localspec.config import Value
from localspec.runtime.chat_config import Settings


class FrontEnd(Protocol):
    """The chat as a command meets it in every front end: the open conversation's settings, and the reader."""

    @property
    def settings(self) -> Settings:
        """Those of the pair in use."""
        ...

    @property
    def own(self) -> Mapping[str, Value]:
        """What the open conversation sets for itself."""
        ...

    def adopt(self, changed: Changed) -> None:
        """Store the conversation's changed settings and reply by them from now on."""
        ...

    def answer(self, text: str, **data: Any) -> None:
        """Tell the reader; ``data`` is the same for programs."""
        ...


@dataclass(frozen=True, slots=True)
class LineForm:
    """The command in the line mode, where nothing can be chosen on a screen."""

    name: str
    help: str
    argument: str = ""
    """What may follow the name; in brackets if it need not."""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do, and every way to do it."""

    id: str
    """The name in key maps and in the settings file; it never changes."""
    keys: str
    """Textual's names, comma-separated; the first is the one shown."""
    title: str
    """One or two words, for the row of hints and the palette."""
    help: str
    """A sentence."""
    slash: str = ""
    """The slash command, without the slash; empty if there is none."""
    argument: str = ""
    """What may follow the slash command, for example PATH; empty if nothing."""
    also: tuple[str, ...] = ()
    """Other words for it, which the palette and the prompt understand too."""
    hinted: bool = False
    """True if the row of hints shows it."""
    in_prompt: bool = False
    """True if the key counts only while the prompt has the focus; the text area handles it."""
    in_palette: bool = True
    in_turn: bool = False
    """True if the key counts, and is hinted, only while a turn is chosen."""
    twice: bool = False
    """True if the key must be pressed twice: it deletes something, and may be the first letter of a message."""
    line: LineForm | None = None
    """None if the line mode has no such command."""
    handler: Callable[[FrontEnd, str], None] | None = None
    """Does it in every front end, given the argument. None if each front end has a handler of its own:
    on screen a method marked with ``handles``, in the line mode a row of ``line/commands.py``.
    """


@dataclass(slots=True)
class Place:
    """Commands that count at the same time, so that no two may share a key."""

    title: str
    """As help names the place."""
    types: bool = False
    """True if somebody types there, whatever the command."""
    commands: list[Command] = field(default_factory=list)

    def add(self, command: Command) -> Command:
        """Declare one more, after those that are there."""
        self.commands.append(command)
        return command


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
    """The first of a command's keys as people write it: ``ctrl+t`` is "Ctrl+T"."""
    parts = keys.split(",")[0].split("+")
    return "+".join(_KEY_WORDS.get(part, _capital(part, parts)) for part in parts)


def _capital(part: str, parts: list[str]) -> str:
    """Capitalise; a letter that is a key by itself stays as it is, since Shift makes it another key."""
    return part if len(part) == 1 and len(parts) == 1 else part.capitalize()
