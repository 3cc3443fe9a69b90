"""Drawing a part of the screen: the same cells as drawing all of it, and nobody asked who has no part in it."""

from __future__ import annotations

from typing import Any

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.errors import NoWidget
from textual.events import MouseDown, MouseMove, MouseUp
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static

from localspec.tui.conversation.transcript import Transcript
from localspec.tui.prompt.area import PromptArea
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.help import HelpScreen
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.links import LinksScreen
from localspec.tui.screens.model_files import ModelFilesScreen
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.screens.search import SearchScreen
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.screens.stats import StatsScreen
from localspec.tui.textual_fixes.compositor import RowCompositor, RowScreen
from tests.tui.support import FakeEngine, chat, make_app, make_round, session, views, wait_until
from tests.tui.test_chat import answered, begin, written

REPLY = "# Foxes\n\n" + "".join(f"- fox **{n}** 東京\n" for n in range(30)) + "\n```py\nprint(1)\n```\n"


def drawn(compositor: Compositor, rows: Region) -> list[str]:
    """What stands in these rows, looks and all."""
    chops = compositor._render_chops(rows, lambda y: y in rows.line_range)
    return [repr(list(Strip.join(chops[y].values()).simplify())) for y in rows.line_range]


async def a_screen_full(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """A finished reply in Markdown above one that streams, and something typed."""
    await begin(pilot, engine)
    engine.reply(REPLY)
    await answered(pilot)
    await pilot.press(*"Why? ", "enter")
    await wait_until(pilot, lambda: len(engine.prompts) == 2)
    engine.start()
    engine.write([make_round(["one ", "two ", "three "], rejected=[" so"])] * 12)
    await written(pilot, 36)
    await pilot.press(*"and then")
    await pilot.pause()


@pytest.mark.parametrize("size", [(100, 30), (40, 12)])
async def test_a_row_by_itself_is_as_it_is_among_all(size: tuple[int, int]) -> None:
    engine = FakeEngine()
    async with make_app(engine).run_test(size=size) as pilot:
        await a_screen_full(pilot, engine)
        ours = chat(pilot)._compositor
        assert isinstance(ours, RowCompositor)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RowCompositor, "_get_renders", Compositor._get_renders)
            expected = drawn(ours, ours.size.region)
        assert drawn(ours, ours.size.region) == expected
        assert [drawn(ours, Region(3, y, 5, 1))[0] for y in range(size[1])] == expected
        assert any("two" in row for row in expected)
        assert any("and then" in row for row in expected)


async def test_a_word_more_asks_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt, below, is not drawn again, nor is the Markdown above."""
    engine = FakeEngine()
    asked: list[object] = []
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await a_screen_full(pilot, engine)
        screen, tokens = chat(pilot), views(pilot)[1].reply.tokens
        screen._replies._timer.pause()
        await pilot.pause()
        for widget in screen._compositor.visible_widgets:
            usual = widget.render_lines

            def render_lines(crop: Region, widget: object = widget, usual: Any = usual) -> list[Strip]:
                asked.append(widget)
                lines: list[Strip] = usual(crop)
                return lines

            monkeypatch.setattr(widget, "render_lines", render_lines)
        assert any(isinstance(widget, PromptArea) for widget in screen._compositor.visible_widgets)
        screen._compositor.update_widgets({tokens})
        row = tokens.region.bottom - 1
        drawn(screen._compositor, Region(0, row, 100, 1))
        assert tokens in asked
        assert all(row in widget.region.line_range for widget in asked)  # type: ignore[attr-defined]


async def test_a_line_more_arranges_the_screen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hidden scroll bar that is told of it would have everything arranged once more."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(60, 16)) as pilot:
        await begin(pilot, engine)
        engine.write([make_round(["word\n"])] * 40)
        await written(pilot, 40)
        transcript = chat(pilot).query_one(Transcript)
        await wait_until(pilot, lambda: transcript.max_scroll_y > 0 and transcript.is_vertical_scroll_end)
        await pilot.pause()
        arranged: list[bool] = []
        usual = Compositor._arrange_root

        def counted(self: Compositor, *arguments: Any, **options: Any) -> Any:
            arranged.append(True)
            return usual(self, *arguments, **options)

        monkeypatch.setattr(Compositor, "_arrange_root", counted)
        before = transcript.max_scroll_y
        engine.write([make_round(["word\n"])])
        await wait_until(pilot, lambda: transcript.max_scroll_y == before + 1 and transcript.is_vertical_scroll_end)
        await pilot.pause()
        _ = transcript.region  # whoever asks where something is has it arranged again if that was needed
        assert len(arranged) == 1
        assert session(pilot).current is not None


async def test_what_was_taken_away_is_blank_until_the_next_arrangement() -> None:
    """A frame may fall between a widget's going and the new arrangement of what is left."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await a_screen_full(pilot, engine)
        screen, tokens = chat(pilot), views(pilot)[1].reply.tokens
        parent, row = tokens._parent, tokens.region.bottom - 1
        rows = Region(0, row - 2, 100, 3)
        before = drawn(screen._compositor, rows)
        assert parent is not None
        tokens._detach()
        after = drawn(screen._compositor, rows)
        tokens._attach(parent)
    assert "three" in before[-1]
    assert len(after) == len(before)
    assert not any("one" in line or "three" in line for line in after)


async def test_a_click_at_what_was_taken_away_is_one_at_nothing() -> None:
    """A click, too, may fall between a widget's going and the new arrangement; and a mouse that marks text."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await a_screen_full(pilot, engine)
        screen, tokens = chat(pilot), views(pilot)[1].reply.tokens
        parent, place = tokens._parent, (tokens.region.x, tokens.region.bottom - 1)
        assert screen.get_widget_at(*place)[0] is tokens
        assert parent is not None
        tokens._detach()
        with pytest.raises(NoWidget):
            screen.get_widget_at(*place)
        for kind in (MouseDown, MouseMove, MouseUp):
            screen._forward_event(kind(None, *place, 0, 0, 1, False, False, False))
        tokens._attach(parent)
        await pilot.pause()
        assert pilot.app.is_running


class Short(RowScreen[None]):
    """A line of text, with an empty row that ends it."""

    def compose(self) -> ComposeResult:
        yield Static("A fox.\n")
        yield Static("A hen.")


@pytest.mark.parametrize(("first", "last", "text"), [((0, 0), (9, 2), "A fox.\nA hen."), ((0, 1), (9, 2), "A hen.")])
async def test_marking_can_begin_in_an_empty_last_row(first: tuple[int, int], last: tuple[int, int], text: str) -> None:
    async with App[None]().run_test(size=(20, 8)) as pilot:
        screen = Short()
        await pilot.app.push_screen(screen)
        screen._forward_event(MouseDown(None, *first, 0, 0, 1, False, False, False, *first))
        screen._forward_event(MouseMove(None, *last, 0, 0, 1, False, False, False, *last))
        await pilot.pause()
        screen._forward_event(MouseUp(None, *last, 0, 0, 1, False, False, False, *last))
        assert screen.selections
        assert screen.get_selected_text() == text


@pytest.mark.parametrize(
    "kind",
    [
        ChatScreen,
        HelpScreen,
        InspectorScreen,
        LinksScreen,
        ModelFilesScreen,
        PairsScreen,
        RaceScreen,
        SearchScreen,
        SettingsScreen,
        StatsScreen,
    ],
)
def test_every_screen_of_its_own_is_drawn_so(kind: type[Screen[Any]]) -> None:
    assert issubclass(kind, RowScreen)
