"""Terminals with no room for what is opened in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList
from textual.pilot import Pilot

from localspec.store import Store
from tests.tui.support import FakeEngine, make_app, ready, say, wait_until

LISTS = ("f7", "ctrl+s", "alt+l", "ctrl+l", "f9", "alt+s", "f1", "ctrl+p")
"""Conversations, search, links, pairs, settings, statistics, help, commands."""


def is_open(pilot: Pilot[Any]) -> bool:
    """True if there is a list, on a screen of its own or beside the conversation."""
    return len(pilot.app.screen_stack) > 1 or pilot.app.screen.has_class("-listing")


@pytest.mark.parametrize("height", [1, 3, 5])
async def test_lists_without_a_line_to_show_can_be_paged(height: int, tmp_path: Path) -> None:
    """Nothing is to be seen, and nothing fails."""
    engine = FakeEngine()
    store = Store.open(tmp_path / "history.db")
    async with make_app(engine, store=store).run_test(size=(20, height)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Where is a fox?", "See <https://example.org/fox> and <https://example.org/den>.")
        for opener in LISTS:
            await pilot.press(opener)
            assert is_open(pilot), opener
            await pilot.press("t", "down", "pagedown", "pageup", "end", "pagedown", "home", "pageup")
            if opener == "ctrl+p":
                await wait_until(pilot, lambda: pilot.app.screen.query_one(CommandList).option_count > 1)
                await pilot.press("pagedown", "pageup", "pageup", "pagedown")
            await pilot.press("escape", "escape", "escape")
            assert not is_open(pilot), opener
        await say(pilot, engine, "And a heron?", "By the river.")
    store.close()
