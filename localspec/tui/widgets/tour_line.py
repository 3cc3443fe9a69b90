"""The tour on screen: a row, or more where it is narrow, there only while the tour is."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from localspec.chat.commands.command import Command
from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.moving import TOUR
from localspec.chat.tour import Tour
from localspec.tui.keys.handling import handles


class TourLine(Horizontal):
    """The step to try, and the key to the next one."""

    DEFAULT_CSS = """
    TourLine { height: auto; padding: 0 2; width: 100%; max-width: 92; display: none; }
    TourLine.-on { display: block; }
    TourLine > #tour-hint { width: 1fr; color: $quiet; }
    TourLine > #tour-ways { width: auto; color: $quiet; margin: 0 0 0 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.tour = Tour()
        self.moved: Callable[[Tour], object] = lambda _: None
        """Called when the tour has come to another step, or has ended."""
        self._keymap = Keymap({})
        self._hint = Static("", id="tour-hint")
        self._ways = Static("", id="tour-ways")

    def compose(self) -> ComposeResult:
        yield self._hint
        yield self._ways

    @handles(TOUR)
    def go_on(self) -> str:
        """Begin the tour or go to its next step; returns a note about it."""
        begins = self.tour.step is None
        said = self.tour.go_on() or (self._keymap.worded("{stop} leaves the tour.") if begins else "")
        self._move()
        return said

    def did(self, command: Command, *, opened: bool) -> str:
        """As ``Tour.did``."""
        step = self.tour.step
        said = self.tour.did(command, opened=opened)
        if self.tour.step is not step:
            self._move()
        return said

    def leave(self) -> bool:
        """End the tour; True if there was one."""
        left = self.tour.leave()
        if left:
            self._move()
        return left

    def use(self, keymap: Keymap) -> None:
        """Name these keys."""
        self._keymap = keymap
        self.draw()

    def _move(self) -> None:
        self.moved(self.tour)
        self.draw()

    def draw(self) -> None:
        """Draw the step; without a tour, take no room."""
        key, hint = self.tour.hint(self._keymap)
        self.set_class(bool(self.tour.place), "-on")
        self._hint.update(Content.assemble((self.tour.place, "$accent"), "  ", (key, "$foreground bold"), f" {hint}"))
        forward = " end" if self.tour.at_last else " next"
        self._ways.update(Content.assemble((self._keymap.way(TOUR), "$foreground"), forward))
