"""The inspector: a cursor on the tokens of a reply, and a panel with all that is known about one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll

from localspec.chat.commands import places
from localspec.chat.token_queries import TokenQueries
from localspec.chat.tokens.marking import MarkMode, ReplyFormat
from localspec.chat.turn import Turn
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import CommandTarget, handles
from localspec.tui.textual_fixes.compositor import RowScreen
from localspec.tui.tokens.palette import Palette
from localspec.tui.tokens.token_panel import TokenPanel
from localspec.tui.tokens.token_view import TokenView
from localspec.tui.widgets.key_row import KeyHints, KeyRow


class InspectorScreen(RowScreen[None], CommandTarget):
    """One reply and a cursor; the panel stands beside it where there is room, below it elsewhere."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_INSPECTOR.commands)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    InspectorScreen { align-horizontal: center; }
    InspectorScreen #inspector-body { max-width: 92; }
    InspectorScreen #inspector-text { min-height: 3; padding: 1 2 0 2; scrollbar-size-vertical: 1; }
    InspectorScreen.-short #inspector-text { padding: 0 2; }
    InspectorScreen TokenPanel { height: 13; max-height: 75%; padding: 0 2; border-top: solid $panel; }
    InspectorScreen #inspector-hints { max-width: 92; }
    InspectorScreen.-wide #inspector-body, InspectorScreen.-wide #inspector-hints { max-width: 140; }
    InspectorScreen.-wide #inspector-body { layout: horizontal; }
    InspectorScreen.-wide TokenPanel {
        width: 60; height: 100%; max-height: 100%; padding: 1 2; border-top: none; border-left: solid $panel;
    }
    """

    def __init__(
        self,
        subject: Turn,
        token_queries: TokenQueries,
        palette: Callable[[], Palette],
        reply_format: ReplyFormat,
        wake: Callable[[], None],
        *,
        index: int | None = None,
    ) -> None:
        """``wake`` makes the chat take the engine's answers; ``index`` is the token to begin at."""
        super().__init__()
        self.subject = subject
        """The reply that is inspected."""
        self._reply = subject.reply
        self._token_queries = token_queries
        self._wake = wake
        self._mode = reply_format.mode
        self.index = index or 0
        """The index of the token that is inspected."""
        self._tokens = TokenView(palette, self._reply, calls=True)
        self._panel = TokenPanel()

    def compose(self) -> ComposeResult:
        with Container(id="inspector-body"):
            with VerticalScroll(id="inspector-text", can_focus=False):
                yield self._tokens
            yield self._panel
        yield KeyRow(id="inspector-hints")

    def on_mount(self) -> None:
        self._tokens.mark(self._mode, keep_ghosts=True)
        self.refresh_knowledge()
        self._hint()
        self.call_after_refresh(self._go, self.index)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def refresh_knowledge(self) -> None:
        """Draw what is known now: further rounds, probabilities, answers of the models."""
        self._tokens.extend()
        if self._reply.done:
            self._tokens.finish()
        self._tokens.learned()
        if self._tokens.is_mounted:
            self._show()

    @handles(places.INSPECTOR_LEFT, -1)
    @handles(places.INSPECTOR_RIGHT, 1)
    def step(self, step: int) -> None:
        self._go(self.index + step)

    @handles(places.INSPECTOR_UP, -1)
    @handles(places.INSPECTOR_DOWN, 1)
    def step_line(self, step: int) -> None:
        self._go(self._tokens.neighbour(self.index, step))

    @handles(places.INSPECTOR_ROUND_BEFORE, -1)
    @handles(places.INSPECTOR_ROUND_AFTER, 1)
    def step_round(self, step: int) -> None:
        reply = self._reply
        start = reply.first_of_round(self.index)
        self._go(start if step < 0 and start < self.index else reply.first_of_round(self.index, step))

    @handles(places.INSPECTOR_REJECTION)
    def next_rejection(self) -> None:
        found = self._reply.next_rejection(self.index)
        if found is not None:
            self._go(found)

    @handles(places.INSPECTOR_FIRST, 0)
    @handles(places.INSPECTOR_LAST, -1)
    def go_to(self, index: int) -> None:
        self._go(index % len(self._reply.tokens))

    @handles(places.INSPECTOR_PANEL_UP, -1)
    @handles(places.INSPECTOR_PANEL_DOWN, 1)
    def scroll_panel(self, step: int) -> None:
        self._panel.scroll_relative(y=3 * step, animate=False)

    @handles(places.INSPECTOR_CLOSE)
    def leave(self) -> None:
        self.dismiss()

    @handles(places.INSPECTOR_MARKS)
    def next_mode(self) -> None:
        self._mode = self._mode.next
        self._tokens.mark(self._mode, keep_ghosts=True)
        if self._mode is MarkMode.HEAT:
            self._token_queries.weigh((self.subject,))
            self._wake()
        self._hint(f"marks: {self._mode}   ")

    def _hint(self, before: str = "") -> None:
        hints: KeyHints = {
            (places.INSPECTOR_LEFT, places.INSPECTOR_RIGHT): "token",
            (places.INSPECTOR_ROUND_BEFORE, places.INSPECTOR_ROUND_AFTER): "round",
            places.INSPECTOR_REJECTION: "rejection",
            (places.INSPECTOR_UP, places.INSPECTOR_DOWN): "line",
            places.INSPECTOR_MARKS: "marks",
            places.INSPECTOR_CLOSE: places.INSPECTOR_CLOSE.title,
        }
        self.query_one(KeyRow).show(hints, before=before)

    @on(TokenView.Picked)
    def _picked(self, event: TokenView.Picked) -> None:
        event.stop()
        self._go(event.token)

    def _go(self, index: int) -> None:
        """Move the cursor to this token, or to the nearest there is."""
        self.index = max(0, min(index, len(self._reply.tokens) - 1))
        y = self._tokens.move_cursor(self.index)
        self.query_one("#inspector-text", VerticalScroll).scroll_to(y=max(0, y - 3), animate=False)
        self._token_queries.inspect(self.subject, self.index)
        self._wake()
        self._show()

    def _show(self) -> None:
        done = self._reply.done
        waiting = self._token_queries.failure or (
            "asking the models ..." if done else "The models are asked when the reply is done."
        )
        self._panel.show(self._reply, self.index, waiting, wide=self.has_class("-wide"))
