"""A compositor that draws only the rows that changed, and screens that use it.

Needed with Textual 8.2.8. Corrects: every visible widget is asked for all of its rows whatever changed; a frame or a
click between a widget's removal and the next layout ends the app; ``Screen.get_selected_text`` fails where the
selection begins in the empty row that ends a text. Not reported upstream yet. Changes: the app's keys, as that of help,
act on modal screens, too; Textual leaves them out on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from textual._compositor import Compositor
from textual.binding import BindingsMap
from textual.dom import DOMNode, NoScreen
from textual.errors import NoWidget
from textual.geometry import Region
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget


class RowCompositor(Compositor):
    """Asks each widget for the rows to be drawn alone, and removed widgets for nothing.

    Textual's own asks every widget for all of its visible rows; a word at the end of a reply changes one row.
    """

    def get_widget_at(self, x: int, y: int) -> tuple[Widget, Region]:
        """As Textual's, but raises NoWidget for one that has just been removed, as past the edge of the screen."""
        widget, region = super().get_widget_at(x, y)
        if widget.parent is None:
            raise NoWidget(f"The widget at column {x} of row {y} has been removed.")
        return widget, region

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        # Whole rows: where a row is cut is reckoned from where its widgets begin.
        rows = self.size.region if crop is None else Region(0, crop.y, self.size.width, crop.height)
        for widget, (region, clip) in self.visible_widgets.items():
            if shown := region.intersection(clip).intersection(rows):
                try:
                    strips = widget.render_lines(shown.translate(-region.offset))
                except NoScreen:
                    # Removed since the last layout; the next, already asked for, has something in its place.
                    strips = [Strip.blank(shown.width)] * shown.height
                yield shown, shown, strips


class RowScreen(Screen[ScreenResultType]):
    """A screen that is drawn by a ``RowCompositor``, and has a class that says how high it is."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - Textual declares it so

    def __init__(self, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  (as Textual calls it)
        super().__init__(name=name, id=id, classes=classes)
        self._compositor = RowCompositor()

    def get_selected_text(self) -> str | None:
        """As Textual's, which fails where the selection begins in the empty row that ends a text."""
        parts: list[str] = []
        for widget, selection in self.selections.items():
            if widget.is_attached:
                with suppress(IndexError):
                    parts.extend(widget.get_selection(selection) or ())
        return "".join(parts).rstrip("\n") if self.selections else None


class RowModal(ModalScreen[ScreenResultType], RowScreen[ScreenResultType]):
    """A modal screen that is drawn by a ``RowCompositor``, and where the app's keys count as on any other.

    In the terminal's own sixteen colours, which have none for its box, lines at both sides part that from the screen
    below. No line at the bottom: Textual 8.2.8 draws it with the corners of the top.
    """

    DEFAULT_CSS = "RowModal > Vertical:ansi { outline-left: solid $quiet; outline-right: solid $quiet; }"

    @property
    def _modal_binding_chain(self) -> list[tuple[DOMNode, BindingsMap]]:
        return self._binding_chain
