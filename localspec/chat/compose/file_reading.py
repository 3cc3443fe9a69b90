"""Files and folders that are to be attached, read as text or as an image, or refused with a sentence."""

from __future__ import annotations

import os
import shlex
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from errno import ENAMETOOLONG, ENOENT, ENOTDIR
from pathlib import Path

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import CapacityError, InputError, LocalSpecError, NotFoundError, reason_of
from localspec.chat.compose.attachment import Attachment, as_folder, searched
from localspec.chat.compose.cleaning import cleaned
from localspec.chat.compose.file_tree import list_files
from localspec.chat.compose.sizes import kilobytes, size_bytes
from localspec.chat.images.reading import is_image, read_image
from localspec.chat.papers.kinds import kind_of
from localspec.chat.papers.passages import index_of
from localspec.chat.papers.reading import read_paper
from localspec.store.file_blocks import TextFile

MAX_BYTES = 16_000_000
"""The most text taken in at once; of what is too large for the context, passages go along."""
MAX_FOLDER_FILES = 500
INDEXED_BYTES = 50_000
"""The size from which passages are made here, and not only when they are needed: that takes longer than a frame."""

_PROBE_BYTES = 8192
_NO_FILE = (ENOENT, ENOTDIR, ENAMETOOLONG)
"""The refusals of the operating system for names that no file has."""


def read_attachment(
    path: Path, name: str, n_ctx: int | None = None, cancelled: Callable[[], bool] = lambda: False
) -> Attachment:
    """The text of a file, a paper or the files of a folder, called ``name``, or an image.

    ``n_ctx`` is the context it goes into, where that is known. Once ``cancelled`` is true, nobody waits for it.
    Raises NotFoundError, InputError if it is not text or cannot be read, CapacityError if it is too large.
    """
    attachment = _read(path, name, cancelled)
    if attachment.size_bytes > INDEXED_BYTES and (n_ctx is None or searched((replace(attachment, n_ctx=n_ctx),))):
        index_of(attachment.files)
    return replace(attachment, n_ctx=n_ctx)


def unquoted(name: str) -> str:
    r"""A typed path without quotes around it or backslashes in it, as a shell needs and a terminal pastes them.

    >>> unquoted('"my notes.txt"'), unquoted("it's"), unquoted(r"my\ notes.txt")
    ('my notes.txt', "it's", 'my notes.txt')
    """
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        return name[1:-1]
    if "\\" in name and not os.path.lexists(name):
        with suppress(ValueError):
            words = shlex.split(name)
            return words[0] if len(words) == 1 else name
    return name


def path_of(name: str) -> Path:
    """A typed path, whose ~ is a home folder. Raises NotFoundError for that of nobody."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise NotFoundError(f"There is no file {name}.", "Check its name.") from None


def read_picture(path: Path, name: str) -> Attachment:
    """An image, decoded and kept. Raises NotFoundError, or InputError if it cannot be read as one."""
    image = read_image(path, name)
    return Attachment(name, (TextFile(name, image.text, image.note),))


def _read(path: Path, name: str, cancelled: Callable[[], bool]) -> Attachment:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _folder(path, as_folder(name), cancelled)
        if not stat.S_ISREG(mode):
            raise InputError(f"{name} is not a file of text.", "Attach a regular file or a folder.")
        if is_image(path):
            return read_picture(path, name)
        return Attachment(name, (_file(path, name, MAX_BYTES, cancelled),))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in _NO_FILE:
            raise NotFoundError(f"There is no file {name}.", "Check its name.") from None
        raise InputError(f"{name} cannot be read ({reason_of(error)}).", "Check its permissions.") from None


def _file(path: Path, name: str, most_bytes: int, cancelled: Callable[[], bool]) -> TextFile:
    kind = kind_of(path, read_beginning(path, _PROBE_BYTES))
    if kind is None:
        return TextFile(name, cleaned(_plain(path, name, most_bytes))[0])
    paper = read_paper(path, name, kind, most_bytes, cancelled=cancelled)
    return TextFile(name, cleaned(paper.text)[0], paper.taken)


def _plain(path: Path, name: str, most_bytes: int) -> str:
    data = read_beginning(path, most_bytes + 1)
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    beginning = data[:_PROBE_BYTES].decode(encoding, errors="replace")
    if "\0" in beginning:
        raise InputError(f"{name} is not text, so the model could not read it.", "Attach a file of plain text.")
    if len(data) > most_bytes:
        raise _too_large(name)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text.", "Convert it first, for example with iconv.") from None
    if not text.strip():
        raise InputError(f"{name} is empty.", "There is nothing in it to attach.")
    return text


def _folder(path: Path, name: str, cancelled: Callable[[], bool]) -> Attachment:
    os.scandir(path).close()  # says why, if it cannot be read
    listing = list_files(path, cancelled=cancelled)
    names = [found for found in listing.paths if not found.endswith("/")]
    if not listing.complete or len(names) > MAX_FOLDER_FILES:
        raise CapacityError(f"{name} holds more than {MAX_FOLDER_FILES} files.", "Attach one of its folders instead.")
    files, left_bytes = [], MAX_BYTES
    for found in sorted(names):
        if cancelled():
            break
        try:
            file = _file(path / found, f"{name}{found}", left_bytes, cancelled)
        except CapacityError:
            raise _too_large(name) from None
        except (LocalSpecError, OSError):
            continue
        left_bytes -= size_bytes(file.text)
        files.append(file)
    if not files:
        raise InputError(f"{name} holds no text files.", "Hidden files and build folders are passed over.")
    return Attachment(name, tuple(files), len(names) - len(files))


def _too_large(name: str) -> CapacityError:
    return CapacityError(
        f"{name} is larger than {kilobytes(MAX_BYTES)}, more than can be attached.", "Attach a part of it."
    )
