"""What is drawn of each widget when a part of the screen changes, and the screens drawn so."""

from __future__ import annotations

from collections.abc import Iterable

from textual._compositor import Compositor
from textual.dom import NoScreen
from textual.geometry import Region
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip


class RowCompositor(Compositor):
    """Asks widgets for the rows to be drawn alone, and those that have been taken away for nothing.

    Textual's (8.2) asks every widget on the screen for all that can be seen of it, and a word at the end of a reply
    changes one row. And it ends the app where a frame falls between a widget's going and the next arrangement.
    """

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        # Whole rows: where a row is cut is reckoned from where its widgets begin.
        rows = self.size.region if crop is None else Region(0, crop.y, self.size.width, crop.height)
        for widget, (region, clip) in self.visible_widgets.items():
            if shown := region.intersection(clip).intersection(rows):
                try:
                    strips = widget.render_lines(shown.translate(-region.offset))
                except NoScreen:
                    # Taken away since the last arrangement; the next, already asked for, has something in its place.
                    strips = [Strip.blank(shown.width)] * shown.height
                yield shown, shown, strips


class RowScreen(Screen[ScreenResultType]):
    """A screen that is drawn by a ``RowCompositor``."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = RowCompositor()
