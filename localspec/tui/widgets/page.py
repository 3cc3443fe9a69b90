"""A few turns that fold away together while nobody can see them, so that old turns cost nothing."""

from __future__ import annotations

from textual.containers import Vertical

from localspec.tui.widgets.steady import SteadyPane
from localspec.tui.widgets.turn import TurnView

TURNS_PER_PAGE = 5


class Page(Vertical, SteadyPane):
    """Turns below one another; folded, an empty area of the same height."""

    DEFAULT_CSS = "Page { height: auto; }"

    def __init__(self) -> None:
        super().__init__()
        self._folded = False

    @property
    def folded(self) -> bool:
        return self._folded

    @property
    def turns(self) -> list[TurnView]:
        """The turns on this page, oldest first."""
        return [child for child in self.children if isinstance(child, TurnView)]

    @property
    def full(self) -> bool:
        """Whether the next turn belongs on another page."""
        return len(self.children) >= TURNS_PER_PAGE

    def fold(self, folded: bool) -> None:
        """Take the turns out of the layout, or bring them back."""
        if folded == self._folded:
            return
        self._folded = folded
        self.styles.height = self.size.height if folded else "auto"
        for turn in self.turns:
            turn.display = not folded
