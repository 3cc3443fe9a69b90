"""A conversation in a file of its own, in the form that the file's ending names."""

from __future__ import annotations

from pathlib import Path

from localspec.errors import StoreError, UsageError
from localspec.store.documents import ConversationDocument
from localspec.store.files.markdown import to_markdown
from localspec.store.files.ndjson import to_ndjson
from localspec.store.files.ours import to_json

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
        with whole.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already.", "Choose another name.") from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise StoreError(f"{path} cannot be written: {reason}.", "Choose another place.") from None
    return whole
