"""The conversation on screen: turns below one another, following the newest unless the reader looks back."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from localspec.tui.widgets.turn import TurnView


class Transcript(VerticalScroll, can_focus=False, can_focus_children=False):
    """Turns in order. While it follows, the newest text stays in view; otherwise the view stays put."""

    BLANK = True

    DEFAULT_CSS = """
    Transcript {
        align-horizontal: center; scrollbar-size-vertical: 1; padding: 0 0 1 0;
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
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
        return [child for child in self.children if isinstance(child, TurnView)]

    async def add(self, widget: Widget) -> None:
        """Append a turn, or anything else that belongs below the last one."""
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
        """Switch every reply between Markdown and tokens."""
        self.markdown = not self.markdown
        self.run_worker(self._show_all(), group="view", exclusive=True)

    def follow(self) -> None:
        """Go to the newest text and stay there."""
        self._anchor_released = False
        self._hold_on()
        if self._anchored:
            self.scroll_end(animate=False, immediate=True)
        self._note_position()

    def page(self, direction: int) -> None:
        """Scroll by nearly a page, keeping two lines for the eye."""
        distance = max(1, self.size.height - 2)
        self.scroll_relative(y=direction * distance, animate=False)

    async def _settle(self) -> None:
        while self._unsettled:
            await self._unsettled.pop(0).reply.show(markdown=self.markdown)

    async def _show_all(self) -> None:
        """Change the views; the turn at the top of the screen stays there."""
        top = next((turn for turn in self.turns if turn.virtual_region.bottom > self.scroll_y), None)
        for turn in self.turns:
            await turn.reply.show(markdown=self.markdown)
        if not self._following and top is not None:
            self.call_after_refresh(self.scroll_to, y=top.virtual_region.y, animate=False)

    def watch_virtual_size(self, size: Size) -> None:
        self._hold_on()

    def _hold_on(self) -> None:
        """Anchor to the bottom once there is more than fits: before that, text starts at the top."""
        overflows = self.virtual_size.height > self.container_size.height
        if overflows != self._anchored:
            self.anchor(overflows)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._note_position()

    def _note_position(self) -> None:
        following = not self._anchor_released
        if following != self._following:
            self._following = following
            self.post_message(self.Followed(following))
            if following and self._unsettled:
                self.run_worker(self._settle())
