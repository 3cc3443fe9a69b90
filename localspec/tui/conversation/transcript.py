"""The conversation on screen: turns below one another, following the newest unless the reader scrolls back.

Only turns near the visible part are widgets: see ``near_pages``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import work
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from localspec.chat.commands.moving import LATEST, NEWER, OLDER
from localspec.chat.tokens.marking import GhostMode, ReplyFormat
from localspec.chat.turn import Turn
from localspec.tui.conversation.reading_place import ReadingPlace
from localspec.tui.conversation.turn_pages import TurnPages
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.keys.handling import handles
from localspec.tui.textual_fixes.single_layout import SingleLayoutPane


class Transcript(VerticalScroll, SingleLayoutPane, can_focus=False, can_focus_children=False):
    """The turns in order. While it follows, the newest text stays in view; otherwise the view does not move.

    The scroll bar shows only while the reader has scrolled back.
    """

    DEFAULT_CSS = """
    Transcript {
        align-horizontal: center; padding: 0 0 1 0;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; scrollbar-visibility: hidden;
    }
    """

    class Followed(Message):
        """The reader has come back to the newest text, or has left it."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    class Shown(Message):
        """Turns have come on screen, or have another format."""

    def __init__(self, make: Callable[[Turn], TurnView], let_go: Callable[[Turn], object]) -> None:
        """``make`` makes the widget of a turn as it is now; ``let_go`` is called with a turn that loses its widget."""
        super().__init__()
        self.following = True
        """True while the newest text is kept in view."""
        self.pages = TurnPages(self, make, self._place, lambda: self.post_message(self.Shown()), let_go)
        """The turns, and the widgets of those that have one."""
        self._formats = self.pages.formats
        self._selection = self.pages.selection

    # What is shown

    async def add_turn(self, turn: Turn) -> None:
        """Append a turn and go to it."""
        await self.pages.add(turn)
        self.follow()

    async def add(self, widget: Widget) -> None:
        """Append a widget that is no turn, and go to it."""
        await self.mount_all([widget])
        self.follow()

    async def sync(self, turns: Sequence[Turn]) -> None:
        """Show these turns and no others, and go to the newest. Turns that stay in place keep their widgets."""
        await self.pages.sync(turns)
        self.follow()
        self.call_after_refresh(self.pages.near.look)

    async def reveal(self, turn: Turn) -> None:
        """Choose a turn, near or far, and go to it."""
        if turn in self.pages.turns:
            self._anchor_released = True
            view = await self.pages.open(turn)
            if view is None:
                return
            self.choose(view)
            # Where it is can be told once the page is laid out.
            self.call_after_refresh(self._go_to, view)

    # How it is shown

    @property
    def reply_format(self) -> ReplyFormat:
        """The format of replies that have none of their own."""
        return self._formats.reply_format

    @property
    def ghosts(self) -> GhostMode:
        """The way rejected proposals are shown."""
        return self._formats.ghosts

    @property
    def shown(self) -> ReplyFormat:
        """The format of the chosen turn, or else the common one."""
        return self._formats.of(self.selected) if self.selected else self.reply_format

    def show(self, reply_format: ReplyFormat) -> None:
        """Set the format of the chosen turn, or else of all turns."""
        if self.selected is not None:
            self.selected.own_format = reply_format
        else:
            self._formats.set_all(reply_format, self.pages.views)
        self._reformat()

    def show_ghosts(self, ghosts: GhostMode) -> None:
        """Set the way rejected proposals are shown, in all turns."""
        self._formats.ghosts = ghosts
        self._reformat()

    def finish(self, view: TurnView) -> None:
        """Apply the format to a finished reply, as soon as that cannot move the text the reader looks at."""
        self._formats.deferred.append(view)
        if self.following:
            self.run_worker(self._formats.apply_deferred())

    @work(group="view", exclusive=True)
    async def _reformat(self) -> None:
        """Apply the format to all replies; the text the reader looks at stays in place."""
        place = self._place()
        await self._formats.apply_near()
        self.call_after_refresh(self._keep, place)
        self.post_message(self.Shown())

    # Which turn is chosen

    @property
    def selected(self) -> TurnView | None:
        """The turn that the reader has chosen, if any."""
        return self._selection.view

    def select(self, step: int) -> TurnView | None:
        """Choose the previous or next turn, at first the newest; past the last, none."""
        view = self._selection.step(self.pages.views, step)
        if view is not None:
            self.scroll_to_widget(view, animate=False)
            self._moved()
        return view

    def choose(self, view: TurnView) -> None:
        """Choose a turn that has a widget, without scrolling."""
        self._selection.choose(view)

    def unselect(self) -> None:
        self._selection.clear()

    def _go_to(self, view: TurnView) -> None:
        # At once: seen from where the reader was, the page is far away, and would be folded.
        self.scroll_to_widget(view, animate=False, top=True, immediate=True)
        if not self.max_scroll_y:
            self._anchor_released = False  # all of it is in view, the newest text too
        self._moved()

    @handles(LATEST)
    def follow(self) -> None:
        """Go to the newest text and follow it."""
        self._anchor_released = False
        self._hold_on()
        if self._anchored:
            self.scroll_end(animate=False, immediate=True)
        self._moved()

    @handles(OLDER, -1)
    @handles(NEWER, 1)
    def page(self, direction: int) -> None:
        """Scroll by a page less two lines."""
        distance = max(1, self.size.height - 2)
        self.scroll_relative(y=direction * distance, animate=False)

    # Where the reader is

    def _place(self) -> ReadingPlace | None:
        """The place to keep in view; None while the newest text is followed."""
        return None if self.following else ReadingPlace.find(self, self.pages.views)

    def _keep(self, place: ReadingPlace | None) -> None:
        if place is not None and not self.following:
            place.keep(self)

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self._hold_on()
        return changed

    def _scroll_update(self, virtual_size: Size) -> None:
        """Avoid a layout of the whole screen, which Textual (8.2) does when a hidden scroll bar gets another size."""
        if not self.following:
            super()._scroll_update(virtual_size)
            return
        self._refresh_scrollbars()
        self.scroll_x = self.validate_scroll_x(self.scroll_x)
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def on_resize(self) -> None:
        self.pages.near.look()

    def _hold_on(self) -> None:
        """Anchor to the bottom once the turns overflow; before that, text starts at the top."""
        overflows = bool(self.pages.pages) and self.virtual_size.height > self.container_size.height
        if overflows != self._anchored:
            self.anchor(overflows)
            self.refresh(layout=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._moved()

    def _moved(self) -> None:
        """Take in the new scroll position: following or not, and the pages near it."""
        self.pages.near.look()
        following = not self._anchor_released
        if following != self.following:
            self.following = following
            self.styles.scrollbar_visibility = "hidden" if following else "visible"
            self.post_message(self.Followed(following))
            if following:
                self.run_worker(self._formats.apply_deferred())
