"""The conversation on screen: turns below one another, following the newest unless the reader looks back.

Only what is near is there as widgets: see ``near_pages``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from localspec.tui.exchange import Exchange
from localspec.tui.truth import Ghosts, Showing
from localspec.tui.widgets.near_pages import NearPages
from localspec.tui.widgets.page import Page, grouped
from localspec.tui.widgets.reading_place import ReadingPlace
from localspec.tui.widgets.steady import SteadyPane
from localspec.tui.widgets.turn import TurnView


class Transcript(VerticalScroll, SteadyPane, can_focus=False, can_focus_children=False):
    """Turns in order. While it follows, the newest text stays in view; otherwise the view stays put.

    The scroll bar shows only when the reader looks back, where it means something.
    """

    DEFAULT_CSS = """
    Transcript {
        align-horizontal: center; padding: 0 0 1 0;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; scrollbar-visibility: hidden;
        scrollbar-color: $panel; scrollbar-color-hover: $quiet; scrollbar-color-active: $accent;
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    """

    class Followed(Message):
        """The reader came back to the newest text, or left it."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    class Shown(Message):
        """Turns have come on screen, or look different."""

    class LetGo(Message):
        """An exchange is far away and has no widget any more."""

        def __init__(self, exchange: Exchange) -> None:
            super().__init__()
            self.exchange = exchange

    def __init__(self, make: Callable[[Exchange], TurnView]) -> None:
        """``make`` draws an exchange as it stands."""
        super().__init__()
        self.showing = Showing()
        """How replies are shown that have no way of their own."""
        self.ghosts = Ghosts.BRIEF
        self.selected: TurnView | None = None
        """The turn that the reader has chosen, if one."""
        self._make = make
        self._views: dict[Exchange, TurnView] = {}
        self._following = True
        self._unsettled: list[TurnView] = []
        self.near = NearPages(self, self._fill, self._release, self._place)

    @property
    def following(self) -> bool:
        """Whether the newest text is kept in view."""
        return self._following

    @property
    def turns(self) -> list[TurnView]:
        """The turns that are there as widgets, oldest first."""
        return [turn for page in self._pages for turn in page.turns]

    @property
    def exchanges(self) -> list[Exchange]:
        """All that is shown, near or far."""
        return [exchange for page in self._pages for exchange in page.exchanges]

    def view(self, exchange: Exchange) -> TurnView | None:
        """The widget of an exchange, while there is one."""
        return self._views.get(exchange)

    # What is shown

    async def add_turn(self, exchange: Exchange) -> TurnView:
        """Append a turn and go to it."""
        pages = self._pages
        async with self.near.held():
            page = pages[-1] if pages and not pages[-1].full else Page()
            if not page.is_attached:
                await self.mount(page)
            page.exchanges.append(exchange)
            view = self._view_for(exchange)
            await page.mount(view)
            await self._dress(view)
        self.follow()
        return view

    async def add(self, widget: Widget) -> None:
        """Append something that is no turn, and go to it."""
        await self.mount(widget)
        self.follow()

    async def clear(self) -> None:
        """Remove everything."""
        async with self.near.held():
            self._unsettled.clear()
            self._views.clear()
            self.selected = None
            await self.remove_children()

    async def sync(self, exchanges: Sequence[Exchange]) -> None:
        """Show these and no others, and go to the newest; those that stand at the front already stay as they are."""
        shown = self.exchanges
        same = (a is b for a, b in zip(shown, exchanges, strict=False))
        kept_n = next((n for n, equal in enumerate(same) if not equal), min(len(shown), len(exchanges)))
        async with self.near.held():
            await self._cut(kept_n)
        rest = exchanges[kept_n:]
        width = max(20, min(self.size.width, 92) - 6)
        pages = [
            Page(rest[group], sum(exchange.rows(width) for exchange in rest[group]))
            for group in grouped([exchange.size for exchange in rest])
        ]
        if pages:
            await self.mount_all(pages)
        if last := self._pages[-1:]:
            await self.near.open(last[0])
        self.follow()
        self.call_after_refresh(self.near.look)

    async def remake(self, exchange: Exchange) -> None:
        """Draw an exchange anew."""
        async with self.near.held():
            old = self._views.get(exchange)
            if old is None or not isinstance(old.parent, Page):
                return  # it is far away, and drawn when it comes near
            chosen = self.selected is old
            view = self._view_for(exchange)
            await old.parent.mount(view, after=old)
            await old.remove()
            await self._dress(view)
        if chosen:
            self._choose(view)

    async def discard(self, exchange: Exchange) -> None:
        """Take one away, for example a message that was withdrawn."""
        async with self.near.held():
            view = self._views.pop(exchange, None)
            for page in self._pages:
                if exchange in page.exchanges:
                    page.exchanges.remove(exchange)
            if view is not None:
                await view.remove()

    async def reveal(self, exchange: Exchange) -> None:
        """Choose a turn, however far away, and go to it."""
        for page in self._pages:
            if exchange in page.exchanges:
                self._anchor_released = True
                await self.near.open(page)
                self._choose(self._views[exchange])
                # Where it is can be told once the page is laid out.
                self.call_after_refresh(self._go_to, self._views[exchange])

    def settle(self, turn: TurnView) -> None:
        """Give a finished reply its final look, as soon as that cannot move what the reader looks at."""
        self._unsettled.append(turn)
        if self._following:
            self.run_worker(self._settle())

    def show(self, showing: Showing) -> None:
        """Show the selected turn so, or else all, and forget what single turns had for themselves."""
        if self.selected is not None:
            self.selected.own_showing = showing
        else:
            self.showing = showing
            for turn in self.turns:
                turn.own_showing = None
        self._redress()

    def show_ghosts(self, ghosts: Ghosts) -> None:
        """Show rejected proposals so, in all turns."""
        self.ghosts = ghosts
        self._redress()

    @property
    def shown(self) -> Showing:
        """How the selected turn is shown, or else the others."""
        return (self.selected.own_showing if self.selected else None) or self.showing

    def select(self, step: int) -> TurnView | None:
        """Choose the turn before or after the one chosen, at first the newest; past the last none is."""
        turns = self.turns
        at = turns.index(self.selected) if self.selected in turns else len(turns)
        at = max(0, at + step)
        self.unselect()
        if at < len(turns):
            self._choose(turns[at])
            self.scroll_to_widget(turns[at], animate=False)
            self._moved()
        return self.selected

    def choose(self, view: TurnView) -> None:
        """Choose a turn that is there; the view stays where it is."""
        self._choose(view)

    def unselect(self) -> None:
        """Choose no turn."""
        if self.selected is not None:
            self.selected.choose(False)
            self.selected = None

    def _go_to(self, turn: TurnView) -> None:
        self.scroll_to_widget(turn, animate=False, top=True)
        self._moved()

    def follow(self) -> None:
        """Go to the newest text and stay there."""
        self._anchor_released = False
        self._hold_on()
        if self._anchored:
            self.scroll_end(animate=False, immediate=True)
        self._moved()

    def page(self, direction: int) -> None:
        """Scroll by nearly a page, keeping two lines for the eye."""
        distance = max(1, self.size.height - 2)
        self.scroll_relative(y=direction * distance, animate=False)

    @property
    def _pages(self) -> list[Page]:
        return self.near.pages

    def _view_for(self, exchange: Exchange) -> TurnView:
        view = self._views[exchange] = self._make(exchange)
        return view

    def _choose(self, view: TurnView) -> None:
        self.unselect()
        self.selected = view
        view.choose(True)

    async def _cut(self, kept_n: int) -> None:
        """Remove what comes after the first ``kept_n`` exchanges."""
        for page in self._pages:
            gone, page.exchanges = page.exchanges[max(0, kept_n) :], page.exchanges[: max(0, kept_n)]
            kept_n -= len(page.exchanges) + len(gone)
            for exchange in gone:
                view = self._views.pop(exchange, None)
                if view is self.selected:
                    self.unselect()
                if view is not None and page.exchanges:
                    await view.remove()
            if not page.exchanges:
                await page.remove()

    async def _settle(self) -> None:
        async with self.near.held():
            while self._unsettled:
                await self._dress(self._unsettled.pop(0))

    def _redress(self) -> None:
        """Show every turn as it is to be shown; those folded away when they are next seen."""
        self.run_worker(self._show(), group="view", exclusive=True)

    async def _dress(self, turn: TurnView) -> None:
        """To be called while ``near`` is held."""
        if turn.is_attached:
            await turn.reply.show(turn.own_showing or self.showing, self.ghosts)

    async def _show(self) -> None:
        """Give all replies the view in force; what the reader looks at stays where it is."""
        place = self._place()
        async with self.near.held():
            for page in self._pages:
                for turn in page.turns if not page.folded else ():
                    await self._dress(turn)
        self.call_after_refresh(self._keep, place)
        self.post_message(self.Shown())

    async def _fill(self, page: Page) -> None:
        """Give a page its turns."""
        missing = [exchange for exchange in page.exchanges if exchange not in self._views]
        await page.mount_all([self._view_for(exchange) for exchange in missing])
        for turn in page.turns:
            await self._dress(turn)
        self.post_message(self.Shown())

    def _release(self, turn: TurnView) -> None:
        """A turn is about to have no widget any more."""
        self._views.pop(turn.exchange, None)
        self.post_message(self.LetGo(turn.exchange))

    # Where the reader is

    def _place(self) -> ReadingPlace | None:
        """None while the newest text is followed."""
        return None if self._following else ReadingPlace.find(self, self.turns)

    def _keep(self, place: ReadingPlace | None) -> None:
        if place is not None and not self._following:
            place.keep(self)

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self._hold_on()
        return changed

    def on_resize(self) -> None:
        self.near.look()

    def _hold_on(self) -> None:
        """Anchor to the bottom once there are more turns than fit: before that, text starts at the top."""
        overflows = bool(self._pages) and self.virtual_size.height > self.container_size.height
        if overflows != self._anchored:
            self.anchor(overflows)
            self.refresh(layout=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._moved()

    def _moved(self) -> None:
        """See what the new position means: following or not, and which pages can be seen."""
        self.near.look()
        following = not self._anchor_released
        if following != self._following:
            self._following = following
            self.styles.scrollbar_visibility = "hidden" if following else "visible"
            self.post_message(self.Followed(following))
            if following and self._unsettled:
                self.run_worker(self._settle())
