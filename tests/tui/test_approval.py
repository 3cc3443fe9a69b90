"""The question whether a tool may be called: nothing that a server writes hides the arguments or the answers."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList, Static

from localspec.chat.tools.chain import ActiveCall
from localspec.chat.tools.offered import OfferedTool
from localspec.chat.tools.servers import MOST_DESCRIPTION
from localspec.runtime.messages import Tool, ToolCall
from localspec.tui.screens.approval import ApprovalScreen
from tests.tui.support import FakeEngine, make_app

WORDS = ("word " * MOST_DESCRIPTION)[:MOST_DESCRIPTION]


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
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
