"""The race on screen: two lanes, each drawn while it runs, and replayed side by side on one clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.chat.commands.command import Command
from localspec.chat.commands.places import IN_RACE, RACE_AGAIN, RACE_CLOSE, RACE_END
from localspec.chat.race import Lane, Race, lane_line, lanes, verdict, waiting_line
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.chat.tokens.marking import MarkMode
from localspec.engine.events import Token
from localspec.tui.keys.bindings import bindings_of, hint_line, key_of
from localspec.tui.keys.handling import CommandTarget, handles
from localspec.tui.textual_fixes.compositor import RowScreen
from localspec.tui.tokens.palette import Palette
from localspec.tui.tokens.token_view import TokenView

STATEMENT = "The same message twice, at temperature 0: without guesses and with them."
REPLAY = "Side by side on one clock, each at the speed it had."
_FRAME_S = 1 / 15


class LaneView(Container):
    """One of the two runs: its figures above its tokens."""

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
        self._rows = ""
        """The text of the line, in two rows."""
        self._scroll = VerticalScroll(can_focus=False)
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
    def shown_tokens(self) -> list[Token]:
        """The tokens of these rounds."""
        return self._reply.tokens

    async def rewind(self) -> None:
        """Go back to the start."""
        await self._tokens.remove()
        self._begin()
        await self._scroll.mount(self._tokens)

    def follow(self, running: Lane | None) -> None:
        """Show all rounds so far; ``running`` is the lane that is being generated."""
        if self._lane.rounds:
            self.run_to(self._lane.took_s)
        else:
            self._say(waiting_line(self._lane, running))

    def run_to(self, elapsed_s: float) -> bool:
        """Show the rounds that were done by then; True if they were the last."""
        due_n = self._lane.done_by(elapsed_s)
        if due_n > self.shown_n:
            for round_ in self._lane.rounds[self.shown_n : due_n]:
                self._reply.receive(round_)
            self._tokens.extend()
            self._scroll.scroll_end(animate=False)
        self._say(lane_line(self._lane, elapsed_s, self.shown_n))
        return self.shown_n == len(self._lane.rounds)

    def on_resize(self) -> None:
        self._say(self._rows)

    def _say(self, rows: str) -> None:
        """Write the figures in one row where there is room."""
        self._rows = rows
        one = rows.replace("\n", "  ")
        self._line.update(one if len(one) <= self.size.width else rows)


class RaceScreen(RowScreen[None], CommandTarget):
    """Shows both runs as they write, says which was faster and why, and replays them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(IN_RACE.commands)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 - Textual declares it so
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    RaceScreen { background: $background; color: $foreground; padding: 0 2; }
    RaceScreen Static { width: 100%; height: auto; }
    RaceScreen #race-head, RaceScreen #race-hints { color: $quiet; }
    RaceScreen #race-head { margin: 0 0 1 0; }
    RaceScreen #race-verdict { min-height: 2; }
    RaceScreen.-tall #race-verdict { margin: 1 0 0 0; }
    RaceScreen #race-lanes { height: 1fr; layout: vertical; }
    RaceScreen.-wide #race-lanes { layout: horizontal; }
    RaceScreen.-wide LaneView { padding: 0 2 0 0; }
    """

    def __init__(
        self,
        race: Race,
        palette: Callable[[], Palette],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._race = race
        self._clock = clock
        self._lanes = [LaneView(lane, palette) for lane in lanes(race)]
        self._head = Static(STATEMENT, id="race-head", markup=False)
        self._verdict = Static("", id="race-verdict", markup=False)
        self._hints = Static("", id="race-hints", markup=False)
        self._replayed_from: float | None = None
        """The time at which the replay began; None during the race itself."""

    def compose(self) -> ComposeResult:
        yield self._head
        with Container(id="race-lanes"):
            yield from self._lanes
        yield self._verdict
        yield self._hints

    def on_mount(self) -> None:
        self._timer = self.set_interval(_FRAME_S, self._frame)
        self._hint(RACE_CLOSE)

    @handles(RACE_CLOSE)
    def leave(self) -> None:
        self._race.stop()
        self.dismiss()

    @handles(RACE_AGAIN)
    async def replay(self) -> None:
        if self._race.ready:
            for lane in self._lanes:
                await lane.rewind()
            self._verdict.update("")
            self._head.update(REPLAY)
            self._hint(RACE_END, RACE_CLOSE)
            self._replayed_from = self._clock()
            self._timer.resume()

    @handles(RACE_END)
    def finish(self) -> None:
        if self._replayed_from is not None:
            self._replayed_from = self._clock() - max(lane.took_s for lane in lanes(self._race)) - 1

    def _hint(self, *commands: Command) -> None:
        hints = [(key_of(self, command), command.title) for command in commands]
        self._hints.update(Content(hint_line(hints)))

    def _frame(self) -> None:
        race = self._race
        if self._replayed_from is not None:
            elapsed_s = self._clock() - self._replayed_from
            arrived = [lane.run_to(elapsed_s) for lane in self._lanes]
            if all(arrived):
                self._end(verdict(race))
            return
        for lane in self._lanes:
            lane.follow(race.running)
        if race.failure or race.ready:
            self._end(race.failure or verdict(race))

    def _end(self, said: str) -> None:
        """Show the result, and stop drawing."""
        self._verdict.update(Content(said))
        self._hint(*((RACE_AGAIN,) if self._race.ready else ()), RACE_CLOSE)
        self._timer.pause()
