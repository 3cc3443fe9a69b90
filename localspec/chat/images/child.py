"""The child process that decodes one image: ``python -m localspec.chat.images.child FILE [WIDTH HEIGHT]``.

It writes a line of JSON, ``{}`` or ``{"error": [message, hint]}``. After the first comes a PNG; if a size is given, the
pixels of the image scaled to it, three bytes each (red, green, blue), row by row. A decoder that is taken over by its
file takes over nothing but this process.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from localspec.base.errors import InputError, LocalSpecError
from localspec.base.process_limits import limit_process
from localspec.runtime.images import LONGEST_SIDE

if TYPE_CHECKING:
    from PIL.Image import Image

MEMORY_BYTES = 1_500_000_000
CPU_S = 30
MOST_PIXELS = 100_000_000
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")


def command(path: Path, size: tuple[int, int] | None = None) -> list[str]:
    """The command to start, in the folder that ``path`` is relative to; ``size`` asks for pixels."""
    return [sys.executable, "-P", "-m", __name__, str(path), *map(str, size or ())]


def main() -> None:
    """Decode the image and write it to standard output."""
    limit_process(MEMORY_BYTES, CPU_S)
    out = sys.stdout.buffer
    with suppress(BrokenPipeError):  # nobody waits any more
        try:
            shown = _decoded(Path(sys.argv[1]))
            size = [int(side) for side in sys.argv[2:]]
            data = shown.resize(size).tobytes() if size else _png(shown)
        except LocalSpecError as error:
            _write(out, {"error": [error.message, error.hint]})
        else:
            _write(out, {})
            out.write(data)


def _decoded(path: Path) -> Image:
    """The image as it is shown to a model. Raises InputError."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ModuleNotFoundError:
        from localspec.base.extras import install_extra  # takes as long to import as all the rest

        needs = "Reading images needs Pillow, which is not installed."
        raise InputError(needs, f"Install it: {install_extra('images')}") from None
    Image.MAX_IMAGE_PIXELS = None  # the size is judged here, before anything is decoded
    try:
        with Image.open(path, formats=_FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                size = f"{image.width:,}x{image.height:,}"
                raise InputError(f"{{name}} has {size} pixels, too many to decode.", "Scale it down, and attach that.")
            image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            image.seek(0)  # the first picture of an animation
            shown = ImageOps.exif_transpose(image).convert("RGBA")
    except UnidentifiedImageError:
        kinds = "PNG, JPEG, WebP, GIF or BMP"
        raise InputError(f"{{name}} is not an image in a format that is read here ({kinds}).", "Convert it.") from None
    except MemoryError:
        raise InputError("{name} takes too much memory to decode.", "Scale it down.") from None
    except LocalSpecError:
        raise
    except Exception as error:  # noqa: BLE001 -- a decoder's, about a file that anybody may have made
        reason = str(error).partition("\n")[0][:200].rstrip(".") or type(error).__name__
        raise InputError(f"{{name}} is damaged ({reason}).", "Open it elsewhere and save it again.") from None
    shown.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    page = Image.new("RGB", shown.size, "white")
    page.paste(shown, mask=shown.getchannel("A"))
    return page


def _png(image: Image) -> bytes:
    png = BytesIO()
    image.save(png, "PNG")
    return png.getvalue()


def _write(out: IO[bytes], value: object) -> None:
    out.write(json.dumps(value).encode() + b"\n")


if __name__ == "__main__":
    main()
