"""Writing the conversation that is open to a file of its own."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from localspec.errors import NotFoundError, StoreError
from localspec.store import Store, StoredConversation
from localspec.store.files import to_markdown

_MAX_NAME = 60


def export_markdown(store: Store, conversation: StoredConversation, folder: Path) -> Path:
    """Write the branch that is shown; no file that is there already is touched.

    Raises NotFoundError if nothing was said, StoreError if the conversation cannot be read or the file not be written.
    """
    if not conversation.path:
        raise NotFoundError("There is nothing to export: nothing has been said yet.")
    conversation.flush()
    text = to_markdown(store.document(conversation.id))
    name = file_name(conversation.title)
    try:
        for number in range(1, 1000):
            path = folder / (f"{name}.md" if number == 1 else f"{name}-{number}.md")
            try:
                with path.open("x", encoding="utf-8", errors="replace") as file:
                    file.write(text)
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written: {error.strerror or error}.", "Start in another folder."
        ) from None
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
