"""The filing of conversations: one folder, any number of tags, and the archive, with the words that name them.

``thesis/notes #physics`` files a conversation in the folder ``thesis/notes`` with the tag ``physics``. In a search or
a filter ``folder:thesis``, ``tag:physics`` and ``is:archived`` keep what is filed there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from localspec.store.documents import Heading

_MAX_LENGTH = 60
_WORDS = re.compile(r'"[^"]*"?|(?<!\S)(tag|folder|is):(?:"([^"]*)"?|(\S+))', re.IGNORECASE)
_ARCHIVED, _ANY = "archived", "any"


def folder_name(text: str) -> str:
    """A folder's name on one line, with one slash between its levels; empty for no folder."""
    levels = (_printable(" ".join(level.split())) for level in text[: 2 * _MAX_LENGTH].split("/"))
    return "/".join(filter(None, levels))[:_MAX_LENGTH].strip("/ ")


def tag_names(words: Iterable[str]) -> tuple[str, ...]:
    """Tags in alphabetical order, each once, in lower case and without their sign."""
    found = (_printable("".join(word.lower().split())).strip("#")[:_MAX_LENGTH] for word in words)
    return tuple(sorted({tag for tag in found if tag}))


@dataclass(frozen=True, slots=True)
class Filing:
    """A folder and tags, as people write them."""

    folder: str = ""
    tags: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> Filing:
        """The words that begin with # are tags; the others are the folder."""
        words = text.split()
        tags = [word for word in words if word.startswith("#")]
        return Filing(folder_name(" ".join(word for word in words if not word.startswith("#"))), tag_names(tags))

    @staticmethod
    def of(heading: Heading) -> Filing:
        return Filing(heading.folder, heading.tags)

    @staticmethod
    def common(headings: Iterable[Heading]) -> Filing:
        """The filing that all headings share."""
        filings = [Filing.of(heading) for heading in headings]
        folders = {filing.folder for filing in filings}
        tags = set.intersection(*(set(filing.tags) for filing in filings)) if filings else set()
        return Filing(folders.pop() if len(folders) == 1 else "", tag_names(tags))

    def __str__(self) -> str:
        return " ".join(filter(None, (self.folder, *(f"#{tag}" for tag in self.tags))))

    def changed(self, heading: Heading, before: Filing) -> Heading:
        """A heading to which the difference between ``before`` and this is applied; its other tags stay."""
        tags = (set(heading.tags) - set(before.tags)) | set(self.tags)
        folder = self.folder if self.folder != before.folder else heading.folder
        return replace(heading, folder=folder, tags=tag_names(tags))


@dataclass(frozen=True, slots=True)
class FilingFilter:
    """The conversations that a filter keeps. Without any words these are all but the archived ones."""

    folders: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    archived: bool | None = False
    """True for archived ones alone, None for all."""

    @staticmethod
    def parse(text: str) -> tuple[FilingFilter, str]:
        """The filter in a text, and the rest of it; words in double quotes are never a filter."""
        folders, tags, rest, end = [], [], [], 0
        archived: bool | None = False
        for part in _WORDS.finditer(text):
            kind, value = (part[1] or "").lower(), (part[2] or part[3] or "").strip()
            if not kind or not value or (kind == "is" and value.lower() not in (_ARCHIVED, _ANY)):
                continue
            rest.append(text[end : part.start()])
            end = part.end()
            if kind == "folder":
                folders.append(folder_name(value).casefold())
            elif kind == "tag":
                tags.append(value)
            else:
                archived = True if value.lower() == _ARCHIVED else None
        return FilingFilter(tuple(folders), tag_names(tags), archived), "".join([*rest, text[end:]])

    def __bool__(self) -> bool:
        """True if the text said anything."""
        return self != FilingFilter()

    def holds(self, heading: Heading) -> bool:
        """True for a conversation that it keeps; a folder holds the folders below it."""
        if self.archived is not None and heading.archived is not self.archived:
            return False
        own = heading.folder.casefold()
        in_folders = all(own == folder or own.startswith(f"{folder}/") for folder in self.folders)
        return in_folders and set(self.tags) <= set(heading.tags)


def _printable(text: str) -> str:
    return "".join(filter(str.isprintable, text))
