"""The quiet row: a sentence is never cut off for the sake of a figure."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

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
