"""The turns of a conversation on their pages: which exchanges are shown, and which of them have a widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.containers import VerticalScroll

from localspec.chat.turn import Turn
from localspec.tui.conversation.dressing import Dressing
from localspec.tui.conversation.near_pages import NearPages
from localspec.tui.conversation.page import Page, grouped
from localspec.tui.conversation.reading_place import ReadingPlace
from localspec.tui.conversation.selection import Selection
from localspec.tui.conversation.turn import TurnView


class TurnPages:
    """Mounts turns, draws them anew and takes them away, never while pages are being filled or emptied."""

    def __init__(
        self,
        pane: VerticalScroll,
        make: Callable[[Turn], TurnView],
        place: Callable[[], ReadingPlace | None],
        shown: Callable[[], object],
        let_go: Callable[[Turn], object],
    ) -> None:
        """``make`` draws an exchange as it stands; ``shown`` hears that turns have come, ``let_go`` which one went."""
        self.near = NearPages(pane, self._fill, self._release, place)
        self.dressing = Dressing(self.near)
        self.selection: Selection[TurnView] = Selection()
        self._pane = pane
        self._make = make
        self._shown = shown
        self._let_go = let_go
        self._views: dict[Turn, TurnView] = {}

    @property
    def pages(self) -> list[Page]:
        return self.near.pages

    @property
    def turns(self) -> list[TurnView]:
        """Those that are there as widgets, oldest first."""
        return [turn for page in self.pages for turn in page.turns]

    @property
    def exchanges(self) -> list[Turn]:
        """All that is shown, near or far."""
        return [exchange for page in self.pages for exchange in page.exchanges]

    def view(self, exchange: Turn) -> TurnView | None:
        """The widget of an exchange, while there is one."""
        return self._views.get(exchange)

    async def add(self, exchange: Turn) -> TurnView:
        """Append a turn, on a page of its own: what grows with its reply is arranged anew with every line."""
        async with self.near.held():
            page = Page()
            page.exchanges.append(exchange)
            await self._pane.mount(page)
            view = self._view_for(exchange)
            await page.mount(view)
            await self.dressing.dress(view)
        return view

    async def clear(self) -> None:
        """Remove everything that stands on the pane."""
        async with self.near.held():
            self.dressing.forget()
            self.selection.forget()
            self._views.clear()
            await self._pane.remove_children()

    async def sync(self, exchanges: Sequence[Turn]) -> None:
        """Show these and no others; those that stand at the front already stay as they are."""
        shown = self.exchanges
        same = (a is b for a, b in zip(shown, exchanges, strict=False))
        kept_n = next((n for n, equal in enumerate(same) if not equal), min(len(shown), len(exchanges)))
        async with self.near.held():
            await self._cut(kept_n)
        rest = exchanges[kept_n:]
        width = max(20, min(self._pane.size.width, 92) - 6)
        pages = [
            Page(rest[group], sum(exchange.rows(width) for exchange in rest[group]))
            for group in grouped([exchange.size for exchange in rest])
        ]
        if pages:
            await self._pane.mount_all(pages)
        if last := self.pages[-1:]:
            await self.near.open(last[0])

    async def remake(self, exchange: Turn) -> None:
        """Draw an exchange anew."""
        async with self.near.held():
            old = self._views.get(exchange)
            if old is None or not isinstance(old.parent, Page):
                return  # it is far away, and drawn when it comes near
            chosen = self.selection.turn is old
            view = self._view_for(exchange)
            await old.parent.mount(view, after=old)
            await old.remove()
            await self.dressing.dress(view)
        if chosen:
            self.selection.choose(view)

    async def discard(self, exchange: Turn) -> None:
        """Take one away, for example a message that was withdrawn."""
        async with self.near.held():
            view = self._views.pop(exchange, None)
            for page in self.pages:
                if exchange in page.exchanges:
                    page.exchanges.remove(exchange)
            if view is not None:
                await view.remove()

    async def open(self, exchange: Turn) -> TurnView:
        """Have a turn there, however far away it is."""
        await self.near.open(next(page for page in self.pages if exchange in page.exchanges))
        return self._views[exchange]

    def _view_for(self, exchange: Turn) -> TurnView:
        view = self._views[exchange] = self._make(exchange)
        return view

    async def _cut(self, kept_n: int) -> None:
        """Remove what comes after the first ``kept_n`` exchanges."""
        for page in self.pages:
            gone, page.exchanges = page.exchanges[max(0, kept_n) :], page.exchanges[: max(0, kept_n)]
            kept_n -= len(page.exchanges) + len(gone)
            for exchange in gone:
                view = self._views.pop(exchange, None)
                if view is self.selection.turn:
                    self.selection.clear()
                if view is not None and page.exchanges:
                    await view.remove()
            if not page.exchanges:
                await page.remove()

    async def _fill(self, page: Page) -> None:
        """Give a page its turns."""
        missing = [exchange for exchange in page.exchanges if exchange not in self._views]
        await page.mount_all([self._view_for(exchange) for exchange in missing])
        for turn in page.turns:
            await self.dressing.dress(turn)
        self._shown()

    def _release(self, turn: TurnView) -> None:
        """A turn is about to have no widget any more."""
        self._views.pop(turn.exchange, None)
        self._let_go(turn.exchange)
