"""A form: every field and its keys can be reached, in whatever window, however fast one types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from textual import events
from textual.app import App

from localspec.tui.screens.form import FormArea, FormScreen
from tests.tui.cells import text
from tests.tui.support import FakeEngine, make_app, wait_until


def form(about: str, fields_n: int, taken: list[Mapping[str, str]]) -> FormScreen:
    return FormScreen("A form", about, {f"field {n}": "" for n in range(fields_n)}, taken.append)


async def test_what_is_typed_ahead_goes_into_the_field_that_was_gone_to() -> None:
    """Keys that come in one burst are taken one after the other."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        taken: list[Mapping[str, str]] = []
        await app.push_screen(form("", 4, taken))
        await wait_until(pilot, lambda: isinstance(app.focused, FormArea))
        for key in ("a", "tab", "tab", "c", "shift+tab", "b", "enter", "d", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await wait_until(pilot, lambda: taken)
    assert list(taken[0].values()) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("size", [(80, 24), (80, 12), (40, 10)])
@pytest.mark.parametrize("fields_n", [1, 2, 6])
async def test_the_field_that_is_written_in_and_the_keys_are_on_the_screen(
    size: tuple[int, int], fields_n: int
) -> None:
    """However long the text about them is."""
    app = make_app(FakeEngine())
    async with app.run_test(size=size) as pilot:
        await app.push_screen(form("A long text. " * 200, fields_n, []))
        await wait_until(pilot, lambda: isinstance(app.focused, FormArea))
        for n in range(2 * fields_n):
            await pilot.press("tab" if n < fields_n else "shift+tab", "x")
            await pilot.pause()
            await pilot.pause()
            keys, fields = (app.screen.query_one(f"#form-{part}") for part in ("keys", "fields"))
            for widget in (keys, fields):
                assert widget.region.height
                assert app.screen.region.contains_region(widget.region), widget
            assert isinstance(app.focused, FormArea)
            assert app.focused.region.y in fields.region.line_range
            assert app.focused.above.region.y in fields.region.line_range


def about_rows(app: App[Any]) -> list[str]:
    """The rows above the fields, as they are drawn."""
    region = app.screen.query_one("#form-about").region
    return [row[region.x : region.right].strip() for row in text(app).split("\n")[region.y : region.bottom]]


def _has(app: App[Any], rows_n: int) -> bool:
    return len(about_rows(app)) == rows_n


async def test_as_much_is_said_about_a_form_as_there_is_room_for() -> None:
    """The rest is marked; a window that becomes lower or higher shows less or more."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(form("A first sentence.\nA long text. " + "And more of it. " * 40, 2, []))
        for width, height, rows_n in ((80, 24, 5), (80, 16, 3), (60, 10, 1), (80, 24, 5)):
            await pilot.resize_terminal(width, height)
            await wait_until(pilot, partial(_has, app, rows_n))
            assert about_rows(app)[0].startswith("A first sentence.")
            assert about_rows(app)[-1].endswith(" …")


async def test_two_rows_about_a_form_are_whole_on_a_low_screen() -> None:
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 16)) as pilot:
        await app.push_screen(form("A first sentence.\nA second one.", 2, []))
        await wait_until(pilot, lambda: about_rows(app) == ["A first sentence.", "A second one."])


@pytest.mark.parametrize(("key", "paste", "left"), [("", "one\ntwo", "one\ntwo"), ("ctrl+j", "", "\n")])
async def test_a_paste_and_a_line_break_replace_what_is_selected(key: str, paste: str, left: str) -> None:
    """As letters do, and the cursor stands behind them."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(FormScreen("A form", "", {"field": "old words"}, lambda texts: None))
        await wait_until(pilot, lambda: isinstance(app.focused, FormArea))
        area = app.focused
        assert isinstance(area, FormArea)
        area.select_all()
        app.post_message(events.Paste(paste) if paste else events.Key(key, None))
        await wait_until(pilot, lambda: area.text == left)
        assert area.selection.is_empty
        assert area.cursor_at_end_of_text
