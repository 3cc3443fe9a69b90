"""The export of conversations, as text or into a new file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from localspec.base.errors import OutputError, UsageError, refused
from localspec.base.paths import expanded
from localspec.base.shared_file import new_private_file
from localspec.store.documents import ConversationDocument
from localspec.store.files.html import to_html
from localspec.store.files.images import with_images_beside
from localspec.store.files.markdown import to_markdown
from localspec.store.files.native_json import to_json
from localspec.store.files.ndjson import to_ndjson

_MARKDOWN = "markdown"
_KINDS = {
    ".json": "json",
    ".ndjson": "ndjson",
    ".html": "html",
    ".htm": "html",
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".txt": _MARKDOWN,
    "": _MARKDOWN,
}
"""The format by the suffix of the file."""


def kind_of(path: Path) -> str:
    """The format for a file's suffix, Markdown without one. Raises UsageError for an unknown suffix."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(
            f"A conversation cannot be written as {path.suffix}.",
            "Choose .md or .txt for Markdown, .html for a page with the token colours, .json for every version, "
            ".ndjson for every token.",
        )
    return kind


def text_of(documents: Iterable[ConversationDocument], kind: str) -> Iterator[str]:
    """The text of conversations in a format, piece by piece."""
    match kind:
        case "json":
            yield to_json(list(documents)) + "\n"
        case "html":
            yield to_html(list(documents))
        case "ndjson":
            for document in documents:
                yield from (f"{line}\n" for line in to_ndjson(document))
        case _:
            for number, document in enumerate(documents):
                yield ("\n---\n\n" if number else "") + to_markdown(document)


def write_new(documents: Iterable[ConversationDocument], path: Path, kind: str | None = None) -> Path:
    """Export conversations into a new file and return its path, with ``~`` expanded; see ``kind_of`` for the format.

    Raises UsageError if the file exists or its suffix is unknown, OutputError if it cannot be written.
    """
    kind, whole = kind or kind_of(path), expanded(path)
    text = text_of(documents, kind)
    with ExitStack() as opened:
        try:
            file = opened.enter_context(new_file(whole))
        except ValueError as error:  # an impossible name
            raise OutputError(f"{path} cannot be written: {error}.", "Choose another file.") from None
        file.writelines([with_images_beside("".join(text), whole)] if kind == _MARKDOWN else text)
    return whole


@contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """A stream into a new file, readable by its owner alone; it has its name once it is complete.

    Raises UsageError if the file exists, OutputError if it cannot be written.
    """
    try:
        with new_private_file(path) as stream:
            yield stream
    except FileExistsError:
        raise UsageError(f"{path} already exists.", "Choose another name, or move it away.") from None
    except OSError as error:
        raise OutputError(*refused(f"{path} cannot be written", error, "choose another file")) from None
