"""Files attached to a message, written for the model in the form of ``file_blocks``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.base.errors import CapacityError
from localspec.chat.compose.mentions import mentions, readings
from localspec.chat.compose.sizes import kilobytes, lines, size_bytes
from localspec.store.file_blocks import TextFile, split_files

MAX_CHIPS = 5
"""Of so many attachments the names are shown where a message is shown in brief."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file, or the text files of a folder."""

    path: str
    """The path as it was written."""
    files: tuple[TextFile, ...]
    skipped_n: int = 0
    """Files of a folder that hold no text."""

    @property
    def block(self) -> str:
        """The files as the model reads them."""
        return "\n".join(file.block for file in self.files)

    @property
    def size_bytes(self) -> int:
        return sum(size_bytes(file.text) for file in self.files)

    @property
    def chip(self) -> str:
        """Path and size, in a few words."""
        n = len(self.files)
        what = f"{n} file{'s' if n != 1 else ''}" if self.path.endswith("/") else self.files[0].note
        return _chip(self.path, what, self.size_bytes)


def _chip(path: str, what: str, size: int) -> str:
    return f"{path}  {what}{', ' if what else ''}{kilobytes(size)}"


def with_files(attachments: Iterable[Attachment], text: str) -> str:
    """The message that the model reads."""
    return "".join(f"{attachment.block}\n" for attachment in attachments) + text


def without_files(content: str) -> tuple[list[str], str]:
    """Undo ``with_files``, for the eye: a chip for each file, and the message."""
    files, text = split_files(content)
    return [_chip(file.name, file.note, size_bytes(file.text)) for file in files], text


def attached_in(content: str) -> tuple[tuple[Attachment, ...], str]:
    """Undo ``with_files``, to go on with: the files of a folder that the message mentions are one attachment again."""
    files, text = split_files(content)
    attachments = []
    for path in (reading.path for mention in mentions(text) for reading in readings(mention)):
        attachment = _lying_at(path, files)
        if attachment.files:
            attachments.append(attachment)
            names = {file.name for file in attachment.files}
            files = [file for file in files if file.name not in names]
    return (*attachments, *(Attachment(file.name, (file,)) for file in files)), text


def _lying_at(path: str, files: Sequence[TextFile]) -> Attachment:
    """The attachment of a path: its own file, or the files below it."""
    if own := tuple(file for file in files if file.name == path):
        return Attachment(path, own)
    folder = as_folder(path)
    return Attachment(folder, tuple(file for file in files if file.name.startswith(folder)))


def as_folder(path: str) -> str:
    """The path of an attached folder, with one slash at its end."""
    return path.rstrip("/") + "/"


def brief(content: str, max_lines: int = 12, max_chars: int = 2000) -> str:
    """A message as a transcript shows it: files as chips, and of a long text the beginning and its length."""
    attachments, text = attached_in(content)
    chips = [attachment.chip for attachment in attachments[:MAX_CHIPS]]
    if (more_n := len(attachments) - MAX_CHIPS) > 0:
        chips.append(f"{more_n} more file{'s' if more_n != 1 else ''}")
    rows, room_n = text.split("\n"), max_lines - len(chips)
    if len(rows) > room_n + 1:
        text = "\n".join([*rows[:room_n], f"[{lines(len(rows) - room_n)} more]"])
    if len(text) > max_chars:
        text = f"{text[:max_chars]}… [{kilobytes(size_bytes(content))} in all]"
    return "\n".join([*(f"[{chip}]" for chip in chips), text])


def over_context(name: str, token_n: int, n_ctx: int) -> CapacityError:
    """The error for a file with more tokens than the context holds."""
    return CapacityError(
        f"{name} has {token_n:,} tokens, and the context holds {n_ctx:,}.",
        "Attach a part of it.",
    )
