"""Images in requests."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from localspec.base.errors import InputError
from localspec.chat.images.reading import read_image
from localspec.runtime.images import ImageReference, images_in, keep_image
from localspec.server import images
from localspec.server.failures import InvalidFieldError
from localspec.server.images import forget_old_images, image_from_base64, image_from_url
from localspec.store import Store
from tests.tiny_projectors import write_png


async def test_an_image_is_kept_and_named_in_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    write_png(tmp_path / "cat.png", 8, 4)
    data = base64.b64encode((tmp_path / "cat.png").read_bytes()).decode()
    block = await image_from_url(f"data:image/png;base64,{data}", "messages[0].content[1]")
    (image,) = images_in(block)
    assert (image.width, image.height) == (8, 4)
    assert image.read()
    in_lines = "\n".join(data[at : at + 76] for at in range(0, len(data), 76))
    assert await image_from_base64(data, "images[0]") == await image_from_base64(in_lines, "images[0]") == block


async def test_an_image_is_decoded_once_while_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a conversation repeats it; then it is kept for another day."""
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    decoded: list[str] = []

    def noting(path: Path, name: str) -> ImageReference:
        decoded.append(name)
        return read_image(path, name)

    monkeypatch.setattr(images, "read_image", noting)
    monkeypatch.setattr(images, "_latest", {})
    data = base64.b64encode(write_png(tmp_path / "cat.png", 8, 4).read_bytes()).decode()
    (image,) = images_in(await image_from_base64(data, "images[0]"))
    os.utime(image.path, (0, 0))
    assert images_in(await image_from_base64(data, "images[0]")) == [image]
    assert len(decoded) == 1
    assert image.path.stat().st_mtime > 0
    image.path.unlink()
    assert images_in(await image_from_base64(data, "images[0]")) == [image]
    assert len(decoded) == 2
    assert image.read()


@pytest.mark.parametrize("chats", [False, True])
def test_images_of_requests_are_deleted_after_a_day_where_there_are_no_conversations(
    chats: bool, tmp_path: Path
) -> None:
    """Conversations may name the images, so there the start of the chat looks."""
    if chats:
        Store.open().close()
    old, new = (keep_image(write_png(tmp_path / "cat.png", side).read_bytes()) for side in (8, 9))
    os.utime(old.path, (0, 0))
    forget_old_images()
    assert (old.path.exists(), new.path.exists()) == (chats, True)


@pytest.mark.parametrize(
    "url", ["https://example.org/cat.png", "data:text/html;base64,AAAA", "data:image/png;base64,?"]
)
async def test_other_addresses_and_other_bytes_are_refused(url: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        await image_from_url(url, "messages[0]")
    assert caught.value.param == "messages[0]"
    with pytest.raises(InputError):
        await image_from_base64(base64.b64encode(b"no image").decode(), "messages[0]")
