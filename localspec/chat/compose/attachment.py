"""Files attached to a message: read, checked, and written for the model in the form of ``file_blocks``."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import CapacityError, InputError, LocalSpecError, NotFoundError
from localspec.chat.compose.cleaning import cleaned
from localspec.chat.compose.file_tree import list_files
from localspec.chat.compose.mentions import mentions, readings
from localspec.chat.compose.sizes import kilobytes, lines, size_bytes
from localspec.store.file_blocks import file_block, split_files

MAX_BYTES = 4_000_000
"""The most text taken in at once, whatever the context: about a million tokens."""
MOST_BYTES_A_TOKEN = 8
"""On average over a whole file; a file with more than that a token of context cannot fit."""
MAX_FOLDER_FILES = 500

MAX_CHIPS = 5
"""Of so many attachments the names are shown where a message is shown in brief."""

_PROBE_BYTES = 8192


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text, and its name in the message."""

    name: str
    text: str

    @property
    def block(self) -> str:
        """The file as the model reads it."""
        return file_block(self.name, self.text)


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
        what = kilobytes(self.size_bytes)
        if self.path.endswith("/"):
            n = len(self.files)
            what = f"{n} file{'s' if n != 1 else ''}, {what}"
        return _chip(self.path, what)


def _chip(path: str, what: str) -> str:
    return f"{path}  {what}"


def with_files(attachments: Iterable[Attachment], text: str) -> str:
    """The message that the model reads."""
    return "".join(f"{attachment.block}\n" for attachment in attachments) + text


def without_files(content: str) -> tuple[list[str], str]:
    """Undo ``with_files``, for the eye: a chip for each file, and the message."""
    files, text = split_files(content)
    return [_chip(name, kilobytes(size_bytes(inside))) for name, inside in files], text


def attached_in(content: str) -> tuple[tuple[Attachment, ...], str]:
    """Undo ``with_files``, to go on with: the files of a folder that the message mentions are one attachment again."""
    found, text = split_files(content)
    files = [TextFile(name, inside) for name, inside in found]
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


def read_attachment(path: Path, name: str, n_ctx: int | None = None) -> Attachment:
    """The text of a file or of a folder's files, called ``name``.

    ``n_ctx`` is the context it has to fit into, where that is known. Raises NotFoundError, InputError if it is
    not text or cannot be read, CapacityError if it is too large.
    """
    limit_bytes = min(MAX_BYTES, n_ctx * MOST_BYTES_A_TOKEN) if n_ctx else MAX_BYTES
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _read_folder(path, as_folder(name), limit_bytes, n_ctx)
        if not stat.S_ISREG(mode):
            raise InputError(f"{name} is not a file of text.", "Attach a regular file or a folder.")
        text = _read_text(path, name, limit_bytes, n_ctx)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {name}.", "Type @ and a part of its name to search.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read ({_reason(error)}).", "Check its permissions.") from None
    return Attachment(name, (TextFile(name, text),))


def _read_text(path: Path, name: str, limit_bytes: int, n_ctx: int | None) -> str:
    data = read_beginning(path, limit_bytes + 1)
    if b"\0" in data[:_PROBE_BYTES]:
        raise InputError(f"{name} is not text, so the model could not read it.", "Attach a file of plain text.")
    if len(data) > limit_bytes:
        raise _too_large(name, n_ctx, limit_bytes)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text.", "Convert it first, for example with iconv.") from None
    if not text.strip():
        raise InputError(f"{name} is empty.", "There is nothing in it to attach.")
    return cleaned(text)[0]


def _read_folder(path: Path, name: str, limit_bytes: int, n_ctx: int | None) -> Attachment:
    next(os.scandir(path), None)  # says why, if it cannot be read
    listing = list_files(path)
    names = [found for found in listing.paths if not found.endswith("/")]
    if not listing.complete or len(names) > MAX_FOLDER_FILES:
        raise CapacityError(f"{name} holds more than {MAX_FOLDER_FILES} files.", "Attach one of its folders instead.")
    files, left_bytes = [], limit_bytes
    for found in sorted(names):
        try:
            text = _read_text(path / found, f"{name}{found}", left_bytes, n_ctx)
        except CapacityError:
            raise _too_large(name, n_ctx, limit_bytes) from None
        except (LocalSpecError, OSError):
            continue
        left_bytes -= size_bytes(text)
        files.append(TextFile(f"{name}{found}", text))
    if not files:
        raise InputError(f"{name} holds no text files.", "Hidden files and build folders are passed over.")
    return Attachment(name, tuple(files), len(names) - len(files))


def _too_large(name: str, n_ctx: int | None, limit_bytes: int) -> CapacityError:
    hint = "Attach a part of it."
    if n_ctx is None or limit_bytes >= MAX_BYTES:
        return CapacityError(f"{name} is larger than {kilobytes(MAX_BYTES)}, more than can be attached.", hint)
    return CapacityError(f"{name} is larger than the context of {n_ctx:,} tokens.", hint)


def over_context(name: str, token_n: int, n_ctx: int) -> CapacityError:
    """The error for a file with more tokens than the context holds."""
    return CapacityError(
        f"{name} has {token_n:,} tokens, and the context holds {n_ctx:,}.",
        "Attach a part of it.",
    )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
