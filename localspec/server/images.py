"""Images in requests: decoded in a child process, kept as those of the chat are, and deleted after a day."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from localspec.base.errors import InputError, NotFoundError
from localspec.chat.images.reading import read_image
from localspec.runtime.images import ImageReference, forget_images, image_block
from localspec.server.failures import InvalidFieldError
from localspec.store import database_file

T = TypeVar("T")
_NAME = "image"
_LATEST_N = 256
_latest: dict[bytes, ImageReference] = {}
"""The latest images by the digests of what was sent: each request repeats those of its conversation."""


async def image_from_url(url: str, param: str) -> str:
    """As ``image_from_base64``, from a ``data:`` URL; nothing is fetched from elsewhere."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise InvalidFieldError(
            "An image is taken from a data: URL only.", "Send it as data:image/png;base64,...", param=param
        )
    return await image_from_base64(data, param)


async def image_from_base64(data: str, param: str) -> str:
    """The block of a message's text that names the image, which is kept.

    ``param`` is the field that errors name. Raises InputError.
    """
    return await asyncio.to_thread(_kept, data, param)


def bytes_of_base64(data: str, what: str, param: str) -> bytes:
    """The bytes of an image or a document, which may be written on several lines. Raises InvalidFieldError."""
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidFieldError(f"The {what} in {param} is no base64.", "Encode its bytes.", param=param) from None


def forget_old_images() -> None:
    """Delete the images of requests after a day. Where the chat has conversations, its start does so instead."""
    if not database_file().exists():
        forget_images((), time.time())


def remember(latest: dict[bytes, T], digest: bytes, value: T, most_n: int) -> None:
    """Put a value into ``latest``, and forget the oldest of more than ``most_n``."""
    latest[digest] = value
    for oldest in list(latest)[:-most_n]:
        latest.pop(oldest, None)


def _kept(data: str, param: str) -> str:
    content = bytes_of_base64(data, "image", param)
    digest = sha256(content).digest()
    image = _latest.get(digest)
    if image is None or not _is_there(image):
        with TemporaryDirectory(prefix="localspec-") as folder:
            path = Path(folder) / _NAME
            path.write_bytes(content)
            image = read_image(path, "The image")
        remember(_latest, digest, image, _LATEST_N)
    return image_block(_NAME, image)


def _is_there(image: ImageReference) -> bool:
    """True if the image is still kept; then it is for another day."""
    try:
        image.read()
        image.path.touch()
    except (NotFoundError, InputError, OSError):
        return False
    return True
