"""Images by kitty's graphics protocol, as Unicode placeholders: characters that the terminal replaces by an image.

A placeholder is a character with two accents, for its row and column in the image, in a colour that is the image's
number. So an image is scrolled, covered and cut as text is. kitty and Ghostty know them
(https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders). Both are known by ``TERM``: to ask a terminal
takes time at the start, and an answer that comes late is taken for typing.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

_TERMINALS = ("xterm-kitty", "xterm-ghostty")
_PLACEHOLDER = "\U0010eeee"
_ACCENTS = (
    "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357"
    "\u035b\u0363\u0364\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f\u0483\u0484"
    "\u0485\u0486\u0487\u0592\u0593\u0594\u0595\u0597\u0598\u0599\u059c\u059d\u059e\u059f\u05a0\u05a1"
)
"""The accents for the numbers from 0 on, as many as an image here has columns."""
_PIECE = 4096


def draws_images(environ: Mapping[str, str]) -> bool:
    """True if the terminal knows placeholders."""
    return environ.get("TERM", "") in _TERMINALS


def image_number(digest: str, columns: int, rows: int) -> int:
    """The number of an image at a size. It is a colour, too: from 1 to 2**24 - 1."""
    return int.from_bytes(sha256(f"{digest} {columns}x{rows}".encode()).digest()[:3]) or 1


def transmission(number: int, pixels: bytes, size: tuple[int, int], cells: tuple[int, int]) -> str:
    """The escape sequences that give the terminal an image of ``size`` pixels, to be shown on ``cells``.

    Both are widths and heights. The terminal answers nothing.
    """
    data = b64encode(zlib.compress(pixels)).decode()
    what = f"a=T,U=1,f=24,o=z,s={size[0]},v={size[1]},i={number},c={cells[0]},r={cells[1]},"
    pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
    last = len(pieces) - 1
    return "".join(
        f"\x1b_G{what if n == 0 else ''}q=2,m={int(n < last)};{piece}\x1b\\" for n, piece in enumerate(pieces)
    )


def placeholders(number: int, cells: tuple[int, int]) -> Iterator[list[Segment]]:
    """The rows of an image's placeholders."""
    style = Style(color=Color.from_rgb(number >> 16, number >> 8 & 255, number & 255))
    for row in range(cells[1]):
        yield [Segment("".join(f"{_PLACEHOLDER}{_ACCENTS[row]}{accent}" for accent in _ACCENTS[: cells[0]]), style)]


def half_blocks(pixels: bytes, cells: tuple[int, int]) -> Iterator[list[Segment]]:
    """The rows of an image of half a cell a pixel, for any terminal that has the colours."""
    width = 3 * cells[0]
    for top in range(0, 2 * width * cells[1], 2 * width):
        upper, lower = pixels[top : top + width], pixels[top + width : top + 2 * width]
        yield [
            Segment("▀", Style(color=Color.from_rgb(*upper[at : at + 3]), bgcolor=Color.from_rgb(*lower[at : at + 3])))
            for at in range(0, width, 3)
        ]
