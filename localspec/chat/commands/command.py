"""A command: one declaration for its key, its entry in the palette, its slash command, help and the line mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, Protocol

from localspec.chat.settings.conversation import Changed
from localspec.chat.tools.use import ToolUse
from localspec.runtime.chat_config import Settings
from localspec.store import StoredConversation


class FrontEnd(Protocol):
    """A front end as common commands use it: the settings of the open conversation, and a way to answer."""

    @property
    def settings(self) -> Settings:
        """The settings of the pair in use."""

    @property
    def stored(self) -> StoredConversation:
        """The open conversation."""

    def adopt(self, changed: Changed) -> None:
        """Store the conversation's changed settings and reply by them from now on."""

    def answer(self, text: str, **data: Any) -> None:
        """Show ``text``; ``data`` says the same to programs."""

    def ask(self, title: str, about: str, fields: Mapping[str, str], then: Callable[[Mapping[str, str]], None]) -> None:
        """Have a text typed for each field, which is given with the text to change, and then call ``then``.

        ``about`` explains the fields.
        """

    @property
    def tool_use(self) -> ToolUse:
        """The tools, and the servers."""

    def put_later(self, message: Future[str]) -> None:
        """As ``put`` once the message is there; an error is shown."""

    def put(self, message: str) -> None:
        """Take a message as if it was typed: put it into the prompt, or where there is none, send it."""


@dataclass(frozen=True, slots=True)
class LineForm:
    """The command in the line mode, where nothing can be chosen on a screen."""

    name: str
    help: str
    argument: str = ""
    """The argument, in brackets if it is optional."""
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
    """The argument of the slash command, for example PATH; empty if it takes none."""
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
    """True if the key must be pressed twice even where it is no letter: it deletes something."""
    line: LineForm | None = None
    """None if the line mode has no such command."""
    handler: Callable[[FrontEnd, str], None] | None = None
    """Does it in every front end, given the argument. None if each front end has a handler of its own:
    on screen a method marked with ``handles``, in the line mode a row of ``line/commands.py``.
    """


_Fields = ParamSpec("_Fields")


def _declaring(make: Callable[_Fields, Command]) -> Callable[Concatenate[Place, _Fields], Command]:
    """A method of ``Place`` with the parameters of ``make``."""

    def add(place: Place, /, *fields: _Fields.args, **named: _Fields.kwargs) -> Command:
        """Declare one more command, after those that are there."""
        command = make(*fields, **named)
        place.commands.append(command)
        return command

    return add


@dataclass(slots=True)
class Place:
    """Commands that count at the same time, so that no two may share a key."""

    title: str
    """The place, as help names it."""
    types: bool = False
    """True if the place has a field to type in."""
    commands: list[Command] = field(default_factory=list)

    add = _declaring(Command)


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
