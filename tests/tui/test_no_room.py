"""Terminals with no room for what is opened in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandList

from localspec.store import Store
from tests.tui.support import FakeEngine, make_app, ready, say, wait_until

LISTS = {
    "commands": "ctrl+p",
    "conversations": "f7",
    "search": "ctrl+s",
    "links": "alt+l",
    "pairs": "ctrl+l",
    "settings": "f9",
    "stats": "alt+s",
    "help": "f1",
}


@pytest.mark.parametrize("opener", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("height", [1, 3, 5])
async def test_lists_without_a_line_to_show_can_be_paged(opener: str, height: int, tmp_path: Path) -> None:
    """Nothing is to be seen, and nothing fails."""
    engine = FakeEngine()
    store = Store.open(tmp_path / "history.db")
    async with make_app(engine, store=store).run_test(size=(20, height)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Where is a fox?", "See <https://example.org/fox> and <https://example.org/den>.")
        await pilot.press(opener, "t", "down", "pagedown", "pageup", "end", "pagedown", "home", "pageup")
        if opener == "ctrl+p":
            await wait_until(pilot, lambda: pilot.app.screen.query_one(CommandList).option_count > 1)
            await pilot.press("pagedown", "pageup", "pageup", "pagedown")
        await pilot.press("escape", "escape", "escape")
        await say(pilot, engine, "And a heron?", "By the river.")
    store.close()
