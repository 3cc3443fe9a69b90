"""Containers that are laid out once when they grow.

Needed with Textual 8.2.8. Corrects: after every change of a widget's virtual size the screen is laid out a second
time, which for a growing reply finds nothing to change; and a container composes its background line by line. Not
reported upstream yet.
"""

from __future__ import annotations

from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget


class SingleLayout(Widget):
    """A widget whose growth lays the screen out once.

    Name it last among the bases: Textual takes a widget's default styles from the first.
    """

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class SingleLayoutPane(SingleLayout):
    """A container with nothing but background behind its children: one blank strip serves for every line."""

    _blank: Strip | None = None

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._blank is None or self._blank.cell_length != crop.width:
            self._blank = self._background(crop.width)
        return [self._blank] * crop.height

    def _background(self, width: int) -> Strip:
        background = self.background_colors[1]
        strip = Strip.blank(width, self.visual_style.rich_style)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, background)
        return strip

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._blank = None
