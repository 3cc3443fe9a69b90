"""An image that is attached: known by its first bytes, decoded by the child process within limits, and kept."""

from __future__ import annotations

import json
import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import InputError, NotFoundError
from localspec.base.visible import visible_line
from localspec.chat.images.child import command
from localspec.runtime.images import LONGEST_SIDE, ImageReference, keep_image

MAX_S = 30.0
MAX_FILE_BYTES = 200_000_000
MOST_WRITTEN = 4 * LONGEST_SIDE**2 + 1_000_000
"""The most bytes that the child may write: pixels that no PNG makes smaller, and what stands around them."""
_SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"}
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_PROBE_BYTES = 16
_LONGEST_PATH = 4096


def is_image(path: Path) -> bool:
    """True if a file is an image by its first bytes, or says it is by its name. Raises OSError."""
    beginning = read_beginning(path, _PROBE_BYTES)
    riff = beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP"
    return riff or beginning.startswith(_BEGINNINGS) or path.suffix.lower() in _SUFFIXES


def pasted_image(text: str) -> str | None:
    """The path of an image that is all of a pasted text, as terminals paste what is dropped on them; None without one.

    >>> pasted_image("a sentence about cat.png")
    """
    if len(text) > _LONGEST_PATH or Path(text.strip("'\" ")).suffix.lower() not in _SUFFIXES or "\n" in text.strip():
        return None
    for path in _spellings(text.strip()):
        with suppress(OSError, ValueError, RuntimeError):
            if Path(path).expanduser().is_file():
                return path
    return None


def _spellings(text: str) -> Iterator[str]:
    """The paths that a pasted text may be: as it stands, an address, or quoted for a shell."""
    yield text
    if text.startswith("file://"):
        yield unquote(urlsplit(text).path)
    with suppress(ValueError):
        words = shlex.split(text)
        if len(words) == 1:
            yield words[0]


def read_image(path: Path, name: str) -> ImageReference:
    """Decode the image at ``path``, which the user calls ``name``, and keep it.

    Raises NotFoundError, or InputError if it cannot be read or kept.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise NotFoundError(f"There is no image {name} ({error.strerror or error}).", "Check its name.") from None
    if not path.is_file():
        raise InputError(f"{name} is not a file.", "Attach an image.")
    if size > MAX_FILE_BYTES:
        raise InputError(f"{name} is larger than {MAX_FILE_BYTES // 1_000_000} MB.", "Attach a smaller image.")
    png = _decoded(command(path), name)
    try:
        return keep_image(png)
    except ValueError:
        raise _too_much(name) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{name} cannot be kept ({why}).", "Check the disk.") from error


@lru_cache(maxsize=64)
def read_pixels(reference: ImageReference, width: int, height: int) -> bytes:
    """The pixels of a kept image scaled to this size, three bytes each, row by row. Raises InputError."""
    pixels = _decoded(command(reference.path, (width, height)), reference.path.name)
    if len(pixels) != 3 * width * height:
        raise _too_much(reference.path.name)
    return pixels


def _decoded(child: list[str], name: str) -> bytes:
    """The child's output behind its first line. Raises InputError."""
    line, _, data = _output(child).partition(b"\n")
    try:
        match json.loads(line):
            case {"error": [str(message), str(hint)]}:
                raise InputError(visible_line(message.replace("{name}", name)), hint)
    except (ValueError, RecursionError):
        raise _too_much(name) from None
    return data


def _output(child: list[str]) -> bytes:
    """All that a child writes; nothing if it cannot be started, or writes or takes more than an image does."""
    try:
        process = subprocess.Popen(child, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return b""
    with process:
        assert process.stdout is not None
        end = threading.Timer(MAX_S, process.kill)
        end.start()
        try:
            written = process.stdout.read(MOST_WRITTEN + 1)
        finally:
            late = not end.is_alive()
            end.cancel()
            process.kill()
    return b"" if late or len(written) > MOST_WRITTEN else written


def _too_much(name: str) -> InputError:
    return InputError(f"{name} cannot be decoded: it takes too long, or too much memory.", "Scale it down.")
