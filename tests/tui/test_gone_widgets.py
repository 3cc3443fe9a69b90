"""Rows of widgets that were taken away do not stay in memory."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Awaitable, Callable

from textual._styles_cache import StylesCache
from textual.app import App
from textual.widgets import Static

from localspec.tui import gone_widgets


async def test_what_was_drawn_of_a_widget_goes_with_it() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        drawn = await draw_and_take_away(app, pilot.pause)
        gone_widgets.forget()
        gc.collect()
        assert drawn() is None


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
