"""A conversation in a file of its own, in the form that the file's ending names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from localspec.base.errors import StoreError, UsageError, refused
from localspec.base.shared_file import new_private_file
from localspec.store.documents import ConversationDocument
from localspec.store.files.markdown import to_markdown
from localspec.store.files.native_json import to_json
from localspec.store.files.ndjson import to_ndjson

_MARKDOWN = "markdown"
_KINDS = {
    ".json": "json",
    ".ndjson": "ndjson",
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".txt": _MARKDOWN,
    "": _MARKDOWN,
}
"""What is written to a file, by its ending."""


def kind_of(path: Path) -> str:
    """The form that a file's ending names; Markdown, if it has none. Raises UsageError for any other ending."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(
            f"A conversation cannot be written as {path.suffix}.",
            "Endings that say how: .md and .txt for Markdown, .json for every version, .ndjson for every token.",
        )
    return kind


def write_new(document: ConversationDocument, path: Path) -> Path:
    """``.json`` has every version, ``.ndjson`` every token; see ``kind_of``. Returns where it is.

    Raises UsageError if the file is there already or its ending says nothing, StoreError if it cannot be written.
    """
    match kind_of(path):
        case "json":
            text = to_json([document]) + "\n"
        case "ndjson":
            text = "".join(f"{line}\n" for line in to_ndjson(document))
        case _:
            text = to_markdown(document)
    try:
        whole = path.expanduser()
        with new_file(whole) as file:
            file.write(text)
    except (ValueError, RuntimeError) as error:  # no name that a file can have, or the home of nobody
        raise StoreError(f"{path} cannot be written: {error}.", "Choose another file.") from None
    return whole


@contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """A file that was not there and nobody else may read: whole, or not there at all.

    Raises UsageError if it is there, StoreError if it cannot be written.
    """
    try:
        with new_private_file(path) as stream:
            yield stream
    except FileExistsError:
        raise UsageError(f"{path} is there already.", "Choose another name, or move it away.") from None
    except OSError as error:
        raise StoreError(*refused(f"{path} cannot be written", error, "choose another file")) from None
