"""The images of a message, drawn side by side."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from math import ceil

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from localspec.base.errors import LocalSpecError
from localspec.chat.images.reading import read_pixels
from localspec.runtime.images import ImageReference
from localspec.tui.terminal import graphics
from localspec.tui.terminal.title import terminal_write

MOST = 4
"""Images that are drawn; the rest have their names in the message."""
_MOST_COLUMNS, _MOST_ROWS = 40, 12
_GAP = 2
_CELL_PIXELS = (10, 20)
"""Pixels of a cell, where a terminal draws pixels; it scales them to its own."""
_LEAST_CELL = (8, 16)
"""Pixels of an image that fill a cell at least: an icon stays small."""


class Pictures(Widget):
    """Images without their names. A terminal without the colours shows none."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Pictures { width: 100%; height: auto; }"

    def __init__(self, share: int, images: Sequence[ImageReference] = ()) -> None:
        """Pictures that take one part of ``share`` of the screen's height, at most 12 rows."""
        super().__init__()
        self._share = share
        self._images = tuple(images[:MOST])
        self.display = bool(images)
        self._gone: set[ImageReference] = set()
        """Images that cannot be read; they take no room."""
        self._asked: dict[ImageReference, tuple[int, int]] = {}
        self._drawn: dict[ImageReference, list[list[Segment]]] = {}

    def show(self, images: Sequence[ImageReference]) -> None:
        if tuple(images[:MOST]) != self._images:
            self._images = tuple(images[:MOST])
            self.display = bool(images)
            self._gone.clear()
            self.refresh(layout=True)
            self.call_after_refresh(self._draw_missing)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max((rows for _, rows in self._cells(width, viewport.height).values()), default=0)

    def on_resize(self) -> None:
        self._draw_missing()

    def render_line(self, y: int) -> Strip:
        base, segments = self.rich_style, list[Segment]()
        for image, cells in self._cells(self.size.width, self.app.size.height).items():
            drawn = self._drawn.get(image, []) if self._asked.get(image) == cells else []
            segments += drawn[y] if y < len(drawn) else [Segment(" " * cells[0], base)]
            segments.append(Segment(" " * _GAP, base))
        strip = Strip(segments).simplify().adjust_cell_length(self.size.width, base)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip

    def _cells(self, width: int, screen_height: int) -> dict[ImageReference, tuple[int, int]]:
        """The columns and rows of each image."""
        if self.app.no_color or self.app.console.color_system not in ("truecolor", "256"):
            return {}
        shown = [image for image in self._images if image not in self._gone]
        columns = min(_MOST_COLUMNS, (width + _GAP) // max(len(shown), 1) - _GAP)
        rows = min(_MOST_ROWS, screen_height // self._share)
        return {image: _fitted(image, columns, rows) for image in shown} if columns > 0 and rows > 0 else {}

    def _draw_missing(self) -> None:
        cells = self._cells(self.size.width, self.app.size.height)
        missing = {image: size for image, size in cells.items() if self._asked.get(image) != size}
        self._asked |= missing
        for image, size in missing.items():
            self._drawn.pop(image, None)
            self.run_worker(self._draw(image, size))

    async def _draw(self, image: ImageReference, cells: tuple[int, int]) -> None:
        write = terminal_write(self.app, os.environ)
        in_pixels = write is not None and graphics.draws_images(os.environ)
        across, down = _CELL_PIXELS if in_pixels else (1, 2)
        size = across * cells[0], down * cells[1]
        try:
            pixels = await asyncio.get_running_loop().run_in_executor(_reader(), partial(read_pixels, image, *size))
        except LocalSpecError:
            self._gone.add(image)
            self.refresh(layout=True)
            return
        if self._asked.get(image) != cells:
            return  # it has another size by now
        if write is not None and in_pixels:
            number = graphics.image_number(image.sha256, *cells)
            write(graphics.transmission(number, pixels, size, cells))
            self._drawn[image] = list(graphics.placeholders(number, cells))
        else:
            self._drawn[image] = list(graphics.half_blocks(pixels, cells))
        self.refresh()


@cache
def _reader() -> ThreadPoolExecutor:
    """The thread that waits for child processes: one at a time, however many images come into sight."""
    return ThreadPoolExecutor(1, "pictures")


def _fitted(image: ImageReference, columns: int, rows: int) -> tuple[int, int]:
    """The columns and rows of an image in this room, no larger than it is. A cell is twice as high as wide.

    >>> _fitted(ImageReference(640, 480, ""), 40, 12), _fitted(ImageReference(16, 16, ""), 40, 12)
    ((32, 12), (2, 1))
    """
    columns, rows = min(columns, ceil(image.width / _LEAST_CELL[0])), min(rows, ceil(image.height / _LEAST_CELL[1]))
    scale = min(columns / image.width, 2 * rows / image.height)
    return max(1, round(scale * image.width)), max(1, round(scale * image.height / 2))
