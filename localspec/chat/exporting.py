"""Export of the open conversation to a new file."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from pathlib import Path

from localspec.base.errors import NotFoundError, OutputError, UsageError
from localspec.chat.compose.file_reading import unquoted
from localspec.store import StoredConversation
from localspec.store.files import write_new

KINDS = {"markdown": ".md", "md": ".md", "html": ".html", "json": ".json", "ndjson": ".ndjson"}
"""Kinds of files by the words for them, with their suffixes."""
_MAX_NAME = 60


def export(conversation: StoredConversation, folder: Path, name: str = "") -> Path:
    """Write a conversation to a new file and return its path; ``name`` is a kind of files, the file's name, or both.

    Messages that could not be stored are written, too. Raises NotFoundError if it is empty, UsageError if the file
    exists or its ending is unknown, OutputError if it cannot be written.
    """
    if not conversation.path:
        raise NotFoundError("There is nothing to export: nothing has been said yet.", "Write a message first.")
    conversation.flush()
    document = conversation.document()
    name = unquoted(name)
    kind, _, named = name.partition(" ")
    if suffix := KINDS.get(kind.lower(), ""):
        named = unquoted(named)
        name = named if named.endswith(suffix) or not named else f"{named}{suffix}"
    if name:
        return write_new([document], Path(name) if name.startswith("~") else folder / name)
    title = file_name(conversation.title)
    for number in range(1, 1000):
        with suppress(UsageError):
            return write_new([document], folder / f"{title}{'' if number == 1 else f'-{number}'}{suffix or '.md'}")
    raise OutputError(f"{folder} is full of exports of this name.", "Give the conversation another title.")


def file_name(title: str) -> str:
    """A title as a file name that every system accepts.

    >>> file_name("Why is the sky blue?")
    'why-is-the-sky-blue'
    """
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", title).lower())
    name = ""
    for word in words:
        if len((name + word).encode()) > _MAX_NAME:
            break
        name = f"{name}-{word}" if name else word
    return name or "conversation"
