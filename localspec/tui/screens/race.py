"""The race on screen: two lanes on one clock, replayed from what was recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.tui.compositor import RowScreen
from localspec.tui.keys import bindings_of, hint_line, labels_of
from localspec.tui.palette import Palette
from localspec.tui.race import Lane, Race, lane_line, lanes, verdict
from localspec.tui.race_actions import RACE_ACTIONS
from localspec.tui.truth import Mode, Trace
from localspec.tui.widgets.token_view import TokenView

STATEMENT = "Both ran on this machine, one after the other; here side by side, each at the speed it had."
_FRAME_S = 1 / 15


class LaneView(Container):
    """One runner: its figures above its tokens."""

    DEFAULT_CSS = """
    LaneView { width: 1fr; height: 1fr; }
    LaneView .lane-line { height: auto; margin: 0 0 1 0; color: $quiet; text-wrap: nowrap; }
    RaceScreen.-narrow LaneView .lane-line { margin: 0; }
    LaneView VerticalScroll { height: 1fr; scrollbar-size-vertical: 0; }
    """

    def __init__(self, lane: Lane, palette: Callable[[], Palette]) -> None:
        super().__init__()
        self._lane = lane
        self._palette = palette
        self._line = Static("", classes="lane-line", markup=False)
        self._scroll = VerticalScroll(can_focus=False)
        self._begin()

    def _begin(self) -> None:
        self._trace = Trace()
        self._tokens = TokenView(self._palette, self._trace)
        self._tokens.mark(Mode.ORIGIN, keep_ghosts=False)

    def compose(self) -> ComposeResult:
        yield self._line
        with self._scroll:
            yield self._tokens

    @property
    def shown_n(self) -> int:
        """Rounds on screen."""
        return len(self._trace.rounds)

    async def rewind(self) -> None:
        """To the start."""
        await self._tokens.remove()
        self._begin()
        await self._scroll.mount(self._tokens)

    def run_to(self, elapsed_s: float) -> bool:
        """Show what was done by then; returns whether the goal is reached."""
        due_n = self._lane.done_by(elapsed_s)
        if due_n > self.shown_n:
            rounds = self._lane.rounds[self.shown_n : due_n]
            self._trace.extend(rounds)
            self._tokens.extend(rounds)
            self._scroll.scroll_end(animate=False)
        rows = lane_line(self._lane, elapsed_s, self.shown_n)
        one = rows.replace("\n", "  ")
        self._line.update(one if len(one) <= self.size.width else rows)
        return self.shown_n == len(self._lane.rounds)


class RaceScreen(RowScreen[None]):
    """Waits for the recording, then replays it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(RACE_ACTIONS)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    RaceScreen { background: $background; color: $foreground; padding: 0 2; }
    RaceScreen Static { width: 100%; height: auto; }
    RaceScreen #race-head, RaceScreen #race-hints { color: $quiet; }
    RaceScreen #race-head { margin: 0 0 1 0; }
    RaceScreen #race-verdict { min-height: 2; }
    RaceScreen #race-lanes { height: 1fr; layout: vertical; }
    RaceScreen.-wide #race-lanes { layout: horizontal; }
    RaceScreen.-wide LaneView { padding: 0 2 0 0; }
    """

    def __init__(self, race: Race, palette: Callable[[], Palette], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._race = race
        self._clock = clock
        self._lanes = [LaneView(lane, palette) for lane in lanes(race)]
        self._head = Static(STATEMENT, id="race-head", markup=False)
        self._verdict = Static("", id="race-verdict", markup=False)
        self._started_at: float | None = None

    def compose(self) -> ComposeResult:
        yield self._head
        with Container(id="race-lanes"):
            yield from self._lanes
        yield self._verdict
        yield Static("", id="race-hints", markup=False)

    def on_mount(self) -> None:
        self._timer = self.set_interval(_FRAME_S, self._frame)
        key = labels_of(self, RACE_ACTIONS)
        hints = [(key[action.id], action.title) for action in RACE_ACTIONS]
        self.query_one("#race-hints", Static).update(Content(hint_line(hints)))

    def action_leave(self) -> None:
        self._race.stop()
        self.dismiss()

    async def action_again(self) -> None:
        if self._race.ready:
            for lane in self._lanes:
                await lane.rewind()
            self._verdict.update("")
            self._started_at = None
            self._timer.resume()

    def action_finish(self) -> None:
        if self._race.ready:
            self._started_at = self._clock() - max(lane.took_s for lane in lanes(self._race)) - 1

    def _frame(self) -> None:
        race = self._race
        if race.failure:
            self._verdict.update(Content(race.failure))
            self._timer.pause()
        elif not race.ready:
            running = race.running
            if running is not None:
                self._verdict.update(Content(f"recording the {running.name} run: {running.tokens_n} tokens so far"))
        else:
            self._replay()

    def _replay(self) -> None:
        if self._started_at is None:
            self._started_at = self._clock()
            self._verdict.update("")
        elapsed_s = self._clock() - self._started_at
        arrived = [lane.run_to(elapsed_s) for lane in self._lanes]
        if all(arrived):
            self._verdict.update(Content(verdict(self._race)))
            self._timer.pause()
