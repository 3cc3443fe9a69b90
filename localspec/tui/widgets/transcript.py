"""The conversation on screen: turns below one another, following the newest unless the reader looks back."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from localspec.tui.widgets.page import Page
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

    def __init__(self) -> None:
        super().__init__()
        self.markdown = True
        """Whether finished replies are shown as Markdown rather than as tokens."""
        self._following = True
        self._unsettled: list[TurnView] = []

    @property
    def following(self) -> bool:
        """Whether the newest text is kept in view."""
        return self._following

    @property
    def turns(self) -> list[TurnView]:
        """The turns on screen, oldest first."""
        return [turn for page in self._pages for turn in page.turns]

    async def add_turn(self, turn: TurnView) -> None:
        """Append a turn and go to it."""
        pages = self._pages
        if pages and not pages[-1].full:
            await pages[-1].mount(turn)
        else:
            page = Page()
            await self.mount(page)
            await page.mount(turn)
        self.follow()

    async def add(self, widget: Widget) -> None:
        """Append something that is no turn, and go to it."""
        await self.mount(widget)
        self.follow()

    async def clear(self) -> None:
        """Remove everything."""
        self._unsettled.clear()
        await self.remove_children()

    def settle(self, turn: TurnView) -> None:
        """Give a finished reply its final look, as soon as that cannot move what the reader looks at."""
        self._unsettled.append(turn)
        if self._following:
            self.run_worker(self._settle())

    def toggle_view(self) -> None:
        """Switch every reply between Markdown and tokens; those folded away when they are next seen."""
        self.markdown = not self.markdown
        pages = [page for page in self._pages if not page.folded]
        self.run_worker(self._show(pages), group="view", exclusive=True)

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
        return [child for child in self.children if isinstance(child, Page)]

    async def _settle(self) -> None:
        while self._unsettled:
            await self._unsettled.pop(0).reply.show(markdown=self.markdown)

    async def _show(self, pages: list[Page]) -> None:
        """Give these pages' replies the view in force; the turn at the top of the screen stays there."""
        top = next((turn for turn in self.turns if turn.display and turn.region.bottom > self.region.y), None)
        for page in pages:
            for turn in page.turns:
                await turn.reply.show(markdown=self.markdown)
        if not self._following and top is not None:
            self.call_after_refresh(self.scroll_to_widget, top, animate=False, top=True)

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self._hold_on()
        return changed

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
        self._fold()
        following = not self._anchor_released
        if following != self._following:
            self._following = following
            self.styles.scrollbar_visibility = "hidden" if following else "visible"
            self.post_message(self.Followed(following))
            if following and self._unsettled:
                self.run_worker(self._settle())

    def _fold(self) -> None:
        """Fold the pages more than a screen away, except the last; bring back those that come near."""
        height = self.size.height
        if not height:
            return
        near = range(int(self.scroll_y) - height, int(self.scroll_y) + 2 * height)
        unfolded = []
        for page in self._pages[:-1]:
            region = page.virtual_region
            visible = region.y < near.stop and region.bottom > near.start
            if page.folded and visible:
                unfolded.append(page)
            page.fold(bool(region.height) and not visible)
        if unfolded:
            self.run_worker(self._show(unfolded))
