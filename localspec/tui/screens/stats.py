"""The statistics of all replies, by pair, drafter or day; read in slices."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from localspec.chat.commands import places
from localspec.chat.stats.browser import VIEWS, WATCH, StatsBrowser
from localspec.chat.stats.rows import StatsRow
from localspec.insight.stats.page import Sheet
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.layouts import ColumnScreen
from localspec.tui.widgets.key_row import KeyHints, KeyRow
from localspec.tui.widgets.row_list import RowList
from localspec.tui.widgets.stats_page import StatsPage, drawn

_LEAST_WIDTH = 15
_ROOM_FOR_COUNT = 35
_NEXT = ((60, "next view"), (24, "view"), (0, ""))
"""The word for the key to the next view, on screens of at least so many cells."""


class StatsScreen(ColumnScreen[None]):
    """Reads the store in a thread, and shows the figures so far."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_STATS.commands)
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (10, "-short"), (20, "-tall"), (34, "-high")]  # noqa: RUF012
    DEFAULT_CSS = """
    StatsScreen > * { max-width: 110; }
    StatsScreen #stats-head { height: 1; padding: 0 2; }
    StatsScreen #stats-title { width: 1fr; color: $accent; text-style: bold; }
    StatsScreen #stats-count { width: auto; color: $quiet; }
    StatsScreen #stats-views { height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; text-overflow: clip; }
    StatsScreen #stats-heads { height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; text-overflow: clip; }
    StatsScreen RowList { height: auto; max-height: 6; margin: 0 1; scrollbar-size: 0 1; }
    StatsScreen RowList > .option-list--option { text-wrap: nowrap; text-overflow: clip; }
    StatsScreen #stats-empty { height: 1fr; padding: 0 2; color: $quiet; display: none; }
    StatsScreen StatsPage { margin: 1 0 0 0; }
    StatsScreen.-tall #stats-views, StatsScreen.-high #stats-views { margin: 0 0 1 0; }
    StatsScreen.-tall #stats-keys, StatsScreen.-high #stats-keys { margin: 1 0 0 0; }
    StatsScreen.-high #stats-head { margin: 1 0 0 0; }
    StatsScreen.-high RowList { max-height: 10; }
    StatsScreen.-short RowList { max-height: 3; }
    StatsScreen.-tiny RowList { max-height: 1; }
    StatsScreen.-tiny #stats-views, StatsScreen.-tiny #stats-heads { display: none; }
    StatsScreen.-tiny StatsPage, StatsScreen.-short StatsPage { margin: 0; }
    StatsScreen.-headless #stats-heads, StatsScreen.-headless RowList { display: none; }
    StatsScreen.-empty #stats-heads, StatsScreen.-empty RowList, StatsScreen.-empty StatsPage { display: none; }
    StatsScreen.-empty #stats-empty { display: block; }
    """

    def __init__(self, browser: StatsBrowser) -> None:
        super().__init__()
        self._browser = browser
        self._reading = False
        self._title = Static("", id="stats-title")
        self._count = Static("", id="stats-count")
        self._views = Static("", id="stats-views")
        self._heads = Static("", id="stats-heads")
        self._list: RowList[StatsRow] = RowList(lambda row: drawn(row.text))
        self._empty = Static("", id="stats-empty")
        self._page = StatsPage()
        self._keys = KeyRow(id="stats-keys")

    def compose(self) -> ComposeResult:
        with Horizontal(id="stats-head"):
            yield self._title
            yield self._count
        yield self._views
        yield self._heads
        yield self._list
        yield self._empty
        yield self._page
        yield self._keys

    def on_mount(self) -> None:
        self._read_on()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_figures)

    def on_row_list_marked(self, event: RowList.Marked) -> None:
        self._browser.mark(event.row_id)
        self.show_figures()

    # Reading

    def _read_on(self) -> None:
        """Read on, one slice at a time, in one worker."""
        self.show_figures()
        if not self._reading:
            self._reading = True
            self.run_worker(self._read(), group="stats")

    async def _read(self) -> None:
        try:
            while (reading := self._browser.unread) is not None:
                await asyncio.to_thread(reading.read)
                self.show_figures()
        finally:
            self._reading = False

    # Commands

    @handles(places.STATS_NEXT, 1)
    @handles(places.STATS_PREVIOUS, -1)
    def change_view(self, step: int) -> None:
        self._browser.turn(step)
        self._read_on()

    @handles(places.STATS_UP, -1)
    @handles(places.STATS_DOWN, 1)
    def move(self, step: int) -> None:
        self._list.move(step)

    @handles(places.STATS_PAGE_UP, -1)
    @handles(places.STATS_PAGE_DOWN, 1)
    def page(self, direction: int) -> None:
        self._page.page(direction)

    @handles(places.STATS_REREAD)
    def read_again(self) -> None:
        self._browser.again()
        self._read_on()

    @handles(places.STATS_BACK)
    def leave(self) -> None:
        self.dismiss(None)

    # What is shown

    def show_figures(self) -> None:
        if not self.is_mounted:
            return
        browser, width = self._browser, max(_LEAST_WIDTH, min(self.size.width, 110) - 5)
        self._title.update(Content("Stats: the watch" if browser.view == WATCH else f"Stats by {browser.view}"))
        self._count.update(Content(browser.heading if width >= _ROOM_FOR_COUNT else ""))
        self._views.update(self._tabs(width))
        empty = browser.empty
        self.set_class(bool(empty), "-empty")
        self._empty.update(Content(empty))
        heads, rows = browser.rows(width)
        marked = browser.marked(rows)
        self.set_class(not rows, "-headless")
        self._heads.update(Content(heads))
        self._list.fill(rows, marked)
        self._page.show(f"{browser.view} {marked}", browser.page(marked, Sheet(width)))
        self._keys.show(self._hints(len(rows)))

    def _tabs(self, width: int) -> Content:
        """The views in a row, the one that is shown in brackets, so that no colour is needed."""
        warnings_n = self._browser.notices_n
        names = [f"{view} {warnings_n}" if view == WATCH and warnings_n else view for view in VIEWS]
        shown = VIEWS.index(self._browser.view)
        if sum(map(len, names)) + 2 * len(names) > width:
            return Content.assemble((f"[{names[shown]}]", "$foreground bold"), f"  {shown + 1} of {len(VIEWS)}")
        parts: list[str | tuple[str, str]] = []
        for place, name in enumerate(names):
            parts.append((f"[{name}]", "$foreground bold") if place == shown else f" {name} ")
        return Content.assemble(*parts)

    def _hints(self, rows_n: int) -> KeyHints:
        hints: KeyHints = {places.STATS_NEXT: next(word for least, word in _NEXT if self.size.width >= least)}
        if rows_n > 1:
            hints[places.STATS_UP, places.STATS_DOWN] = "group" if self._browser.view != WATCH else "choose"
        if not self._browser.empty:
            hints[places.STATS_PAGE_DOWN] = "scroll"
        return {**hints, places.STATS_REREAD: "read again", places.STATS_BACK: "back"}
