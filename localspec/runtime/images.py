"""Images in messages. A message names an image by a reference in its text, and the image lies in a file by its digest.

The reference has the form of an attached file (``store.file_blocks``), so that whatever handles files handles images:

    File: cat.png
    ```png
    image 640x480 sha256:<64 hexadecimal digits>
    ```

All images kept are PNG files that LocalSpec wrote itself. No text can name an image that its writer has not seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from localspec.base.bounded_file import read_file
from localspec.base.errors import InputError, NotFoundError
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file

MOST_BYTES = 32_000_000
"""Of a kept image."""
_REFERENCE = re.compile(r"image (\d{1,5})x(\d{1,5}) sha256:([0-9a-f]{64})\n?")
_BLOCK = re.compile(
    rf"^File: (?P<name>[^\n]+)\n```[^\n`]*\n{_REFERENCE.pattern.removesuffix('?')}```\n\n?", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image that is kept."""

    width: int
    height: int
    sha256: str

    def __str__(self) -> str:
        return f"image {self.width}x{self.height} sha256:{self.sha256}\n"

    @property
    def size(self) -> str:
        """Width and height, for the eye."""
        return f"{self.width}x{self.height}"

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
        if sha256(data).hexdigest() != self.sha256:
            raise InputError(f"{self.path} is not the image that was attached.", "Attach it again in a new message.")
        return data


def images_folder() -> Path:
    """The folder of the images that are kept."""
    return user_paths().data / "images"


def keep_image(png: bytes, width: int, height: int) -> ImageReference:
    """Keep an image, once. Raises OSError."""
    reference = ImageReference(width, height, sha256(png).hexdigest())
    if not reference.path.exists():
        replace_file(reference.path, png, private=True)
        reference.path.parent.chmod(0o700)
    return reference


def image_block(name: str, reference: ImageReference) -> str:
    """An image as a message has it, with the empty line after it."""
    return f"File: {name}\n```png\n{reference}```\n\n"


def reference_in(text: str) -> ImageReference | None:
    """The reference that is all of ``text``."""
    found = _REFERENCE.fullmatch(text)
    return ImageReference(int(found[1]), int(found[2]), found[3]) if found else None


def split_images(content: str) -> list[str | tuple[str, ImageReference]]:
    """A message as texts and, in their places, images with their names."""
    parts: list[str | tuple[str, ImageReference]] = []
    at = 0
    for found in _BLOCK.finditer(content):
        parts += [content[at : found.start()]] if found.start() > at else []
        parts.append((found["name"], ImageReference(int(found[2]), int(found[3]), found[4])))
        at = found.end()
    return [*parts, content[at:]] if at < len(content) or not parts else parts
