"""Writing the conversation that is open to a file of its own."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from pathlib import Path

from localspec.base.errors import NotFoundError, StoreError, UsageError
from localspec.store import StoredConversation
from localspec.store.files import write_new

KINDS = {"markdown": ".md", "md": ".md", "json": ".json", "ndjson": ".ndjson"}
"""Words for what is written, and how such files end."""
_MAX_NAME = 60


def export(conversation: StoredConversation, folder: Path, name: str = "") -> Path:
    """Write it to a file that is not there yet; ``name`` is that of the file, or only of its kind.

    What could not be stored is written, too. Raises NotFoundError if nothing was said, UsageError if the file is there,
    StoreError if it cannot be written.
    """
    if not conversation.path:
        raise NotFoundError("There is nothing to export: nothing has been said yet.", "Write a message first.")
    conversation.flush()
    document = conversation.document()
    if name and name not in KINDS:
        return write_new(document, Path(name) if name.startswith("~") else folder / name)
    title, suffix = file_name(conversation.title), KINDS.get(name, ".md")
    for number in range(1, 1000):
        with suppress(UsageError):
            return write_new(document, folder / f"{title}{'' if number == 1 else f'-{number}'}{suffix}")
    raise StoreError(f"{folder} is full of exports of this name.", "Give the conversation another title.")


def file_name(title: str) -> str:
    """A title as a name that every system takes.

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
