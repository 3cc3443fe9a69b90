"""The inspector: move along the tokens of a reply and see what is known about each."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from localspec.tui.insights import Insights, Subject
from localspec.tui.palette import Palette
from localspec.tui.truth import Mode, Showing
from localspec.tui.widgets.token_panel import TokenPanel
from localspec.tui.widgets.token_view import TokenView

HINTS = "←→ token  ↑↓ line  [] round  n rejection  m marks  Esc"


class InspectorScreen(Screen[None]):
    """One reply and a cursor; the panel stands beside it where there is room, below it elsewhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f3", "dismiss", "Back", id="inspector-close"),
        Binding("left,h", "step(-1)", "Token before", id="inspector-left"),
        Binding("right,l", "step(1)", "Token after", id="inspector-right"),
        Binding("up,k", "line(-1)", "Line above", id="inspector-up"),
        Binding("down,j", "line(1)", "Line below", id="inspector-down"),
        Binding("left_square_bracket,ctrl+left", "round(-1)", "Round before", id="inspector-round-before"),
        Binding("right_square_bracket,ctrl+right", "round(1)", "Round after", id="inspector-round-after"),
        Binding("n", "rejection", "Next rejection", id="inspector-rejection"),
        Binding("home", "go(0)", "First token", id="inspector-first"),
        Binding("end", "go(-1)", "Last token", id="inspector-last"),
        Binding("pageup", "panel(-1)", "Scroll up", id="inspector-panel-up"),
        Binding("pagedown", "panel(1)", "Scroll down", id="inspector-panel-down"),
        Binding("m,f2", "next_mode", "Marks", id="inspector-marks"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - Textual declares it so
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012
    DEFAULT_CSS = """
    InspectorScreen { background: $background; color: $foreground; align-horizontal: center; }
    InspectorScreen #inspector-body { height: 1fr; layout: vertical; max-width: 92; }
    InspectorScreen #inspector-text {
        height: 1fr; min-height: 3; padding: 1 2 0 2;
        scrollbar-size-vertical: 1; scrollbar-color: $panel; scrollbar-background: $background;
    }
    InspectorScreen.-short #inspector-text { padding: 0 2; }
    InspectorScreen TokenPanel { height: 13; max-height: 75%; padding: 0 2; border-top: solid $panel; }
    InspectorScreen #inspector-hints { height: 1; width: 100%; max-width: 92; padding: 0 2; color: $quiet; }
    InspectorScreen.-wide #inspector-body, InspectorScreen.-wide #inspector-hints { max-width: 140; }
    InspectorScreen.-wide #inspector-body { layout: horizontal; }
    InspectorScreen.-wide TokenPanel {
        width: 60; height: 100%; max-height: 100%; padding: 1 2; border-top: none; border-left: solid $panel;
    }
    """

    def __init__(
        self,
        subject: Subject,
        insights: Insights,
        palette: Callable[[], Palette],
        showing: Showing,
        wake: Callable[[], None],
        *,
        index: int | None = None,
    ) -> None:
        """``wake`` has the engine's answers taken; ``index`` is where to begin, at first the first token."""
        super().__init__()
        self._subject = subject
        self._insights = insights
        self._wake = wake
        self._showing = showing
        self._shown_n = 0
        self._index = index or 0
        self._tokens = TokenView(palette, subject.trace)
        self._panel = TokenPanel()

    @property
    def subject(self) -> Subject:
        """The reply that is looked into."""
        return self._subject

    @property
    def index(self) -> int:
        """The token that is looked at."""
        return self._index

    def compose(self) -> ComposeResult:
        with Container(id="inspector-body"):
            with VerticalScroll(id="inspector-text", can_focus=False):
                yield self._tokens
            yield self._panel
        yield Static(HINTS, id="inspector-hints", markup=False)

    def on_mount(self) -> None:
        self._tokens.mark(self._showing.mode, keep_ghosts=True)
        self.refresh_knowledge()
        self.call_after_refresh(self._go, self._index)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def refresh_knowledge(self) -> None:
        """More is known than before: further rounds, probabilities, or what was asked for."""
        rounds = self._subject.trace.rounds
        if len(rounds) > self._shown_n:
            self._tokens.extend(rounds[self._shown_n :])
            self._shown_n = len(rounds)
        if self._subject.reply.done:
            self._tokens.finish()
        self._tokens.learned()
        if self._tokens.is_mounted:
            self._show()

    def action_step(self, step: int) -> None:
        self._go(self._index + step)

    def action_line(self, step: int) -> None:
        self._go(self._tokens.neighbour(self._index, step))

    def action_round(self, step: int) -> None:
        trace = self._subject.trace
        start = trace.first_of_round(self._index)
        self._go(start if step < 0 and start < self._index else trace.first_of_round(self._index, step))

    def action_rejection(self) -> None:
        found = self._subject.trace.next_rejection(self._index)
        if found is not None:
            self._go(found)

    def action_go(self, index: int) -> None:
        self._go(index % len(self._subject.trace.tokens))

    def action_panel(self, step: int) -> None:
        self._panel.scroll_relative(y=3 * step, animate=False)

    def action_next_mode(self) -> None:
        self._showing = Showing(self._showing.mode.next, markdown=False)
        self._tokens.mark(self._showing.mode, keep_ghosts=True)
        if self._showing.mode is Mode.HEAT:
            self._insights.weigh((self._subject,))
            self._wake()
        self.query_one("#inspector-hints", Static).update(Content(f"marks: {self._showing.mode}   {HINTS}"))

    @on(TokenView.Picked)
    def _picked(self, event: TokenView.Picked) -> None:
        event.stop()
        self._go(event.token)

    def _go(self, index: int) -> None:
        """Look at this token, or at the nearest there is."""
        self._index = max(0, min(index, len(self._subject.trace.tokens) - 1))
        y = self._tokens.move_cursor(self._index)
        self.query_one("#inspector-text", VerticalScroll).scroll_to(y=max(0, y - 3), animate=False)
        self._insights.look(self._subject, self._index)
        self._wake()
        self._show()

    def _show(self) -> None:
        done = self._subject.reply.done
        waiting = self._insights.failure or (
            "asking the models ..." if done else "The models are asked when the reply is done."
        )
        self._panel.show(self._subject.trace, self._index, waiting, wide=self.has_class("-wide"))
