"""A race or a comparison on screen: lanes, each drawn while it runs, and replayed side by side on one clock."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.chat.commands import places
from localspec.chat.comparison import Comparison
from localspec.chat.race import Lane, Runs, lane_line, waiting_line
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.chat.tokens.marking import MarkMode
from localspec.engine.events import FinishReason
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import CommandTarget, handles
from localspec.tui.textual_fixes.compositor import RowScreen
from localspec.tui.tokens.palette import Palette
from localspec.tui.tokens.token_view import TokenView
from localspec.tui.widgets.key_row import KeyHints, KeyRow, titled

REPLAY = "Side by side on one clock, each at the speed it had."
_FRAME_S = 1 / 15
_COLUMN = 38
"""The least width of a lane beside another."""
_GAPS = re.compile(" {3,}")


class LaneView(Container):
    """One run: its figures above its tokens."""

    DEFAULT_CSS = """
    LaneView.-chosen .lane-line { background: $panel; color: $foreground; text-style: bold; }
    LaneView .lane-line { margin: 0 0 1 0; color: $quiet; text-wrap: nowrap; text-overflow: ellipsis; }
    LaneView VerticalScroll { scrollbar-size-vertical: 0; }
    """

    def __init__(self, lane: Lane, palette: Callable[[], Palette]) -> None:
        super().__init__()
        self.lane = lane
        self._palette = palette
        self._line = Static("", classes="lane-line", markup=False)
        self._rows = ""
        """The text of the line, in two rows."""
        self._scroll = VerticalScroll(can_focus=False)
        self._follows = True
        self._begin()

    def _begin(self) -> None:
        self._reply = InspectableReply()
        self._tokens = TokenView(self._palette, self._reply)
        self._tokens.mark(MarkMode.ORIGIN, keep_ghosts=False)

    def compose(self) -> ComposeResult:
        yield self._line
        with self._scroll:
            yield self._tokens

    @property
    def shown_n(self) -> int:
        """Rounds on screen."""
        return len(self._reply.rounds)

    @property
    def overflows(self) -> bool:
        return self._scroll.max_scroll_y > 0

    def page(self, direction: int) -> None:
        to = self._scroll.scroll_y + direction * max(1, self._scroll.size.height - 1)
        self._follows = to >= self._scroll.max_scroll_y
        self._scroll.scroll_to(y=to, animate=False)

    async def rewind(self) -> None:
        await self._tokens.remove()
        self._begin()
        await self._scroll.mount(self._tokens)
        self._follows = True

    def follow(self, runs: Runs) -> None:
        """Show all rounds so far of this one of the ``runs``."""
        if self.lane.rounds:
            self.run_to(self.lane.took_s)
        else:
            self._say(waiting_line(self.lane, runs))

    def run_to(self, elapsed_s: float) -> bool:
        """Show the rounds that were done by then; True if they were the last."""
        due_n = self.lane.done_by(elapsed_s)
        if due_n > self.shown_n:
            for round_ in self.lane.rounds[self.shown_n : due_n]:
                self._reply.receive(round_)
            self._tokens.extend()
        self._say(lane_line(self.lane, elapsed_s, self.shown_n))
        return self.shown_n == len(self.lane.rounds)

    def on_mount(self) -> None:
        self.watch(self._scroll, "virtual_size", self._show_end, init=False)

    def on_resize(self) -> None:
        self._say(self._rows)
        self._show_end()

    def _show_end(self) -> None:
        """Keep the latest rows in sight, whether some were added or room was taken, until the reader scrolls up."""
        if self._follows:
            self._scroll.scroll_end(animate=False)

    def _say(self, rows: str) -> None:
        """Write the figures: in one row where no lane is beside, whose text would begin elsewhere, and they fit.

        On a low screen the row ends where it is full, so that there is room for the reply.
        """
        self._rows = rows
        one, low = rows.replace("\n", "  "), self.screen.has_class("-short")
        if self.screen.has_class("-stacked") and (low or len(one) <= self.size.width):
            rows = _GAPS.sub("  ", one) if low else one
        self._line.update(rows)


class RaceScreen(RowScreen[Lane | None], CommandTarget):
    """Shows runs as they write, says which was faster and why, and replays them.

    Of a comparison it returns the run to keep the reply of; None to keep none.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_RACE.commands)
    DEFAULT_CSS = """
    RaceScreen { padding: 0 2; }
    RaceScreen Static { width: 100%; }
    RaceScreen #race-head { color: $quiet; margin: 0 0 1 0; }
    RaceScreen #race-hints { padding: 0; height: 1; }
    RaceScreen.-short #race-head { display: none; }
    RaceScreen #race-verdict { min-height: 2; }
    RaceScreen.-tall #race-verdict { margin: 1 0 0 0; }
    RaceScreen #race-lanes { layout: horizontal; }
    RaceScreen LaneView { padding: 0 2 0 0; }
    RaceScreen.-stacked #race-lanes { layout: vertical; }
    RaceScreen.-stacked LaneView { padding: 0; }
    RaceScreen.-stacked .lane-line { margin: 0; }
    """

    def __init__(self, race: Runs, palette: Callable[[], Palette]) -> None:
        super().__init__()
        self._race = race
        self._lanes = [LaneView(lane, palette) for lane in race.shown]
        self._chosen = 0 if isinstance(race, Comparison) else None
        """The column that is chosen; None where none can be."""
        self._head = Static(race.statement, id="race-head", markup=False)
        self._verdict = Static("", id="race-verdict", markup=False)
        self._hints = KeyRow(id="race-hints")
        self._replayed_from: float | None = None
        """The time at which the replay began; None during the race itself."""
        self._ended = False

    def compose(self) -> ComposeResult:
        yield self._head
        with Container(id="race-lanes"):
            yield from self._lanes
        yield self._verdict
        yield self._hints

    def on_mount(self) -> None:
        self._timer = self.set_interval(_FRAME_S, self._frame)
        self.choose(0)
        for scroll in self.query(VerticalScroll):
            self.watch(scroll, "virtual_size", self._hint_soon)

    def on_resize(self) -> None:
        self.set_class(self.size.width < _COLUMN * len(self._lanes), "-stacked")
        self._hint_soon()

    @handles(places.RACE_CLOSE)
    def leave(self) -> None:
        self._race.stop()
        self.dismiss(None)

    @handles(places.RACE_LEFT, -1)
    @handles(places.RACE_RIGHT, 1)
    def choose(self, step: int) -> None:
        if self._chosen is not None:
            self._chosen = (self._chosen + step) % len(self._lanes)
            for number, view in enumerate(self._lanes):
                view.set_class(number == self._chosen, "-chosen")

    @handles(places.RACE_PAGE_UP, -1)
    @handles(places.RACE_PAGE_DOWN, 1)
    def page(self, direction: int) -> None:
        for number, view in enumerate(self._lanes):
            if self._chosen in (None, number):
                view.page(direction)

    @handles(places.RACE_KEEP)
    def keep(self) -> None:
        """Return the chosen run, if it has a whole reply."""
        lane = self._lanes[self._chosen].lane if self._chosen is not None else None
        if lane is not None and lane.finished is not None and lane.finished.reason is not FinishReason.CANCELLED:
            self._race.stop()
            self.dismiss(lane)

    @handles(places.RACE_AGAIN)
    async def replay(self) -> None:
        if self._race.ready:
            for lane in self._lanes:
                await lane.rewind()
            self._verdict.update("")
            self._head.update(REPLAY)
            self._ended = False
            self._replayed_from = time.monotonic()
            self._timer.resume()
            self._hint()

    @handles(places.RACE_END)
    def finish(self) -> None:
        if self._replayed_from is not None:
            self._replayed_from = time.monotonic() - max(lane.took_s for lane in self._race.shown) - 1

    def _frame(self) -> None:
        race = self._race
        if self._replayed_from is not None:
            elapsed_s = time.monotonic() - self._replayed_from
            arrived = [lane.run_to(elapsed_s) for lane in self._lanes]
            if all(arrived):
                self._end(race.verdict())
            return
        for lane in self._lanes:
            lane.follow(race)
        if race.failure or race.ready:
            self._end(race.failure or race.verdict())

    def _end(self, said: str) -> None:
        """Show the result, and stop drawing."""
        self._verdict.update(Content(said))
        self._ended = True
        self._timer.pause()
        self._hint()

    def _hint_soon(self) -> None:
        self.call_after_refresh(self._hint)

    def _hint(self) -> None:
        """Show the keys that count now, also that to scroll where a reply does not fit."""
        hints: KeyHints = {}
        if self._ended and self._chosen is not None:
            hints |= {(places.RACE_LEFT, places.RACE_RIGHT): "choose", **titled(places.RACE_KEEP)}
        if any(view.overflows for view in self._lanes):
            hints |= {places.RACE_PAGE_UP: "scroll"}
        if self._ended:
            hints |= titled(places.RACE_AGAIN) if self._race.ready else {}
        elif self._replayed_from is not None:
            hints |= titled(places.RACE_END)
        self._hints.show(hints | titled(places.RACE_CLOSE))
