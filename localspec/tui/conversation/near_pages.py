"""Which pages of a conversation are there as widgets: those near what the reader sees, and the last.

Pages further away are folded, those far away lose their turns. Folded pages next to each other take their room as
one, so that neither opening a long conversation nor drawing it costs more than a short one does. Where a page
begins is reckoned here: to ask Textual about what cannot be seen has it lay out everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import groupby

from textual.containers import VerticalScroll
from textual.widget import Widget

from localspec.tui.conversation.page import Page
from localspec.tui.conversation.reading_place import ReadingPlace
from localspec.tui.conversation.turn_view import TurnView

FAR_SCREENS = 8
"""Pages further away than this let go of their turns."""


class NearPages:
    """Folds and opens the pages of one pane."""

    def __init__(
        self,
        pane: VerticalScroll,
        fill: Callable[[Page], Awaitable[None]],
        let_go: Callable[[TurnView], None],
        place: Callable[[], ReadingPlace | None],
    ) -> None:
        """``fill`` mounts and draws a page's turns; ``let_go`` hears of each that goes; ``place`` is to be kept."""
        self._pane = pane
        self._fill = fill
        self._let_go = let_go
        self._place = place
        self._lock = asyncio.Lock()
        self._opening = False

    @property
    def pages(self) -> list[Page]:
        """All of them, near or far."""
        return [child for child in self._pane.children if isinstance(child, Page)]

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """While no page gets its turns or loses them: for whoever mounts, draws or removes turns."""
        async with self._lock:
            yield

    def look(self) -> None:
        """See which pages are near now: fold the others, except the last, and bring back those that come near."""
        height = self._pane.size.height
        if height and self._laid_out:
            for page, distance in list(self._distances())[:-1]:
                if not page.folded and distance >= height:
                    page.fold()
                if page.folded and distance > FAR_SCREENS * height and _may_go(page):
                    self._pane.run_worker(self._empty(page))
        self._stand_in()
        if not self._opening and self.wanted is not None:
            self._opening = True
            self._pane.run_worker(self._open_near())

    @property
    def wanted(self) -> Page | None:
        """The nearest page that is to be there and is not."""
        if not self._laid_out:
            return None
        near = [(distance, page) for page, distance in self._distances() if page.folded]
        distance, page = min(near, key=lambda pair: pair[0], default=(0, None))
        return page if distance < self._pane.size.height else None

    async def open(self, page: Page) -> None:
        """Have a page's turns drawn and in the layout."""
        async with self.held():
            if page.is_attached:
                await self._fill(page)
                page.unfold()
                self._stand_in()

    @property
    def _laid_out(self) -> bool:
        """Whether rows are where they are reckoned to be, or nearly."""
        rows = sum(_rows(child) for child in self._pane.children)
        return abs(rows - self._pane.virtual_size.height) <= max(self._pane.size.height, 1)

    def _distances(self) -> Iterator[tuple[Page, int]]:
        """Each page, and the rows between it and what can be seen."""
        top = int(self._pane.scroll_y)
        bottom = top + self._pane.size.height
        at = 0
        for child in self._pane.children:
            begin, at = at, at + _rows(child)
            if isinstance(child, Page):
                yield child, max(begin - bottom, top - at, 0)

    def _stand_in(self) -> None:
        """Let the first of neighbouring folded pages take the room of all."""
        for folded, run in groupby(self._pane.children, key=lambda child: isinstance(child, Page) and child.folded):
            pages = [page for page in run if folded and isinstance(page, Page)]
            for page in pages[1:]:
                page.stand_for(0)
            for page in pages[:1]:
                page.stand_for(max(1, sum(each.rows for each in pages)))

    async def _open_near(self) -> None:
        """Bring pages back, one at a time, with a frame drawn after each."""
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
        async with self.held():
            if not page.folded:
                return  # the reader has come back meanwhile
            for view in page.views:
                self._let_go(view)
            await page.clear()


def _may_go(page: Page) -> bool:
    """Whether there are turns, and the reader has chosen none of them."""
    return bool(page.views) and not any(view.has_class("-selected") for view in page.views)


def _rows(child: Widget) -> int:
    if isinstance(child, Page):
        return child.rows
    return child.outer_size.height + child.styles.margin.height if child.display else 0
