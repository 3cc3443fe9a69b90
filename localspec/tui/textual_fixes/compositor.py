"""What is drawn of each widget when a part of the screen changes, what the mouse finds, and the screens drawn so."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from textual._compositor import Compositor
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.geometry import Region
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget

from localspec.tui.textual_fixes.net import cast_net

cast_net()


class RowCompositor(Compositor):
    """Asks widgets for the rows to be drawn alone, and those that have been taken away for nothing.

    Textual's (8.2) asks every widget on the screen for all that can be seen of it, and a word at the end of a reply
    changes one row. And it ends the app where a frame or a click falls between a widget's going and the next
    arrangement.
    """

    def get_widget_at(self, x: int, y: int) -> tuple[Widget, Region]:
        """As Textual's, but where a widget has just been taken away there is none, as past the edge of the screen."""
        widget, region = super().get_widget_at(x, y)
        if widget.parent is None:
            raise NoWidget(f"What was at column {x} of row {y} is gone.")
        return widget, region

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

    def __init__(self, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  (as Textual calls it)
        super().__init__(name=name, id=id, classes=classes)
        self._compositor = RowCompositor()

    def get_selected_text(self) -> str | None:
        """As Textual's (8.2), which fails where the marking begins in the empty row that ends a text."""
        parts: list[str] = []
        for widget, selection in self.selections.items():
            if widget.is_attached:
                with suppress(IndexError):
                    parts.extend(widget.get_selection(selection) or ())
        return "".join(parts).rstrip("\n") if self.selections else None


class RowModal(ModalScreen[ScreenResultType], RowScreen[ScreenResultType]):
    """One that lets the screen below shine through, and leaves the app's keys to itself."""
