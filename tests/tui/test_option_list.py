"""Clicks that come at a bad moment; pages in lists without a line are in ``test_no_room``."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.app import App, ComposeResult
from textual.command import CommandInput, CommandList
from textual.events import Click
from textual.widget import Widget
from textual.widgets import OptionList

from localspec.tui.screens.commands import CommandSearch
from localspec.tui.textual_fixes.option_list import GuardedOptionList
from tests.tui.support import FakeEngine, make_app, wait_until


class ListApp(App[None]):
    """A list of two rows, and what was chosen in it."""

    def __init__(self) -> None:
        super().__init__()
        self.list = GuardedOptionList("fox", "hen")
        self.chosen: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.list

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.chosen.append(event.option_index)


def click(widget: Widget, row: int | None = None, place: tuple[int, int] = (0, 0)) -> Click:
    """A click as the screen hands it on, at a row of a list or at none."""
    style = Style(meta={} if row is None else {"option": row})
    return Click(widget, *place, 0, 0, 1, False, False, False, *place, style=style)


@pytest.mark.parametrize(("row", "chosen"), [(0, [0]), (1, [1]), (2, []), (None, [])])
async def test_a_click_chooses_a_row_that_is_there(row: int | None, chosen: list[int]) -> None:
    app = ListApp()
    async with app.run_test() as pilot:
        app.list.post_message(click(app.list, row))
        await pilot.pause()
        assert app.chosen == chosen


async def test_a_click_where_the_search_of_commands_has_no_row_any_more_ends_nothing() -> None:
    """Its rows change while somebody types."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        app.action_command_palette()
        await wait_until(pilot, lambda: isinstance(app.screen, CommandSearch))
        commands = app.screen.query_one(CommandList)
        await wait_until(pilot, lambda: commands.option_count > 1 and bool(commands.region))
        elsewhere = app.screen.query_one(CommandInput).region  # the screen hands the click on to what is there
        commands.post_message(click(commands, 1000, (elsewhere.x, elsewhere.y)))
        await pilot.pause()
        assert app.is_running
        assert isinstance(app.screen, CommandSearch)


async def test_a_click_where_the_terminal_has_no_row_any_more_ends_nothing() -> None:
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        app.action_command_palette()
        await wait_until(pilot, lambda: isinstance(app.screen, CommandSearch))
        app.screen.post_message(click(app.screen, place=(10, 500)))
        await pilot.pause()
        assert app.is_running
        assert isinstance(app.screen, CommandSearch)
