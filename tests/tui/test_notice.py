"""The quiet row: a sentence is never cut off for the sake of a figure."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from localspec.tui.widgets.notice import Notice

FIGURE = "1,234 / 40,960 tokens"


class Row(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"quiet": "#808080"}

    def compose(self) -> ComposeResult:
        yield Notice()


@pytest.mark.parametrize("length", [0, 53, 54, 76])
async def test_the_figure_gives_way_to_a_sentence_that_needs_its_place(length: int) -> None:
    async with Row().run_test(size=(80, 3)) as pilot:
        notice = pilot.app.query_one(Notice)
        notice.measure(FIGURE)
        notice.say("x" * length)
        await pilot.pause()
        shown = length <= 80 - 4 - 2 - len(FIGURE)
        assert notice.query_one("#notice-meter").display is shown
        assert notice.query_one("#notice-text").size.width >= length
        notice.say("")
        await pilot.pause()
        assert notice.query_one("#notice-meter").display


class Page(Row):
    """With something above the row, as the conversation is."""

    CSS = "#above { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield Static("above", id="above")
        yield Notice()


@pytest.mark.parametrize("cued", [False, True])
async def test_a_sentence_longer_than_the_row_is_read_to_its_end(cued: bool) -> None:
    """It goes on above the row, whatever stands there; nothing moves, and it is gone with what is said next."""
    async with Page().run_test(size=(40, 8)) as pilot:
        notice = pilot.app.query_one(Notice)
        long = notice.query_one("#notice-long", Static)
        notice.cue("↓ new" if cued else "")
        sentence = "There is no setting of that name. " * 3 + "/set alone lists them."
        notice.say(sentence)
        await pilot.pause()
        assert str(long.render()).split() == sentence.split()
        assert notice.region.height == 1
        assert long.region.bottom == notice.region.bottom == 8
        assert long.region.height > 3
        assert long.region.width == 40
        notice.say("Short.")
        await pilot.pause()
        assert not long.display


async def test_a_figure_that_changes_beside_a_long_sentence_arranges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence may stand there for the whole of a reply, and the figure changes with every token."""
    arranged: list[bool] = []
    async with Page().run_test(size=(40, 8)) as pilot:
        notice = pilot.app.query_one(Notice)
        notice.measure("1,234 / 40,960 tokens")
        notice.say("There is no setting of that name. " * 3)
        await pilot.pause()
        usual = Screen._refresh_layout

        def counted(self: Screen[object], *arguments: Any, **options: Any) -> None:
            arranged.append(True)
            usual(self, *arguments, **options)

        monkeypatch.setattr(Screen, "_refresh_layout", counted)
        notice.measure("1,235 / 40,960 tokens")
        await pilot.pause()
        assert not arranged
        notice.say("There is no command of that name. " * 3)
        await pilot.pause()
        assert arranged
        assert "command" in str(notice.query_one("#notice-long", Static).render())


async def test_a_sentence_beside_the_pointer_is_not_cut_off() -> None:
    """Where pointer, sentence and figure do not fit together, the figure goes."""
    async with Page().run_test(size=(80, 8)) as pilot:
        notice = pilot.app.query_one(Notice)
        notice.measure(FIGURE)
        notice.cue("↓ new")
        notice.say("x" * 50)
        await pilot.pause()
        assert not notice.query_one("#notice-meter").display
        assert notice.query_one("#notice-text").size.width >= 50


async def test_as_much_is_said_as_there_are_rows() -> None:
    """In a terminal too low for a sentence the row says its beginning."""
    async with Row().run_test(size=(20, 1)) as pilot:
        notice = pilot.app.query_one(Notice)
        notice.say("There is no command of that name.")
        await pilot.pause()
        assert not notice.query_one("#notice-long").display
