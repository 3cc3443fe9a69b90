"""The question whether a tool may be called: nothing that a server writes hides the arguments or the answers."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList, Static

from localspec.chat.tools.approvals import Approval
from localspec.chat.tools.chain import ActiveCall
from localspec.chat.tools.offered import OfferedTool
from localspec.chat.tools.servers import MOST_DESCRIPTION
from localspec.runtime.messages import Tool, ToolCall
from localspec.tui.screens.approval import ApprovalScreen
from localspec.tui.theme import DARK, TERMINAL_DARK
from tests.tui.support import FakeEngine, make_app, wait_until

WORDS = ("word " * MOST_DESCRIPTION)[:MOST_DESCRIPTION]


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (60, 10), (40, 8)])
async def test_a_long_description_leaves_room_for_arguments_and_answers(size: tuple[int, int]) -> None:
    """It is cut; what stands below it is on the screen."""
    tool = OfferedTool(Tool("read", WORDS, "{}"), "notes", "uvx " + "x" * 300, "read")
    call = ActiveCall(ToolCall("c", "notes.read", '{"path": "/etc/passwd"}'), tool, changed=True)
    app = make_app(FakeEngine())
    async with app.run_test(size=size) as pilot:
        await app.push_screen(ApprovalScreen(call))
        await pilot.pause()
        arguments = app.screen.query_one("#approval-arguments Static", Static)
        for widget in (arguments, app.screen.query_one(OptionList), app.screen.query_one("#approval-keys")):
            assert widget.region.height
            assert app.screen.region.contains_region(widget.region), widget


async def test_long_arguments_can_be_read_before_the_answer() -> None:
    """With the keys of pages, which are named; the answers stay on the screen."""
    call = ActiveCall(ToolCall("c", "read", f'{{"text": "{WORDS}"}}'), OfferedTool(Tool("read", WORDS, "{}")))
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(ApprovalScreen(call))
        await pilot.pause()
        keys, arguments = app.screen.query_one("#approval-keys", Static), app.screen.query_one("#approval-arguments")
        await wait_until(pilot, lambda: "Page Down" in str(keys.render()))
        for widget in (arguments, app.screen.query_one(OptionList), keys):
            assert app.screen.region.contains_region(widget.region), widget
        await pilot.press("pagedown", "pagedown")
        down = arguments.scroll_y
        await pilot.press("pageup")
        assert down > arguments.scroll_y > 0


async def test_somebody_who_was_typing_allows_nothing() -> None:
    """The question opens by itself; the letters were meant for a message."""
    call = ActiveCall(ToolCall("c", "read", "{}"), OfferedTool(Tool("read", "Reads.", "{}")))
    given: list[Approval | None] = []
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(ApprovalScreen(call), given.append)
        await pilot.press(*"adjust the job", "enter")
        await wait_until(pilot, lambda: given)
    assert given == [Approval.NO]


@pytest.mark.parametrize(("theme", "line"), [(DARK.name, ""), (TERMINAL_DARK, "solid")])
async def test_the_box_is_set_off_from_the_screen_below(theme: str, line: str) -> None:
    """By its ground, or by lines where the terminal's own colours have no other ground."""
    call = ActiveCall(ToolCall("c", "read", "{}"), OfferedTool(Tool("read", "Reads.", "{}")))
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = theme
        await app.push_screen(ApprovalScreen(call))
        await pilot.pause()
        box = app.screen.query_one("#approval")
        assert (box.styles.outline_left[0], box.styles.outline_right[0]) == (line, line)
        assert (box.background_colors[0] != box.background_colors[1]) is not bool(line)
