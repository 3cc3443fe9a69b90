"""What tools look like: the question before a call, calls with their results, the list with its switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.chat.tools.approvals import Approvals
from localspec.chat.tools.offered import OfferedTool
from localspec.chat.tools.toolbox import Toolbox
from localspec.runtime.chat_config import ToolChoice
from localspec.runtime.messages import Tool, ToolCall
from localspec.tui.screens.approval import ApprovalScreen
from localspec.tui.screens.tools import ToolsScreen
from localspec.tui.theme import DARK, LIGHT
from tests.config.support import configure
from tests.tui.looks import LARGE, MEDIUM, hold_still, name_of
from tests.tui.support import LAUNCH, FakeEngine, make_app, ready, send, session, views, wait_until

SERVER = """
[mcp.notes]
command = "uvx"
args = ["mcp-server-notes"]

[tools]
tool = ["count_words"]
mcp = ["notes"]
"""
CALLS = (
    ToolCall("c1", "count_words", '{"text": "the quick brown fox jumps over the lazy dog, as ever"}'),
    ToolCall("c2", "read_file", '{"path": "garden/tomatoes.txt"}'),
)
LONG = (ToolCall("c1", "add", '{"text": "' + "Water the tomatoes. " * 30 + '"}'),)


class Box(Toolbox):
    """Our own tools beside those of a server that runs."""

    @property
    def known(self) -> Sequence[OfferedTool]:  # type: ignore[override]
        about = {"find": "Find notes by words.", "add": f"Write a note.\n\n{'It is kept with the others. ' * 20}"}
        return tuple(OfferedTool(Tool(name, says, "{}"), "notes", "uvx", name) for name, says in about.items())

    def prepare(self) -> None:
        """No server is started."""


@pytest.mark.parametrize(
    ("scene", "size", "theme"),
    [
        ("asked", MEDIUM, DARK.name),
        ("asked", LARGE, LIGHT.name),
        ("long", MEDIUM, DARK.name),
        ("folded", MEDIUM, LIGHT.name),
        ("unfolded", LARGE, DARK.name),
        ("list", MEDIUM, DARK.name),
        ("list", LARGE, LIGHT.name),
    ],
    ids=name_of,
)
def test_looks(scene: str, size: tuple[int, int], theme: str, snap_compare: Any, tmp_path: Path) -> None:
    """The screen is the one that was looked at and approved."""
    configure(SERVER)
    (tmp_path / "garden").mkdir()
    (tmp_path / "garden" / "tomatoes.txt").write_text("Water them in the morning.\nTie them up in June.")
    engine = FakeEngine()
    mcp = ("notes",) if scene == "long" else ()
    choice = ToolChoice(tool=("count_words", "read_file"), mcp=mcp, tool_folder=tmp_path)
    app = make_app(engine, replace(LAUNCH, tools=choice))
    app.theme = theme
    app.session.tool_use.approvals = Approvals(tmp_path / "approvals.json")

    async def prepare(pilot: Pilot[Any]) -> None:
        await ready(pilot, engine)
        if scene == "list":
            app.session.tool_use.toolbox = Box()
            await send(pilot, "/tools")
            await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen))
        else:
            calls = LONG if scene == "long" else CALLS
            if scene == "long":
                app.session.tool_use.toolbox = box = Box()
                box.offered = tuple(box.known)
            await called(pilot, engine, *calls, unfold=scene == "unfolded", answer=scene in ("folded", "unfolded"))
        await hold_still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=prepare)


async def called(pilot: Pilot[Any], engine: FakeEngine, *calls: ToolCall, unfold: bool, answer: bool) -> None:
    """Have two tools called, of which one needs an answer."""
    await send(pilot, "How many words, and what about the tomatoes?")
    await wait_until(pilot, lambda: engine.prompts)
    engine.start()
    engine.call(*calls, said="Let me look.")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, ApprovalScreen))
    if not answer:
        return
    await pilot.press("down", "enter")
    await wait_until(pilot, lambda: len(engine.prompts) == 2)
    engine.reply("Eleven words; water them in the morning.")
    await wait_until(pilot, lambda: session(pilot).free and len(views(pilot)) == 2)
    rows = views(pilot)[0].calls
    await wait_until(pilot, lambda: "Water" in str(rows.render()))
    if unfold:
        rows.turn()
