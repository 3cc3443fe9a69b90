"""Completion: commands, their arguments, files and messages sent before, as front ends offer them. Knows no widgets.

A list is about a place in the text: accepting a choice replaces what stands between ``start`` and the cursor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.base.fuzzy import fuzzy
from localspec.chat.commands.command import Command
from localspec.chat.commands.slash import command_parts, find_command, matching_commands
from localspec.chat.compose.file_tree import Listing, list_files, list_folder
from localspec.chat.compose.history import search
from localspec.chat.compose.mentions import Mention, written
from localspec.chat.compose.message import WrittenMessage
from localspec.config import SETTINGS, setting
from localspec.config.kinds import NONE, Choice
from localspec.config.text_folder import PERSONAS, PROMPTS

if TYPE_CHECKING:
    from localspec.chat.tools.toolbox import Toolbox

MAX_CHOICES = 50
PATHS = ("FILE", "PATH")
"""The arguments of commands that are paths."""
_SEVERAL = "PAIRS"
_MORE_FOLLOWS = (_SEVERAL, "NAME VALUE")
"""The arguments of commands that a value only begins."""
ABOVE = ("/", "~", "..", "./")
"""Beginnings of paths that do not lie below the current folder, or are meant exactly."""

_LOOKING = "Looking for files…"


class CompletionKind(Enum):
    """The kind of the choices."""

    COMMAND = auto()
    """A command, or one with its argument: all of the line."""
    FILE = auto()
    """A file to be attached."""
    PATH = auto()
    """The argument of a command."""
    SENT = auto()


@dataclass(frozen=True, slots=True)
class Completion:
    value: str
    """The text to insert."""
    label: str
    note: str = ""
    final: bool = True
    """False if more is to be written: for a folder, or a command with an argument."""
    message: WrittenMessage | None = None
    """A message sent before, marks and all."""


@dataclass(frozen=True, slots=True)
class CompletionOffer:
    """A list, and where in the line it belongs."""

    kind: CompletionKind
    choices: tuple[Completion, ...]
    start: int = 0
    """The column in the cursor's line where what is replaced begins."""
    empty: str = ""
    """The note for a list without choices; a list with neither is not shown."""
    more: str = ""
    """A note below the choices."""


def command_offer(text: str) -> CompletionOffer | None:
    """The commands that ``text`` may become."""
    choices = tuple(
        Completion(
            f"/{command.slash} " if command.argument else f"/{command.slash}",
            f"/{command.slash} {command.argument}".strip(),
            command.help,
            final=not command.argument,
        )
        for command in matching_commands(text)
    )
    return CompletionOffer(CompletionKind.COMMAND, choices) if choices else None


def argument_values(command: str, tools: Toolbox) -> Mapping[str, str]:
    """The values that the argument of a command may begin with, and notes; none where it is free text.

    Reads files. Raises LocalSpecError.
    """
    match command:
        case "pair" | "pairs" | "compare":
            return pairs_here()
        case "persona":
            return dict.fromkeys((NONE, *PERSONAS.names()), "")
        case "prompt":
            return dict.fromkeys(PROMPTS.names(), "") | {each.full_name: each.about for each in tools.prompts}
        case "set" | "unset":
            return {each.key: each.help for each in SETTINGS if each.per_conversation}
        case "theme":
            kind = setting("theme").kind
            assert isinstance(kind, Choice)
            return dict.fromkeys(kind.all_words, "")
    return {}


def pairs_here() -> Mapping[str, str]:
    """The titles of the pairs whose files are here, by their ids. Raises LocalSpecError."""
    from localspec.models.pairs import load_catalogue
    from localspec.models.pairs.state import HERE, state_of

    return {pair.id: pair.title for pair in load_catalogue().pairs if state_of(pair).state == HERE}


def command_with_argument(text: str) -> Command | None:
    """The command whose argument ``text`` goes on with; None if that has not begun."""
    return find_command(text) if " " in text else None


def value_offer(command: Command, text: str, values: Mapping[str, str]) -> CompletionOffer | None:
    """The values that may stand at the end of ``text``, a command with its argument."""
    lead, _, typed = text.rpartition(" ")
    named = command_parts(lead)[1].split()
    if named and not (command.argument == _SEVERAL and values.keys() >= set(named)):
        return None
    more = command.argument in _MORE_FOLLOWS
    fitting = [value for value in values if value.lower().startswith(typed.lower()) and value not in named]
    choices = tuple(
        Completion(f"{lead} {value}{' ' if more else ''}", value, values[value], final=not more)
        for value in sorted(fitting, key=lambda value: value != typed)
    )
    return CompletionOffer(CompletionKind.COMMAND, choices) if choices else None


def sent_offer(messages: Sequence[WrittenMessage], query: str) -> CompletionOffer:
    """Messages sent before, the newest first."""
    found = search(messages, query, MAX_CHOICES)
    choices = tuple(Completion(message.text, " ".join(message.text.split()), message=message) for message in found)
    return CompletionOffer(
        CompletionKind.SENT, choices, empty="No message like that." if messages else "No messages were sent yet."
    )


def path_argument(line: str, column: int) -> Mention | None:
    """The path behind a command, as far as it is written at this place of a line; None for any other command."""
    before = line[:column]
    command = find_command(before)
    if command is None or command.argument not in PATHS or " " not in before:
        return None
    path = before.partition(" ")[2].lstrip()
    return Mention(column - len(path), column, path.lstrip("\"'"))


@dataclass(frozen=True, slots=True)
class CompletionPlace:
    """The listing that a mention needs: all files below the current folder, or those of one folder."""

    folder: str
    """The folder as written, with a slash at its end; empty for all files below the current one."""
    query: str
    """The letters to match."""

    def look(self, current: Path) -> Listing:
        """List it; takes a while, and never raises."""
        if not self.folder:
            return list_files(current)
        try:
            return list_folder(current / Path(self.folder).expanduser())
        except RuntimeError:  # ~ of a user who does not exist
            return Listing(())


def place_of(mention: Mention, known: Listing | None) -> CompletionPlace:
    """The listing for a mention; ``known`` is that of the current folder, once it has been read."""
    folder, slash, name = mention.path.rpartition("/")
    if slash and (mention.path.startswith(ABOVE) or (known is not None and f"{folder}/" not in known.paths)):
        return CompletionPlace(f"{folder}/", name)
    if mention.path in ("~", ".."):
        return CompletionPlace(f"{mention.path}/", "")
    return CompletionPlace("", mention.path)


def file_offer(
    mention: Mention,
    place: CompletionPlace,
    listing: Listing | None,
    keys: tuple[str, str],
    others: Mapping[str, str],
) -> CompletionOffer:
    """Files and folders that may be meant; ``keys`` attach one, and look into a folder.

    ``others`` are names of what is no file and can be attached, with notes.
    """
    if listing is None:
        return CompletionOffer(CompletionKind.FILE, (), mention.start, empty=_LOOKING)
    attach, into = keys
    note = ", ".join(filter(None, (attach and f"{attach} attaches the folder", into and f"{into} looks into it")))
    names = list(others)
    fitting = (names[match.index] for match in fuzzy(mention.path, names, MAX_CHOICES, shorter_first=True))
    files = (_choice(path, written(path), note) for path in _fitting(place, listing))
    choices = (*files, *(Completion(written(name), name, others[name]) for name in fitting))[:MAX_CHOICES]
    more = "" if listing.complete else "There are more files than were looked at; write a folder and / to look into it."
    # An @ need not be a mention: where no file fits, no note is shown.
    return CompletionOffer(CompletionKind.FILE, choices, mention.start, more=more if choices else "")


def path_offer(told: Mention, place: CompletionPlace, listing: Listing | None, key: str) -> CompletionOffer | None:
    """Files and folders for the argument of a command; ``key`` completes a name. None once a file is named."""
    if listing is None:
        return CompletionOffer(CompletionKind.PATH, (), told.start, empty=_LOOKING)
    if not place.query.endswith("/") and place.query in listing.paths:
        return None
    choices = tuple(_choice(path, path, key and f"{key} looks into it") for path in _fitting(place, listing))
    return CompletionOffer(CompletionKind.PATH, choices, told.start)


@lru_cache(maxsize=2)
def _fitting(place: CompletionPlace, listing: Listing) -> tuple[str, ...]:
    """Paths as they are to be written, the best first. Each letter asks more than once, so the last are remembered."""
    hidden_wanted = place.query.startswith(".")
    candidates = [path for path in listing.paths if hidden_wanted or not path.startswith(".")]
    found = fuzzy(place.query, candidates, MAX_CHOICES, shorter_first=True)
    return tuple(f"{place.folder}{candidates[match.index]}" for match in found)


def _choice(path: str, value: str, folder_note: str) -> Completion:
    is_folder = path.endswith("/")
    return Completion(value, path, folder_note if is_folder else "", final=not is_folder)
