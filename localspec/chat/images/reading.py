"""An image that is attached: known by its first bytes, decoded by the child process within limits, and kept."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import InputError, NotFoundError
from localspec.base.visible import visible_line
from localspec.chat.images.child import command
from localspec.runtime.images import ImageReference, keep_image

MAX_S = 30.0
MAX_FILE_BYTES = 200_000_000
_SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"}
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_PROBE_BYTES = 16


def is_image(path: Path) -> bool:
    """True if a file is an image by its first bytes, or says it is by its name. Raises OSError."""
    beginning = read_beginning(path, _PROBE_BYTES)
    riff = beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP"
    return riff or beginning.startswith(_BEGINNINGS) or path.suffix.lower() in _SUFFIXES


def read_image(path: Path, name: str) -> ImageReference:
    """Decode the image at ``path``, which the user calls ``name``, and keep it.

    Raises NotFoundError, or InputError if it cannot be read or kept.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise NotFoundError(f"There is no image {name} ({error.strerror or error}).", "Check its name.") from None
    if not path.is_file() or size > MAX_FILE_BYTES:
        raise InputError(f"{name} is no file of at most {MAX_FILE_BYTES // 1_000_000} MB.", "Attach a smaller image.")
    head, png = _decoded(path, name)
    match head:
        case {"width": int(width), "height": int(height)} if png:
            try:
                return keep_image(png, width, height)
            except OSError as error:
                why = error.strerror or str(error)
                raise InputError(f"{name} cannot be kept ({why}).", "Check the disk.") from error
        case {"error": [str(message), str(hint)]}:
            raise InputError(visible_line(message.replace("{name}", name)), hint)
        case _:
            raise _too_much(name)


def _decoded(path: Path, name: str) -> tuple[Any, bytes]:
    """The child's first line, and what came after it."""
    try:
        done = subprocess.run(command(path), stdin=subprocess.DEVNULL, capture_output=True, timeout=MAX_S, check=False)
        line, _, png = done.stdout.partition(b"\n")
        return json.loads(line), png
    except (subprocess.TimeoutExpired, ValueError):
        raise _too_much(name) from None


def _too_much(name: str) -> InputError:
    return InputError(f"{name} cannot be decoded: it takes too long, or too much memory.", "Scale it down.")
