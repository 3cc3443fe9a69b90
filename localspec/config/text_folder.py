"""Folders of the configuration with texts of the user's own, each a file called by its name: personas and prompts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from localspec.base.errors import OWN_FOLDER, InputError, NotFoundError, StoreError, UsageError, refused
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file
from localspec.config.kinds import NONE
from localspec.config.texts import read_setting

SUFFIXES = (".md", ".txt")
_NAME = re.compile(r"[^\s/\\.][^/\\]{0,60}")


@dataclass(frozen=True, slots=True)
class TextFolder:
    """One such folder."""

    name: str
    noun: str
    """The word for one text."""
    what: str
    """The content of a text, in a noun."""
    about: str
    """A sentence for a person who is about to write one."""

    @property
    def path(self) -> Path:
        return user_paths().config / self.name

    def names(self) -> tuple[str, ...]:
        """The names there are, in alphabetical order; of two files of one name the first suffix counts."""
        try:
            files = list(self.path.iterdir())
        except OSError:
            return ()
        found = {path.stem for path in files if path.suffix in SUFFIXES and not path.name.startswith(".")}
        return tuple(sorted(found - {NONE}, key=str.casefold))

    def find(self, name: str) -> Path:
        """The file of a text. Raises NotFoundError, with a name that is near."""
        from difflib import get_close_matches

        there = self.names()
        if name in there:
            paths = [self.path / f"{name}{suffix}" for suffix in SUFFIXES]
            return next(path for path in paths if os.path.lexists(path))
        if not there:
            hint = f"Put its {self.what} into {self.path / name}.md."
        elif close := get_close_matches(name, there, n=1):
            hint = f"Did you mean {close[0]}?"
        else:
            hint = f"There are: {', '.join(there)}."
        raise NotFoundError(f"There is no {self.noun} {name!r}.", hint)

    def read(self, name: str) -> str:
        """A text. Raises NotFoundError, InputError if it is empty or no text."""
        path = self.find(name)
        text = read_setting(path).strip()
        if not text:
            raise InputError(f"The {self.noun} {name!r} is empty.", f"Write its {self.what} into {path}.")
        return text

    def write(self, name: str, text: str) -> Path:
        """Write a text into its file, or into a new one. Raises UsageError, StoreError."""
        if not text.strip():
            raise UsageError(f"A {self.noun} cannot be empty.", "Nothing was written.")
        try:
            path = self.find(name)
        except NotFoundError:
            path = self.path / f"{self.checked(name)}.md"
        try:
            replace_file(path, f"{text.strip()}\n".encode("utf-8", "replace"))
        except (OSError, ValueError) as error:
            reason = error if isinstance(error, OSError) else OSError(str(error))
            raise StoreError(*refused(f"{path} cannot be written", reason, OWN_FOLDER)) from None
        return path

    def checked(self, name: str) -> str:
        """The name, if a file can have it. Raises UsageError."""
        if not _NAME.fullmatch(name) or not name.isprintable() or name == NONE:
            raise UsageError(f"A {self.noun} cannot be called {name!r}.", "Use letters, digits and dashes.")
        return name


PERSONAS = TextFolder(
    *("personas", "persona", "system prompt"),
    "Who is to speak, and how: the model reads this before every conversation with the persona.",
)
PROMPTS = TextFolder(
    *("prompts", "prompt", "text"),
    "Names in double braces become fields: {{text}}, or {{language|English}} with a text to begin with.",
)


def read_persona(name: str) -> str | None:
    """The system prompt of a persona; None for ``none``. Raises NotFoundError, InputError."""
    return None if name == NONE else PERSONAS.read(name)


def check_persona(name: str) -> None:
    """Raise NotFoundError if there is no such persona."""
    if name != NONE:
        PERSONAS.find(name)
