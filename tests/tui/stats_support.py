"""The app over a store full of replies, and its screen of figures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.chat.stats.browser import StatsBrowser
from localspec.store import Store
from localspec.tui.screens.stats import StatsScreen
from localspec.tui.widgets.row_list import RowList
from tests.insight.stats.support import Kind, open_filled
from tests.tui.support import wait_until


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Days and times are those of the place."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def full_store(path: Path) -> Store:
    """Replies of three pairs; one of them became worse with another draft."""
    good = Kind(pair="qwen2.5-7b", rounds_n=12)
    bad = replace(good, factor=0.02, draft_bytes=101)
    other = Kind(pair="smollm2-1.7b", temperature=0.0, drafter="suffix")
    unnamed = Kind(pair=None, temperature=0.3, drafter="draft+suffix")
    return open_filled(path, (good,) * 60 + (bad,) * 10, (other,) * 20, (unnamed,) * 10)


def screen(pilot: Pilot[Any]) -> StatsScreen:
    assert isinstance(pilot.app.screen, StatsScreen)
    return pilot.app.screen


def browser(pilot: Pilot[Any]) -> StatsBrowser:
    return screen(pilot)._browser


async def open_stats(pilot: Pilot[Any], *keys: str) -> None:
    """Open the screen and press keys; wait each time until all has been read and drawn."""
    await pilot.press("alt+s")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, StatsScreen))
    await settled(pilot)
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def settled(pilot: Pilot[Any]) -> None:
    await wait_until(pilot, lambda: browser(pilot).unread is None and not screen(pilot)._reading)
    await pilot.pause()


def rows(pilot: Pilot[Any]) -> list[str]:
    """The list as it is drawn."""
    return [str(option.prompt) for option in screen(pilot).query_one(RowList).options]


def text(pilot: Pilot[Any], selector: str) -> str:
    return str(screen(pilot).query_one(selector).render())
