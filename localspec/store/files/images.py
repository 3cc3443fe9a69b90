"""The images of exported conversations: files beside Markdown, base64 within JSON and HTML."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from html import escape
from pathlib import Path, PurePath

from localspec.base.errors import LocalSpecError
from localspec.base.shared_file import replace_file
from localspec.base.visible import visible_line
from localspec.runtime.images import MOST_BYTES, ImageReference, digests_in, keep_image, split_images
from localspec.store.files.json_reader import JsonValue

_MOST_BASE64 = MOST_BYTES * 4 // 3 + 4
_MOST_ON_PAGE_BYTES = 32_000_000


def with_images_beside(markdown: str, path: Path) -> str:
    """The text with links to its images, which are written to a folder beside ``path``. Raises OSError."""
    folder = path.with_name(f"{path.stem}-images")
    return "".join(part if isinstance(part, str) else _linked(*part, folder=folder) for part in split_images(markdown))


def _linked(name: str, reference: ImageReference, folder: Path) -> str:
    title = PurePath(name).name.replace("[", "(").replace("]", ")")
    try:
        data = reference.read()
    except LocalSpecError:
        return f"*{title}, {reference.note}, which is gone*\n\n"
    file = f"{reference.sha256[:12]}.png"
    replace_file(folder / file, data, private=True)
    return f"![{title}](<{folder.name}/{file}>)\n\n"


class PageImages:
    """The images of one HTML page, as long as all together are not too large."""

    def __init__(self) -> None:
        self._left_bytes = _MOST_ON_PAGE_BYTES

    def element(self, name: str, reference: ImageReference) -> str:
        """The image as a figure that loads nothing; its name and size alone if it is gone, or no room is left.

        The image is a PNG of the plain form, which ``reference.read`` proves.
        """
        caption = escape(f"{visible_line(name)}, {reference.note}")
        data = b""
        with suppress(LocalSpecError):
            data = reference.read()
        if not data or len(data) > self._left_bytes:
            why = "left out, since the page would be too large" if data else "which is gone"
            return f'<p class="quiet">{caption}, {why}</p>'
        self._left_bytes -= len(data)
        source = f"data:image/png;base64,{b64encode(data).decode()}"
        size = f'width="{reference.width}" height="{reference.height}"'
        return f'<figure><img src="{source}" {size} alt=""><figcaption>{caption}</figcaption></figure>'


def images_of(contents: Iterable[str]) -> dict[str, str]:
    """The images that messages name, as base64 by their digests; those that are gone are left out."""
    images: dict[str, str] = {}
    for content in contents:
        for part in split_images(content):
            if not isinstance(part, str):
                with suppress(LocalSpecError):
                    images[part[1].sha256] = b64encode(part[1].read()).decode("ascii")
    return images


def keep_images(images: JsonValue, contents: Iterable[str]) -> None:
    """Keep the images of an import that its messages name. Raises Malformed for one that is not what it says."""
    data = images.data if isinstance(images.data, Mapping) else {}
    for digest in {digest for content in contents for digest in digests_in(content)} & data.keys():
        try:
            _keep(data[digest], digest)
        except ValueError:
            raise images.refuse(f"have no image with the SHA-256 {digest[:12]}...") from None
        except OSError:
            return  # the disk is full, or may not be written: the conversation comes without


def _keep(text: object, digest: str) -> None:
    """Keep an image. Raises ValueError if it is not the one of this digest, OSError."""
    if not isinstance(text, str) or len(text) > _MOST_BASE64:
        raise ValueError("no image")
    png = b64decode(text)
    if sha256(png).hexdigest() != digest:
        raise ValueError("another image")
    keep_image(png)
