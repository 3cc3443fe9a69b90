"""A few turns that fold away together while nobody can see them, so that old turns cost nothing.

A page that is far away has no turns at all, only their height: a guess before they were ever drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.containers import Vertical

from localspec.tui.exchange import Exchange
from localspec.tui.widgets.steady import SteadyPane
from localspec.tui.widgets.turn import TurnView

TURNS_PER_PAGE = 5
CHARACTERS_PER_PAGE = 6_000
"""What a page holds at most, unless a single turn is longer: so much is drawn at once."""


class Page(Vertical, SteadyPane):
    """Turns below one another; folded, an empty area of the same height."""

    DEFAULT_CSS = "Page { height: auto; }"

    def __init__(self, exchanges: Iterable[Exchange] = (), height: int | None = None) -> None:
        """With a height, folded and without turns; ``fill`` brings them."""
        super().__init__()
        self.exchanges = list(exchanges)
        """What the page shows or will show."""
        self._folded = height is not None
        if height is not None:
            self.styles.height = height

    @property
    def folded(self) -> bool:
        return self._folded

    @property
    def empty(self) -> bool:
        """Whether turns are missing that belong here."""
        return len(self.turns) < len(self.exchanges)

    @property
    def turns(self) -> list[TurnView]:
        """The turns on this page, oldest first; none while it is far away."""
        return [child for child in self.children if isinstance(child, TurnView)]

    @property
    def full(self) -> bool:
        """Whether the next turn belongs on another page."""
        return len(self.exchanges) >= TURNS_PER_PAGE

    def fold(self, folded: bool) -> None:
        """Take the turns out of the layout, or bring them back."""
        if folded == self._folded:
            return
        self._folded = folded
        self.styles.height = self.size.height if folded else "auto"
        for turn in self.turns:
            turn.display = not folded

    async def clear(self) -> None:
        """Let go of the turns, and keep their height."""
        self.fold(True)
        await self.remove_children()


def grouped(sizes: Sequence[int]) -> list[slice]:
    """Turns of these sizes, in characters, as pages.

    >>> grouped([10, 10, 20_000, 10])
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    pages: list[slice] = []
    start = held = 0
    for index, size in enumerate(sizes):
        if index > start and (index - start == TURNS_PER_PAGE or held + size > CHARACTERS_PER_PAGE):
            pages.append(slice(start, index))
            start, held = index, 0
        held += size
    return [*pages, slice(start, len(sizes))] if sizes else []
