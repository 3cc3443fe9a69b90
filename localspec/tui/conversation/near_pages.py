"""The pages of a conversation near the visible part, and the last: they alone are in the layout.

Pages further away are folded, and pages far away lose their widgets. Neighbouring folded pages take their room as
one, so that opening or drawing a long conversation costs no more than a short one. The rows of pages are computed
here: Textual would lay out everything to find the place of a widget that cannot be seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import groupby

from textual.containers import VerticalScroll
from textual.widget import Widget

from localspec.tui.conversation.page import Page
from localspec.tui.conversation.reading_place import ReadingPlace
from localspec.tui.conversation.turn_view import TurnView

FAR_SCREENS = 8
"""Pages further away than this lose their widgets."""


class NearPages:
    """Folds and unfolds the pages of a pane."""

    def __init__(
        self,
        pane: VerticalScroll,
        fill: Callable[[Page], Awaitable[None]],
        let_go: Callable[[TurnView], None],
        place: Callable[[], ReadingPlace | None],
    ) -> None:
        """``fill`` mounts the widgets of a page; ``let_go`` is called for each one removed.

        ``place`` returns the reading place to keep in view.
        """
        self._pane = pane
        self._fill = fill
        self._let_go = let_go
        self._place = place
        self.lock = asyncio.Lock()
        """Held while widgets are mounted, drawn or removed; no page is filled or emptied meanwhile."""
        self._opening = False

    @property
    def pages(self) -> list[Page]:
        """All pages, near or far."""
        return [child for child in self._pane.children if isinstance(child, Page)]

    def look(self) -> None:
        """Fold the pages that are no longer near, and begin to open those that have come near.

        The last page stays, and that of the chosen turn, which may have been opened to go there.
        """
        height = self._pane.size.height
        if height and self._laid_out:
            for page, distance in list(self._distances())[:-1]:
                if not page.folded and distance >= height and not _is_chosen(page):
                    page.fold()
                if page.folded and distance > FAR_SCREENS * height and page.views:
                    self._pane.run_worker(self._empty(page))
        self._stand_in()
        if not self._opening and self.wanted is not None:
            self._opening = True
            self._pane.run_worker(self._open_near())

    @property
    def wanted(self) -> Page | None:
        """The nearest folded page that should be open."""
        if not self._laid_out:
            return None
        near = [(distance, page) for page, distance in self._distances() if page.folded]
        distance, page = min(near, key=lambda pair: pair[0], default=(0, None))
        return page if distance < self._pane.size.height else None

    async def open(self, page: Page) -> None:
        """Draw a page's turns and put them into the layout."""
        async with self.lock:
            if page.is_attached:
                await self._fill(page)
                page.unfold()
                self._stand_in()

    @property
    def _laid_out(self) -> bool:
        """True if the computed rows agree, nearly, with the layout."""
        rows = sum(_rows(child) for child in self._pane.children)
        return abs(rows - self._pane.virtual_size.height) <= max(self._pane.size.height, 1)

    def _distances(self) -> Iterator[tuple[Page, int]]:
        """Each page and its distance from the visible part, in rows."""
        top = int(self._pane.scroll_y)
        bottom = top + self._pane.size.height
        at = 0
        for child in self._pane.children:
            begin, at = at, at + _rows(child)
            if isinstance(child, Page):
                yield child, max(begin - bottom, top - at, 0)

    def _stand_in(self) -> None:
        """Give the first of neighbouring folded pages the height of all."""
        for folded, run in groupby(self._pane.children, key=lambda child: isinstance(child, Page) and child.folded):
            pages = [page for page in run if folded and isinstance(page, Page)]
            for page in pages[1:]:
                page.stand_for(0)
            for page in pages[:1]:
                page.stand_for(max(1, sum(each.rows for each in pages)))

    async def _open_near(self) -> None:
        """Open pages one at a time, with a frame drawn after each."""
        try:
            while (page := self.wanted) is not None:
                place = self._place()
                await self.open(page)
                drawn = asyncio.Event()
                self._pane.call_after_refresh(drawn.set)
                await drawn.wait()
                if place is not None:
                    place.keep(self._pane)
        finally:
            self._opening = False

    async def _empty(self, page: Page) -> None:
        async with self.lock:
            if not page.folded:
                return  # the reader has come back meanwhile
            for view in page.views:
                self._let_go(view)
            await page.remove_children()


def _is_chosen(page: Page) -> bool:
    """True if one of its turns is chosen."""
    return any(view.has_class("-selected") for view in page.views)


def _rows(child: Widget) -> int:
    if isinstance(child, Page):
        return child.rows
    return child.outer_size.height + child.styles.margin.height if child.display else 0
