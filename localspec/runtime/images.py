"""Images in messages. A message names an image by a reference in its text, and the image lies in a file by its digest.

The reference has the form of an attached file (``store.file_blocks``), so that whatever handles files handles images:

    File: cat.png
    ```png image 640x480
    sha256:<64 hexadecimal digits>
    ```

All images kept are PNG files of one plain form, so that a decoder has little to go wrong with. No text can name an
image that its writer has not seen.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from struct import Struct

from localspec.base.bounded_file import read_file
from localspec.base.errors import InputError, NotFoundError
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file
from localspec.base.visible import visible_line

LONGEST_SIDE = 1344
"""Pixels of a kept image: about 2,300 rows for a model that reads squares of 28 pixels."""
MOST_BYTES = 8_000_000
"""The size of a kept image."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEAD = Struct(">IIBBBBB")
_LAST_FILTER = 4
_LATEST_S = 86_400.0
_NOTE = re.compile(r"image (\d{1,5})x(\d{1,5})")
_TEXT = re.compile(r"sha256:([0-9a-f]{64})\n?")
_BLOCK = re.compile(
    r"^File: ([^\n]+)\n```[^\n` ]* image (\d{1,5})x(\d{1,5})\nsha256:([0-9a-f]{64})\n```\n\n?", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image that is kept."""

    width: int
    height: int
    sha256: str

    @property
    def note(self) -> str:
        """The note of its block, for the eye too."""
        return f"image {self.width}x{self.height}"

    @property
    def text(self) -> str:
        """The text of its block."""
        return f"sha256:{self.sha256}\n"

    @property
    def path(self) -> Path:
        """The file; it may be gone."""
        return images_folder() / f"{self.sha256}.png"

    def read(self) -> bytes:
        """The file's content. Raises NotFoundError, or InputError if it is another one."""
        try:
            data = read_file(self.path, MOST_BYTES)
        except OSError as error:
            raise NotFoundError(
                f"An image of this conversation cannot be read ({error.strerror or error}): {self.path}.",
                "Attach it again in a new message.",
            ) from error
        if sha256(data).hexdigest() != self.sha256 or plain_png_size(data) != (self.width, self.height):
            raise InputError(f"{self.path} is not the image that was attached.", "Attach it again in a new message.")
        return data


def images_folder() -> Path:
    """The folder of the images that are kept."""
    return user_paths().data / "images"


def keep_image(png: bytes) -> ImageReference:
    """Keep an image, once. Raises ValueError if it is not a PNG of the plain form, OSError."""
    size = plain_png_size(png)
    if size is None:
        raise ValueError("no plain PNG")
    reference = ImageReference(*size, sha256(png).hexdigest())
    try:
        reference.read()
        reference.path.touch()
    except (NotFoundError, InputError):  # it is new, or the file is damaged
        replace_file(reference.path, png, private=True)
        reference.path.parent.chmod(0o700)
    return reference


def forget_images(named: Collection[str], now_s: float) -> None:
    """Delete the images whose digests are not ``named``, but for the last day's: they may not be sent yet."""
    for path in images_folder().glob("*.png"):
        with suppress(OSError):
            if path.stem not in named and path.stat().st_mtime < now_s - _LATEST_S:
                path.unlink()


def images_in(content: str) -> list[ImageReference]:
    """The images that a message names."""
    if "sha256:" not in content:
        return []
    return [part[1] for part in split_images(content) if not isinstance(part, str)]


def digests_in(content: str) -> list[str]:
    """The digests of the images that a message names."""
    return [image.sha256 for image in images_in(content)]


def plain_png_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG of the plain form; None for anything else.

    The form is that of RFC 2083 with eight bits each of red, green and blue, no interlacing, no chunks but the three
    that there must be, right checksums, and as many bytes as width and height ask for.
    """
    chunks = list(_chunks(data))
    tags = [tag for tag, _ in chunks]
    if tags != [b"IHDR", *[b"IDAT"] * (len(tags) - 2), b"IEND"] or len(chunks[0][1]) != _HEAD.size or chunks[-1][1]:
        return None
    width, height, *form = _HEAD.unpack(chunks[0][1])
    if form != [8, 2, 0, 0, 0] or not 0 < width <= LONGEST_SIDE or not 0 < height <= LONGEST_SIDE:
        return None
    rows_n, inflate = height * (1 + 3 * width), zlib.decompressobj()
    try:
        rows = inflate.decompress(b"".join(part for _, part in chunks[1:-1]), rows_n + 1)
    except zlib.error:
        return None
    whole = len(rows) == rows_n and inflate.eof and not inflate.unused_data
    return (width, height) if whole and max(rows[:: 1 + 3 * width]) <= _LAST_FILTER else None


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks with right checksums, up to the first that has a wrong one, or is cut."""
    at = len(_SIGNATURE) if data.startswith(_SIGNATURE) else len(data)
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 4])
        if data[end : end + 4] != zlib.crc32(data[at + 4 : end]).to_bytes(4):
            yield b"", b""
            return
        yield data[at + 4 : at + 8], data[at + 8 : end]
        at = end + 4


def image_block(name: str, reference: ImageReference) -> str:
    """An image as a message has it, with the empty line after it."""
    return f"File: {visible_line(name)}\n```png {reference.note}\n{reference.text}```\n\n"


def reference_in(note: str, text: str) -> ImageReference | None:
    """The reference in a block with this note and text; None if it is another file's."""
    size, digest = _NOTE.fullmatch(note), _TEXT.fullmatch(text)
    return ImageReference(int(size[1]), int(size[2]), digest[1]) if size and digest else None


def split_images(content: str) -> list[str | tuple[str, ImageReference]]:
    """A message as texts and, in their places, images with their names."""
    parts: list[str | tuple[str, ImageReference]] = []
    at = 0
    for found in _BLOCK.finditer(content):
        parts += [content[at : found.start()]] if found.start() > at else []
        parts.append((found[1], ImageReference(int(found[2]), int(found[3]), found[4])))
        at = found.end()
    return [*parts, content[at:]] if at < len(content) or not parts else parts
