"""A list of rows draws what differs, passes over headings, and tells where the reader went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from textual.app import App, ComposeResult
from textual.content import Content

from localspec.tui.widgets.row_list import RowList


@dataclass(frozen=True)
class Line:
    id: str
    text: str
    heading: bool = False


LINES = (
    Line("fruit", "FRUIT", True),
    Line("a", "apple"),
    Line("p", "plum"),
    Line("nuts", "NUTS", True),
    Line("w", "w"),
)


class Lines(RowList[Line], can_focus=False):
    def __init__(self) -> None:
        self.drawn: list[str] = []
        super().__init__(self._content, lambda line: line.heading)

    def _content(self, line: Line) -> Content:
        self.drawn.append(line.id)
        return Content(line.text)


class ListApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.list = Lines()
        self.marked: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"quiet": "#888888"}

    def compose(self) -> ComposeResult:
        yield self.list

    def on_row_list_marked(self, event: Lines.Marked) -> None:
        self.marked.append(event.row_id)

    def fill(self, lines: Sequence[Line], marked: str | None) -> list[str]:
        """Which rows that drew."""
        self.list.drawn.clear()
        self.list.fill(lines, marked)
        return list(self.list.drawn)


async def test_only_rows_that_differ_are_drawn_anew() -> None:
    """Unless there are others; to fill the list is no move of the reader's."""
    app = ListApp()
    async with app.run_test() as pilot:
        assert app.fill(LINES, "a") == [line.id for line in LINES]
        assert app.fill(LINES, "p") == []
        assert app.fill((*LINES[:2], Line("p", "pear"), *LINES[3:]), "p") == ["p"]
        assert app.list.highlighted == 2
        assert app.fill(LINES[:3], "gone") == ["fruit", "a", "p"]
        assert app.list.highlighted is None
        await pilot.pause()
        assert app.marked == []


@pytest.mark.parametrize(("step", "ways"), [(1, ["p", "w"]), (-1, []), (5, ["w"])])
async def test_moves_pass_over_headings_and_stay_at_the_ends(step: int, ways: list[str]) -> None:
    app = ListApp()
    async with app.run_test() as pilot:
        app.fill(LINES, "a")
        for _ in range(3):
            app.list.move(step)
        await pilot.pause()
        assert app.marked == ways
