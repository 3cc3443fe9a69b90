"""What conversations look like: the list, a turn that is chosen, search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Markdown

from localspec.store import Store
from localspec.tui.screens.search import HitList
from localspec.tui.theme import DARK, LIGHT
from localspec.tui.widgets import sidebar
from tests.tui.looks import LARGE, MEDIUM, SMALL, hold_still, name_of
from tests.tui.support import FakeEngine, answer, make_app, ready, say, views, wait_until

NOW = datetime(2026, 5, 15, 12, tzinfo=UTC)
TITLES = (
    "Why is the sky blue?",
    "Write a Python function that reverses a linked list in place",
    "漢字 and their strokes",
    "A plan for a week in Lisbon",
)
_SELECT_TWO = ("f7", "down", "down", "f5", "f5")
KEYS = {
    "list": ["f7"],
    "filtered": ["f7", *"li"],
    "filed": [*_SELECT_TWO, "f3", *"garden #wood", "enter", "f6", "enter", "down"],
    "selected": [*_SELECT_TWO, "f3", *"garden #wo"],
    "chosen": ["alt+up"],
    "search": ["ctrl+s", *"heron"],
}


def filled(path: Path) -> Store:
    """Conversations of some days, one of them pinned."""
    moments = iter(NOW - timedelta(days=9) + timedelta(hours=5 * n) for n in range(1000))
    store = Store.open(path, clock=lambda: next(moments))
    for title in TITLES:
        store.begin().ask(title)
    store.pin(store.conversations()[2].heading.id, pinned=True)
    return store


@pytest.mark.parametrize(
    ("scene", "size", "theme"),
    [
        ("list", LARGE, DARK.name),
        ("list", SMALL, LIGHT.name),
        ("filtered", MEDIUM, DARK.name),
        ("filed", MEDIUM, DARK.name),
        ("filed", LARGE, LIGHT.name),
        ("selected", MEDIUM, LIGHT.name),
        ("chosen", MEDIUM, DARK.name),
        ("search", MEDIUM, LIGHT.name),
    ],
    ids=name_of,
)
def test_looks(
    scene: str,
    size: tuple[int, int],
    theme: str,
    snap_compare: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The screen is the one that was looked at and approved."""
    monkeypatch.setattr(sidebar, "utc_now", lambda: NOW)
    engine = FakeEngine()
    app = make_app(engine, store=filled(tmp_path / "history.db"))
    app.theme = theme

    async def prepare(pilot: Pilot[Any]) -> None:
        await ready(pilot, engine)
        await say(pilot, engine, "Tell me a story about a fox", "<think>\nA fox.\n</think>\n\nShe asked the **heron**.")
        await say(pilot, engine, "And then?", "She slept.")
        await pilot.press("alt+r")
        await answer(pilot, engine, 2, "She sang to the heron until the moon came up.")
        await wait_until(pilot, lambda: len(views(pilot)) == 2 and all(view.query(Markdown) for view in views(pilot)))
        for key in KEYS[scene]:
            await pilot.press(key)
        await pilot.pause()
        if scene == "search":
            await wait_until(pilot, lambda: pilot.app.screen.query_one(HitList).option_count == 2)
        await hold_still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=prepare)
