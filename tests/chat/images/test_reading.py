"""Images that are attached: decoded in a child process, scaled down, kept, or refused with a sentence."""

from __future__ import annotations

import os
import sys
import time
import zlib
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from localspec.base.errors import InputError, LocalSpecError, NotFoundError
from localspec.chat.compose.attachment import with_files, without_files
from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.compose.message import taken_apart
from localspec.chat.images import reading
from localspec.chat.images.reading import is_image, pasted_image, read_image, read_pixels
from localspec.runtime.images import (
    LONGEST_SIDE,
    digests_in,
    forget_images,
    image_block,
    keep_image,
    plain_png_size,
    reference_in,
    split_images,
)
from tests.tiny_projectors import write_png


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    return tmp_path


def kept(path: Path) -> Image.Image:
    """What a model will be shown of a file."""
    data = read_image(path, path.name).read()
    return Image.open(BytesIO(data), formats=("PNG",))


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "gif", "bmp"])
def test_formats(home: Path, suffix: str) -> None:
    path = home / f"cat.{suffix}"
    Image.new("RGB", (64, 48), (250, 10, 10)).save(path)
    mislabelled = home / "cat.png.txt"
    mislabelled.write_bytes(path.read_bytes())
    assert is_image(path)
    assert is_image(mislabelled) == (suffix != "bmp")
    for each in (path, mislabelled):
        shown = kept(each)
        assert shown.size == (64, 48)
        red, green, _ = shown.convert("RGB").getpixel((5, 5))  # type: ignore[misc]
        assert red > 200 > 50 > green


def test_only_the_first_picture_of_an_animation(home: Path) -> None:
    pictures = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    pictures[0].save(home / "a.gif", save_all=True, append_images=pictures[1:])
    assert kept(home / "a.gif").convert("RGB").getpixel((0, 0)) == (255, 0, 0)


def test_what_is_large_is_scaled_down_and_what_is_transparent_lies_on_white(home: Path) -> None:
    Image.new("RGBA", (3000, 300)).save(home / "wide.png")
    shown = kept(home / "wide.png")
    assert shown.size == (LONGEST_SIDE, 134)
    assert shown.getpixel((0, 0)) == (255, 255, 255)


def test_the_same_image_is_kept_once(home: Path) -> None:
    write_png(home / "a.png")
    one, other = read_image(home / "a.png", "a.png"), read_image(home / "a.png", "b.png")
    assert one == other
    assert one.path.stat().st_mode & 0o077 == 0
    assert len(list(one.path.parent.iterdir())) == 1


def bomb(path: Path) -> Path:
    """A small file of 40,000 x 40,000 pixels."""
    write_png(path, 8, 8)
    data = bytearray(path.read_bytes())
    data[16:24] = (40_000).to_bytes(4) * 2
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4)
    path.write_bytes(data)
    return path


def cut(path: Path) -> Path:
    """A file without its end."""
    data = write_png(path, 200, 200).read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def long(path: Path) -> Path:
    """More bytes than are read, all of them zero."""
    path.touch()
    os.truncate(path, reading.MAX_FILE_BYTES + 1)
    return path


def text(path: Path) -> Path:
    """A text with the name of an image."""
    path.write_text("no image")
    return path


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (bomb, "40,000x40,000 pixels, too many to decode"),
        (cut, "is damaged"),
        (text, "is not an image in a format that is read here"),
        (long, "is larger than"),
        (lambda path: path, "There is no image"),
        (lambda path: path.mkdir() or path, "is not a file"),
    ],
    ids=["bomb", "cut", "text", "long", "missing", "folder"],
)
def test_refusals_name_the_file(home: Path, make: object, why: str) -> None:
    assert callable(make)
    path = make(home / "x.png")
    with pytest.raises((InputError, NotFoundError), match=why) as refusal:
        read_image(path, "x.png")
    assert "x.png" in refusal.value.message
    assert not (home / "home" / "data" / "images").exists()


@pytest.mark.parametrize("program", ["false", "/nonexistent/program"])
def test_a_child_that_ends_or_cannot_be_started_is_a_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr("localspec.chat.images.reading.command", lambda path: [program])
    with pytest.raises(InputError, match="takes too long, or too much memory"):
        read_image(write_png(home / "a.png"), "a.png")


@pytest.mark.parametrize(
    "program",
    ["import os\nwhile True: os.write(1, b'{}\\n' * 9999)", "import signal; signal.pause()", "print('[' * 500_000)"],
)
def test_a_child_that_was_taken_over_is_ended(home: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Whether it writes without end, not at all, or arrays in arrays."""
    monkeypatch.setattr(reading, "command", lambda *_: [sys.executable, "-c", program])
    monkeypatch.setattr(reading, "MAX_S", 0.3 if "pause" in program else 60.0)
    with pytest.raises(InputError, match="takes too long, or too much memory"):
        read_image(write_png(home / "a.png"), "a.png")


def test_pixels_to_draw(home: Path) -> None:
    """They are scaled by the child; a kept file that somebody spoilt is refused, and nothing else happens."""
    Image.new("RGB", (640, 480), (200, 30, 10)).save(home / "a.png")
    reference = read_image(home / "a.png", "a.png")
    assert read_pixels(reference, 8, 6) == bytes((200, 30, 10)) * 48
    for spoil in (bomb, cut, text):
        reference.path.unlink()
        spoil(reference.path)
        with pytest.raises(InputError, match=reference.sha256):
            read_pixels(reference, 9, 6)


def test_a_reference_in_a_message(home: Path) -> None:
    reference = read_image(write_png(home / "a.png", 64, 48), "a.png")
    assert reference_in(reference.note, reference.text) == reference
    assert reference.note == "image 64x48"
    assert reference_in("pages 1-2", reference.text) is reference_in(reference.note, "a text") is None
    content = f"{image_block('my cat.png', reference)}What is this? sha256:{reference.sha256}"
    assert split_images(content) == [("my cat.png", reference), f"What is this? sha256:{reference.sha256}"]
    assert split_images("no image") == ["no image"]
    assert split_images("") == [""]


def test_a_kept_image_that_was_changed_or_is_gone(home: Path) -> None:
    reference = read_image(write_png(home / "a.png"), "a.png")
    assert sha256(reference.read()).hexdigest() == reference.sha256
    reference.path.write_bytes(b"other")
    with pytest.raises(InputError, match="is not the image that was attached"):
        reference.read()
    reference.path.unlink()
    with pytest.raises(LocalSpecError, match="cannot be read"):
        reference.read()


def test_an_image_is_an_attachment(home: Path) -> None:
    write_png(home / "cat.png", 64, 48)
    attachment = read_attachment(home / "cat.png", "my pictures/cat.png", n_ctx=512)
    assert attachment.chip == "my pictures/cat.png  image 64x48"
    content = with_files([attachment], "What is this?")
    assert without_files(content) == ([attachment.chip], "What is this?")
    image, question = split_images(content)
    assert not isinstance(image, str)
    assert (image[0], question) == ("my pictures/cat.png", "What is this?")
    assert plain_png_size(image[1].read()) == (64, 48)
    written, besides = taken_apart(with_files([attachment], 'See @"my pictures/cat.png" there'))
    assert (written.attachments, besides) == ((attachment,), ())


def test_the_path_of_an_image_is_pasted(home: Path) -> None:
    path = write_png(home / "my cat.png")
    spelt = (str(path), f"'{path}'", f'"{path}" ', str(path).replace(" ", "\\ "), path.as_uri())
    assert [pasted_image(text) for text in spelt] == [str(path)] * len(spelt)
    for text in (f"{path} and more", f"{path}\n{path}", str(home / "other.png"), "https://a.b/cat.png", "", "x" * 9999):
        assert pasted_image(text) is None


def test_only_the_plain_form_is_kept(home: Path) -> None:
    plain = write_png(home / "a.png", 8, 8).read_bytes()
    assert plain_png_size(plain) == (8, 8)
    Image.new("P", (8, 8)).save(home / "palette.png")
    wrong = plain[:-5] + b"x" + plain[-4:]
    longer = plain[:16] + (9).to_bytes(4) + plain[20:]
    longer = longer[:29] + zlib.crc32(longer[12:29]).to_bytes(4) + longer[33:]
    for data in (b"", plain[:40], plain + b"x", wrong, longer, (home / "palette.png").read_bytes()):
        assert plain_png_size(data) is None
        with pytest.raises(ValueError, match="no plain PNG"):
            keep_image(data)


def test_images_that_nothing_names_are_deleted_after_a_day(home: Path) -> None:
    kept = [keep_image(write_png(home / f"{seed}.png", seed=seed).read_bytes()) for seed in range(3)]
    for reference in kept[:2]:
        os.utime(reference.path, (1, 1))
    forget_images(digests_in(image_block("a.png", kept[0])), time.time())
    assert [reference.path.exists() for reference in kept] == [True, False, True]
