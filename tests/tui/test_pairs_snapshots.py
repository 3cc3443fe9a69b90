"""What the list of pairs and the offer look like: sizes, themes and states, with clock and cursor at rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.base.errors import DownloadError
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.theme import DARK, LIGHT
from localspec.tui.widgets.pair_list import PairList
from tests.tui.looks import LARGE, MEDIUM, NO_COLOR, SMALL, hold_still, name_of, theme_of
from tests.tui.pairs_support import BEST, MB, FakeWorld, delayed, fetched, progressed
from tests.tui.support import FakeEngine, chat, live_text, notice_text, wait_until
from tests.tui.test_hub_search import CANDIDATES
from tests.tui.test_pairs import app_of, listed, marked, opened, ready, said

FULL = DownloadError("The disk of /models is full; 2.10 GB of big.gguf are missing.", "Free some space, and try again.")

Scene = Callable[[FakeWorld, FakeEngine, Pilot[Any]], Awaitable[None]]


async def offer(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await ready(pilot, engine)
    await wait_until(pilot, lambda: "ready" in live_text(pilot))


async def arriving(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await offer(world, engine, pilot)
    await pilot.press("f3", "f3")
    world.feed.put(progressed(2312 * MB))
    await wait_until(pilot, lambda: "40 %" in notice_text(pilot))


async def arrived(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await arriving(world, engine, pilot)
    for event in (fetched(), None):
        world.feed.put(event)
    await wait_until(pilot, lambda: "is here" in notice_text(pilot) and "switches" in said(pilot, "#offer"))


async def refused(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await offer(world, engine, pilot)
    await opened(pilot)
    await pilot.press(*"smol", "enter")
    await wait_until(pilot, lambda: "Changing to" in notice_text(pilot))
    engine.refuse_load()
    await wait_until(pilot, lambda: chat(pilot).query(".load-error"))


async def pairs(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await offer(world, engine, pilot)
    await opened(pilot)


async def left(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    """An app before this one was quit in the middle of a download."""
    world.pairs = tuple(replace(pair, arrived_bytes=2312 * MB) if pair.id == BEST.id else pair for pair in world.pairs)
    await pairs(world, engine, pilot)


async def asked(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    """Enter was pressed once."""
    await pairs(world, engine, pilot)
    await pilot.press("enter")
    await wait_until(pilot, lambda: "once more" in said(pilot, "#pairs-keys"))


async def downloading(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await pairs(world, engine, pilot)
    await pilot.press("enter", "enter")
    world.feed.put(progressed(2312 * MB))
    await wait_until(pilot, lambda: "40 %" in said(pilot, "PairDetails Static"))


async def waiting(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await downloading(world, engine, pilot)
    world.feed.put(delayed())
    await wait_until(pilot, lambda: "does not answer" in said(pilot, "PairDetails Static"))


async def queued(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    """Three downloads were asked for: one is under way, one waits, one was paused."""
    await downloading(world, engine, pilot)
    library = pilot.app._library  # type: ignore[attr-defined]
    for pair_id in ("llama-3.2-3b", "gemma-4-e4b-mtp"):
        library.fetch(pair_id)
    library.downloads.stop("gemma-4-e4b-mtp")
    await wait_until(pilot, lambda: listed(pilot)[:4] == [":queue", BEST.id, "llama-3.2-3b", "gemma-4-e4b-mtp"])
    await pilot.press("down")
    await wait_until(pilot, lambda: "Waiting: it begins" in said(pilot, "PairDetails Static"))


async def drafts(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    """Drafts for a model that is here."""
    world.candidates = CANDIDATES
    await installed(world, engine, pilot)
    await pilot.press("ctrl+g")
    await wait_until(pilot, lambda: len(listed(pilot)) == 3 and "2.00 times" in said(pilot, "PairDetails Static"))


async def stopped(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await downloading(world, engine, pilot)
    await pilot.press("ctrl+s")
    await wait_until(pilot, lambda: "Paused at 40 %" in said(pilot, "PairDetails Static"))


async def failed(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await downloading(world, engine, pilot)
    world.feed.put(FULL)
    await wait_until(pilot, lambda: "is full" in said(pilot, "PairDetails Static"))


async def nothing(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await pairs(world, engine, pilot)
    await pilot.press(*"nonsense")
    await wait_until(pilot, lambda: not listed(pilot))


async def missing(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await pairs(world, engine, pilot)
    await pilot.press("down", "down", "down", "down")
    await wait_until(pilot, lambda: marked(pilot) == "mine")


async def installed(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await pairs(world, engine, pilot)
    await pilot.press("up")
    await wait_until(pilot, lambda: marked(pilot) == "smollm2-1.7b")


async def reading(world: FakeWorld, engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await pairs(world, engine, pilot)
    await pilot.press("tab", "down", "down")
    await wait_until(pilot, lambda: pilot.app.screen.query_one("PairDetails").scroll_y == 2)


@pytest.mark.parametrize(
    ("scene", "size", "look"),
    [
        (offer, MEDIUM, DARK.name),
        (offer, SMALL, LIGHT.name),
        (arriving, MEDIUM, LIGHT.name),
        (arrived, MEDIUM, DARK.name),
        (refused, MEDIUM, LIGHT.name),
        (pairs, MEDIUM, DARK.name),
        (pairs, LARGE, LIGHT.name),
        (pairs, SMALL, NO_COLOR),
        (pairs, MEDIUM, "ansi-dark"),
        (left, MEDIUM, DARK.name),
        (asked, MEDIUM, DARK.name),
        (downloading, MEDIUM, DARK.name),
        (downloading, LARGE, DARK.name),
        (waiting, MEDIUM, LIGHT.name),
        (queued, MEDIUM, DARK.name),
        (queued, LARGE, LIGHT.name),
        (drafts, MEDIUM, LIGHT.name),
        (drafts, LARGE, DARK.name),
        (stopped, SMALL, DARK.name),
        (failed, MEDIUM, LIGHT.name),
        (failed, MEDIUM, NO_COLOR),
        (nothing, MEDIUM, DARK.name),
        (missing, LARGE, LIGHT.name),
        (installed, MEDIUM, DARK.name),
        (reading, SMALL, DARK.name),
    ],
    ids=name_of,
)
def test_looks(
    scene: Scene, size: tuple[int, int], look: str, snap_compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen is the one that was looked at and approved."""
    theme, world, engine = theme_of(look, monkeypatch), FakeWorld(), FakeEngine()

    async def prepare(pilot: Pilot[Any]) -> None:
        pilot.app.theme = theme
        await scene(world, engine, pilot)
        if isinstance(pilot.app.screen, PairsScreen):
            # How far it is scrolled depends on what came first, the highlight or the details beneath.
            rows = pilot.app.screen.query_one(PairList)
            rows.scroll_to(y=0, animate=False, immediate=True)
            rows.scroll_to_highlight()
        await hold_still(pilot)

    with app_of(world, engine) as app:
        assert snap_compare(app, terminal_size=size, run_before=prepare)
