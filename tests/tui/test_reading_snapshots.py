"""What summaries, links and a block of code that was gone to look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.store import Store
from localspec.tui.theme import DARK, LIGHT
from tests.tui.looks import MEDIUM, SMALL, hold_still, name_of
from tests.tui.support import FakeEngine, make_app, ready, say
from tests.tui.test_compacting import four_turns, summarise
from tests.tui.test_links import CODE, REPLY, drawn


async def summary(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await four_turns(pilot, engine)
    await summarise(pilot, engine, "They counted from one to two, and agreed to go on.")


async def unfolded(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await summary(engine, pilot)
    await pilot.press("alt+up", "alt+up", "alt+up", "z", "z")


async def links(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await block(engine, pilot)
    await pilot.press("alt+l")


async def block(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await ready(pilot, engine)
    await say(pilot, engine, "Where?", f"{REPLY}\n\n{CODE}")
    await drawn(pilot, 1)
    await pilot.press("alt+pageup")


@pytest.mark.parametrize(
    ("scene", "size", "theme"),
    [
        (summary, MEDIUM, DARK.name),
        (unfolded, SMALL, LIGHT.name),
        (links, MEDIUM, LIGHT.name),
        (links, SMALL, DARK.name),
        (block, MEDIUM, DARK.name),
    ],
    ids=name_of,
)
def test_looks(scene: Any, size: tuple[int, int], theme: str, tmp_path: Path, snap_compare: Any) -> None:
    engine = FakeEngine()
    store = Store.open(tmp_path / "history.db")
    app = make_app(engine, store=store)
    app.theme = theme

    async def prepare(pilot: Pilot[Any]) -> None:
        await scene(engine, pilot)
        await pilot.pause()
        await hold_still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=prepare)
    store.close()
