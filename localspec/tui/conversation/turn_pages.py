"""The pages of a conversation: its turns, and the widgets of those that have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.containers import VerticalScroll

from localspec.chat.turn import Turn
from localspec.tui.conversation.near_pages import NearPages
from localspec.tui.conversation.page import Page, grouped
from localspec.tui.conversation.reading_place import ReadingPlace
from localspec.tui.conversation.reply_formats import ReplyFormats
from localspec.tui.conversation.selection import Selection
from localspec.tui.conversation.turn_view import TurnView


class TurnPages:
    """Mounts, remakes and removes turns, never while pages are being filled or emptied.

    Always by ``mount_all``: unlike ``mount`` (Textual 8.2), it does nothing once the app has been told to end.
    """

    def __init__(
        self,
        pane: VerticalScroll,
        make: Callable[[Turn], TurnView],
        place: Callable[[], ReadingPlace | None],
        shown: Callable[[], object],
        let_go: Callable[[Turn], object],
    ) -> None:
        """``make`` makes a turn's widget; ``shown`` is called when widgets have come, ``let_go`` for each that went."""
        self.near = NearPages(pane, self._fill, self._release, place)
        self.formats = ReplyFormats(self.near)
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
    def views(self) -> list[TurnView]:
        """The widgets that exist, oldest first."""
        return [view for page in self.pages for view in page.views]

    @property
    def turns(self) -> list[Turn]:
        """All turns, with or without a widget."""
        return [turn for page in self.pages for turn in page.turns]

    def view(self, turn: Turn) -> TurnView | None:
        """The turn's widget, if it has one."""
        return self._views.get(turn)

    async def add(self, turn: Turn) -> None:
        """Append a turn on a page of its own: a page is laid out again with every line that a reply grows.

        Does nothing if ``sync`` has shown it already.
        """
        async with self.near.lock:
            if turn in self.turns:
                return
            page = Page()
            page.turns.append(turn)
            await self._pane.mount_all([page])
            view = self._view_for(turn)
            await page.mount_all([view])
            await self.formats.apply(view)

    async def clear(self) -> None:
        async with self.near.lock:
            self.formats.deferred.clear()
            self.selection.forget()
            self._views.clear()
            await self._pane.remove_children()

    async def sync(self, turns: Sequence[Turn]) -> None:
        """Show these turns and no others. Turns in the same place as before keep their widgets."""
        async with self.near.lock:
            shown = self.turns
            same = (a is b for a, b in zip(shown, turns, strict=False))
            kept_n = next((n for n, equal in enumerate(same) if not equal), min(len(shown), len(turns)))
            await self._cut(kept_n)
            rest = turns[kept_n:]
            width = max(20, min(self._pane.size.width, 92) - 6)
            pages = [
                Page(rest[group], sum(turn.rows(width) for turn in rest[group]))
                for group in grouped([turn.size for turn in rest])
            ]
            if pages:
                await self._pane.mount_all(pages)
        if last := self.pages[-1:]:
            await self.near.open(last[0])

    async def remake(self, turn: Turn) -> None:
        async with self.near.lock:
            old = self._views.get(turn)
            if old is None or not isinstance(old.parent, Page):
                return  # it is far away, and drawn when it comes near
            chosen = self.selection.view is old
            view = self._view_for(turn)
            await old.parent.mount_all([view], after=old)
            await old.remove()
            await self.formats.apply(view)
        if chosen:
            self.selection.choose(view)

    async def discard(self, turn: Turn) -> None:
        """Remove a turn, such as a message that was withdrawn."""
        async with self.near.lock:
            view = self._views.pop(turn, None)
            for page in self.pages:
                if turn in page.turns:
                    page.turns.remove(turn)
            if view is not None:
                await view.remove()

    async def open(self, turn: Turn) -> TurnView | None:
        """Give a turn its widget, however far away it is; None if it is gone by then."""
        await self.near.open(next(page for page in self.pages if turn in page.turns))
        return self._views.get(turn)

    def _view_for(self, turn: Turn) -> TurnView:
        view = self._views[turn] = self._make(turn)
        return view

    async def _cut(self, kept_n: int) -> None:
        """Remove all turns after the first ``kept_n``."""
        for page in self.pages:
            gone, page.turns = page.turns[max(0, kept_n) :], page.turns[: max(0, kept_n)]
            kept_n -= len(page.turns) + len(gone)
            for turn in gone:
                view = self._views.pop(turn, None)
                if view is self.selection.view:
                    self.selection.clear()
                if view is not None and page.turns:
                    await view.remove()
            if not page.turns:
                await page.remove()

    async def _fill(self, page: Page) -> None:
        """Mount the widgets that a page lacks."""
        missing = [turn for turn in page.turns if turn not in self._views]
        await page.mount_all([self._view_for(turn) for turn in missing])
        for view in page.views:
            await self.formats.apply(view)
        self._shown()

    def _release(self, view: TurnView) -> None:
        """Drop a widget that is about to be removed."""
        self._views.pop(view.turn, None)
        self._let_go(view.turn)
