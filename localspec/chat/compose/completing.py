"""Completion: the commands, files or sent messages that the list above the prompt offers. Knows no widgets.

A list is about a place in the text: accepting a choice replaces what stands between ``start`` and the cursor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path

from localspec.base.fuzzy import fuzzy
from localspec.chat.commands.slash import find_command, matching_commands
from localspec.chat.compose.file_tree import Listing, list_files, list_folder
from localspec.chat.compose.history import search
from localspec.chat.compose.mentions import Mention, written
from localspec.chat.compose.message import WrittenMessage

MAX_CHOICES = 50
PATHS = ("FILE", "PATH")
"""The arguments of commands that are paths."""
ABOVE = ("/", "~", "..", "./")
"""Beginnings of paths that do not lie below the current folder, or are meant exactly."""

_LOOKING = "Looking for files…"


class CompletionKind(Enum):
    """The kind of the choices."""

    COMMAND = auto()
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
