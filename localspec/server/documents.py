"""Documents in requests: PDFs, files of office programs and of text, read as the chat reads attachments."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from localspec.base.errors import InputError, LocalSpecError
from localspec.base.visible import visible_line
from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.images.reading import is_image
from localspec.server.failures import InvalidFieldError, for_clients
from localspec.server.images import bytes_of_base64, remember

NAME = "document"
"""The name of a document that has none."""
_LONGEST_NAME = 200
_SUFFIX = re.compile(r"\.[a-z0-9]{1,12}")
_WHOLE = 2**40
"""A context into which every document fits: none is searched for passages."""
_LATEST_N, _LATEST_CHARS = 16, 1_000_000
"""The most documents that are kept, and the most characters of each."""
_latest: dict[bytes, str] = {}
"""The texts of the latest documents by their digests: each request repeats those of its conversation."""


async def document_from_base64(data: str, name: str, param: str) -> str:
    """The block of a message's text that holds a document's, with or without ``data:...;base64,`` in front.

    ``param`` is the field that errors name. Raises InvalidFieldError.
    """
    content = await asyncio.to_thread(bytes_of_base64, data.partition(";base64,")[2] or data, "document", param)
    shown = visible_line(name)[:_LONGEST_NAME].strip() or NAME
    gone = Event()
    try:
        return await asyncio.to_thread(_block, content, shown, gone.is_set)
    except LocalSpecError as error:
        message, hint = for_clients(error, error.message), for_clients(error, error.hint)
        raise InvalidFieldError(message, hint, param=param) from None
    finally:
        gone.set()  # whoever asked has hung up, or the server stops: reading may take long


def _block(content: bytes, name: str, gone: Callable[[], bool]) -> str:
    digest = sha256(content + name.encode()).digest()
    if (known := _latest.get(digest)) is not None:
        return known
    with TemporaryDirectory(prefix="localspec-") as folder:
        suffix = Path(name).suffix.lower()
        path = Path(folder) / f"{NAME}{suffix if _SUFFIX.fullmatch(suffix) else ''}"
        path.write_bytes(content)
        if is_image(path):
            raise InputError(f"{name} is an image.", "Send it as one.")
        (file,) = read_attachment(path, name, _WHOLE, gone).files
    if len(file.block) <= _LATEST_CHARS and not gone():
        remember(_latest, digest, file.block, _LATEST_N)
    return file.block
