"""Widgets that were taken away do not stay in memory, nor do their rows."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Static

from localspec.tui.textual_fixes import caches
from localspec.tui.widgets.field import Field
from localspec.tui.widgets.sidebar import Sidebar
from tests.tui.support import FakeEngine, chat, make_app, wait_until


async def test_what_was_drawn_of_a_widget_goes_with_it() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        drawn = await draw_and_take_away(app, pilot.pause)
        await wait_until(pilot, lambda: goes(app, drawn))  # what the screen shows is arranged anew when it finds time


def test_what_the_terminal_was_told_is_not_kept() -> None:
    """Styles name their places, so every text drawn anew brings new ones."""
    kept: Any = Strip.render_ansi
    for row in range(5):
        Strip([Segment("A row of a reply.", Style.from_meta({"offset": (0, row)}))]).render(Console())
    assert kept.cache_info().currsize >= 5
    caches.clear_caches(())
    assert not kept.cache_info().currsize


def goes(app: App[None], thing: Callable[[], object]) -> bool:
    caches.clear_caches(app.screen_stack)
    gc.collect()
    return thing() is None


async def draw_and_take_away(app: App[None], pause: Callable[[], Awaitable[None]]) -> weakref.ref[StylesCache]:
    """A widget comes onto the screen and leaves it; of what was drawn, only a weak reference is left here."""
    widget = Static("Rows of a reply.")
    await app.mount(widget)
    await pause()
    drawn = weakref.ref(widget._styles_cache)
    assert widget._styles_cache._cache
    await widget.remove()
    await app.mount(Static("What stands in its place."))
    await pause()
    return drawn


async def test_a_list_that_was_closed_goes_with_its_filter() -> None:
    async with make_app(FakeEngine()).run_test() as pilot:
        kept = await list_and_close(pilot)
        await list_and_close(pilot)  # what is open at present may still be known of the one before
        await wait_until(pilot, lambda: goes(pilot.app, kept))


async def list_and_close(pilot: Pilot[None]) -> weakref.ref[Field]:
    """The list of conversations comes and goes; of its filter, only a weak reference is left here."""
    await pilot.press("f7")
    await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
    kept = weakref.ref(chat(pilot).query_one(Sidebar).query_one(Field))
    await pilot.press("f7")
    await wait_until(pilot, lambda: not chat(pilot).query(Sidebar))
    return kept
