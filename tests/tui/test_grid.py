"""Every screen at three sizes and in four ways of colouring it: what is written, how it looks, and laws about both.

Text is kept for each size, looks for one; a change of either shows as a difference of a few lines. Accept it with
``make snapshots``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion
from textual.color import Color
from textual.pilot import Pilot
from textual.widgets import Input, Markdown

from localspec.tui.app import ChatApp
from localspec.tui.screens.links import LinksScreen
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.screens.search import HitList
from localspec.tui.theme import DARK, LIGHT, TERMINAL_DARK
from localspec.tui.tokens.palette import MIN_CONTRAST
from localspec.tui.widgets import sidebar
from tests.tui.cells import cells, faint, looks, text
from tests.tui.pairs_support import FakeWorld
from tests.tui.settings_support import settings_app
from tests.tui.stats_support import full_store, open_stats
from tests.tui.stats_support import utc as utc
from tests.tui.support import FakeEngine, chat, make_app, send, session, shown, views, wait_until
from tests.tui.test_conversation_snapshots import NOW, filled
from tests.tui.test_pairs import app_of
from tests.tui.test_pairs_snapshots import pairs as pairs_scene
from tests.tui.test_settings_snapshots import TEXT, listed
from tests.tui.test_snapshots import finished, help_page, tokens, welcome
from tests.tui.test_token_marks import LookingEngine
from tests.tui.test_token_marks_snapshots import inspector, race

SIZES = ((60, 16), (100, 30), (160, 45))
STYLED = SIZES[1]
NO_COLOR_CONTRAST = 4.2
"""Grey is what Textual makes of a colour, and that costs a little of what the colour had."""
THEMES = (DARK.name, LIGHT.name, TERMINAL_DARK)


def _plain(engine: Any, folder: Path) -> Any:
    return nullcontext(make_app(engine))


def _with_store(engine: Any, folder: Path) -> Any:
    return nullcontext(make_app(engine, store=filled(folder / "history.db")))


def _with_settings(engine: Any, folder: Path) -> Any:
    return nullcontext(settings_app(engine, TEXT, "--seed", "7"))


@contextmanager
def _with_stats(engine: Any, folder: Path) -> Iterator[Any]:
    with closing(full_store(folder / "history.db")) as store:
        yield make_app(engine, store=store)


def _with_pairs(engine: Any, folder: Path) -> Any:
    return app_of(FakeWorld(), engine)


async def _list(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await pilot.press("f7")


async def _search(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await pilot.press("ctrl+s", *"sky")
    await wait_until(pilot, lambda: pilot.app.screen.query_one(HitList).option_count == 1)


async def _settings(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await listed(pilot)


async def _pairs(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await pairs_scene(FakeWorld(), engine, pilot)
    assert isinstance(pilot.app.screen, PairsScreen)


async def _stats(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await open_stats(pilot)


async def _links(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await send(pilot, "Where is it written?")
    engine.reply("See [the page](https://a.org/x) and https://b.org.")
    await wait_until(pilot, lambda: views(pilot)[0].query(Markdown) and not views(pilot)[0].reply.tokens.display)
    await wait_until(pilot, lambda: not session(pilot).busy)
    await pilot.press("alt+l")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))


async def _tour(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await pilot.press("f10")
    await wait_until(pilot, lambda: "token" in shown(pilot, "#foot Hints").rpartition("help")[2])


Make = Callable[[Any, Path], Any]
"""A context with an app in it, over this engine."""
Go = Callable[[Any, Pilot[Any]], Awaitable[None]]
SCENES: dict[str, tuple[Make, Go, type[FakeEngine]]] = {
    "welcome": (_plain, welcome, FakeEngine),
    "tour": (_plain, _tour, FakeEngine),
    "reply": (_plain, finished, FakeEngine),
    "tokens": (_plain, tokens, FakeEngine),
    "sidebar": (_with_store, _list, FakeEngine),
    "search": (_with_store, _search, FakeEngine),
    "pairs": (_with_pairs, _pairs, FakeEngine),
    "settings": (_with_settings, _settings, FakeEngine),
    "stats": (_with_stats, _stats, FakeEngine),
    "links": (_plain, _links, FakeEngine),
    "help": (_plain, help_page, FakeEngine),
    "inspector": (_plain, inspector, LookingEngine),
    "race": (_plain, race, LookingEngine),
}


DIALOGS = {"links": "#links"}
"""What is to be read of screens that dim the one below."""
REOPENED = {"help": "f1"}
"""Pages that have the colours of the moment they were opened, and the key that opens them."""


@asynccontextmanager
async def on_screen(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pilot[Any]]:
    """The scene, with nothing that blinks or ticks."""
    monkeypatch.setattr(sidebar, "utc_now", lambda: NOW)
    make, go, kind = SCENES[name]
    engine = kind()
    with make(engine, folder) as app:
        assert isinstance(app, ChatApp)
        app.theme = DARK.name
        async with app.run_test(size=SIZES[-1]) as pilot:
            await go(engine, pilot)
            chat(pilot)._replies._timer.pause()
            for field in [*chat(pilot).query("PromptArea"), *app.screen.query(Input), *chat(pilot).query(Input)]:
                field.cursor_blink = False
            yield pilot


def unreadable(pilot: Pilot[Any], name: str, least: float = MIN_CONTRAST) -> set[str]:
    """Words of the scene that have too little contrast."""
    within = pilot.app.screen.query_one(DIALOGS[name]).region if name in DIALOGS else None
    return faint(pilot.app, least, within)


async def settle(pilot: Pilot[Any], size: tuple[int, int]) -> None:
    """At this size, everything drawn."""
    await pilot.resize_terminal(*size)
    for _ in range(2):
        await pilot.pause()


async def recolour(pilot: Pilot[Any], name: str, theme: str) -> None:
    """In this theme, everything drawn."""
    pilot.app.theme = theme
    if name in REOPENED:
        await pilot.press("escape", REOPENED[name])
    for _ in range(2):
        await pilot.pause()


@pytest.mark.parametrize("name", SCENES)
async def test_each_size_and_colour(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """As approved; at one of the sizes in each theme, where all of it can be read."""
    seen = []
    async with on_screen(name, tmp_path, monkeypatch) as pilot:
        for size in SIZES:
            await settle(pilot, size)
            pilot.app.theme = LIGHT.name  # some lines are drawn for another size with the next change alone
            written = {}
            for theme in THEMES if size == STYLED else THEMES[:1]:
                await recolour(pilot, name, theme)
                written[theme] = text(pilot.app)
                if theme != TERMINAL_DARK:
                    assert not unreadable(pilot, name), (theme, size)
                if size == STYLED:
                    seen.append(f"{theme}\n{looks(pilot.app)}")
            assert len(cells(pilot.app)) == size[1]
            assert all(cell_len(line) <= size[0] for line in written[DARK.name].splitlines())
            assert written.get(LIGHT.name, written[DARK.name]) == written[DARK.name], size
            if written.get(TERMINAL_DARK, written[DARK.name]) != written[DARK.name]:
                seen.append(f"{TERMINAL_DARK}\n{written[TERMINAL_DARK]}")
            seen.append(f"{size[0]}x{size[1]}\n{written[DARK.name]}")
    assert "\n\n".join(seen) == snapshot


@pytest.mark.parametrize("name", SCENES)
async def test_without_colour(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR leaves shades of grey, and all of it can be read."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_screen(name, tmp_path, monkeypatch) as pilot:
        for size in SIZES[:2]:
            await settle(pilot, size)
            for cell in (cell for line in cells(pilot.app) for cell in line):
                for colour in {cell.colour, cell.background} - {"default"}:
                    red, green, blue = Color.parse(colour).rgb
                    assert red == green == blue, cell
            assert not unreadable(pilot, name, NO_COLOR_CONTRAST), size
