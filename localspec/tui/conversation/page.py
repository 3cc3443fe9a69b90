"""A few turns that are folded together while they cannot be seen, so that old turns cost nothing.

A page that is far away has no widgets, only a height: an estimate until it was drawn once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.containers import VerticalGroup
from textual.geometry import Size

from localspec.chat.turn import Turn
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.textual_fixes.single_layout import SingleLayoutPane

TURNS_PER_PAGE = 5
CHARACTERS_PER_PAGE = 6_000
"""The most that a page holds, and so the most that is drawn at once; a single turn may be longer."""


class Page(VerticalGroup, SingleLayoutPane):
    """Turns below one another; folded, an empty area of the same height or no part of the layout."""

    def __init__(self, turns: Iterable[Turn] = (), rows: int | None = None) -> None:
        """A page; with ``rows`` it is folded and without widgets until ``NearPages`` opens it."""
        super().__init__()
        self.turns = list(turns)
        """The turns of the page, with or without widgets."""
        self.rows = rows or 0
        """Its height when it was last drawn, or an estimate."""
        self.folded = rows is not None
        self._room = 0
        self.display = not self.folded

    @property
    def views(self) -> list[TurnView]:
        """The widgets on this page, oldest first; none while it is far away."""
        return [child for child in self.children if isinstance(child, TurnView)]

    def fold(self) -> None:
        """Take the turns out of the layout; ``stand_for`` sets the height that is left in their place."""
        self.folded, self._room = True, -1
        for view in self.views:
            view.display = False

    def unfold(self) -> None:
        """Put the turns back into the layout."""
        self.folded = False
        self.styles.height = "auto"
        for view in self.views:
            view.display = True
        self.display = True

    def stand_for(self, rows: int) -> None:
        """Take this height while folded; with 0 the page is no part of the layout."""
        if rows != self._room:
            self._room = rows
            self.display = rows > 0
            self.styles.height = rows

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        if not self.folded:
            self.rows = size.height
        return super()._size_updated(size, virtual_size, container_size, layout)


def grouped(sizes: Sequence[int]) -> list[slice]:
    """Group turns of these sizes, in characters, into pages.

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
