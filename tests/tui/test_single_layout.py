"""Containers that keep the ground they drew."""

from __future__ import annotations

from textual.geometry import Region

from localspec.tui.conversation.reply_view import ReplyView
from tests.tui.support import FakeEngine, chat, make_app, send, session, wait_until


async def test_ground_follows_the_theme_and_the_width() -> None:
    """It is drawn once for all frames, and anew where it would look or measure otherwise."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(100, 30)) as pilot:
        engine.load()
        await send(pilot, "Hello")
        await wait_until(pilot, lambda: engine.prompts)
        engine.reply("Hi.")
        await wait_until(pilot, lambda: session(pilot).free)
        pane = chat(pilot).query_one(ReplyView)
        strips = [pane.render_lines(Region(0, 0, width, 2)) for width in (20, 30, 20)]
        assert [[strip.cell_length for strip in lines] for lines in strips] == [[20, 20], [30, 30], [20, 20]]
        before = strips[0][0]
        assert pane.render_lines(Region(0, 0, 20, 1)) == [before]
        app.theme = "localspec-light"
        await wait_until(pilot, lambda: pane.render_lines(Region(0, 0, 20, 1)) != [before])
