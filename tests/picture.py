"""The picture in the README: the real app, the built-in pair, two real replies.

python -m tests.picture      writes assets/screenshot.svg
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from localspec.base.paths import shipped
from localspec.chat.answer_queue import AnswerQueue
from localspec.chat.pairs.library import PairLibrary
from localspec.engine.settings import Sampling
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Load
from localspec.tui.app import ChatApp
from localspec.tui.widgets.notice import Notice
from tests.tui.fakes import NoPairs, with_settings

PICTURE = Path(__file__).parent.parent / "assets" / "screenshot.svg"
QUESTIONS = ("What is a draft model?", "Tell me a story about a fox")


async def take(chat_config: ChatConfig, log_file: Path) -> str:
    """The screen as SVG, tokens shown, after the questions were answered."""
    inbox = AnswerQueue()
    with EngineClient(inbox.put, log_file) as client:
        client.send(Load(chat_config.load))
        app = ChatApp(with_settings(chat_config), client, inbox, PairLibrary(NoPairs()))
        async with app.run_test(size=(92, 30)) as pilot:
            await pilot.press("ctrl+t")
            for n, question in enumerate(QUESTIONS, start=1):
                await pilot.press(*question, "enter")
                await _until(pilot, lambda n=n: _answered(app, n))  # type: ignore[misc]
            app.screen.query_one(Notice).display = False
            await pilot.pause()
            return app.export_screenshot(title="LocalSpec")


def _answered(app: ChatApp, n: int) -> bool:
    turns = app.session.thread.turns
    return len(turns) == n and turns[-1].reply.done and not app.session.busy


async def _until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    while not condition():
        await pilot.pause(0.05)


def main() -> None:
    """Take the picture."""
    load = LoadOptions(shipped("assets/builtin-target.gguf"), shipped("assets/builtin-draft.gguf"))
    reply = ReplyOptions(Sampling(temperature=0))
    chat_config = ChatConfig(load, reply, pair_id="builtin", title="Built-in pair", tour=True)
    with tempfile.TemporaryDirectory() as folder:
        # Nobody's conversations and settings, and all colours.
        os.environ.update(LOCALSPEC_HOME=folder, COLORTERM="truecolor", TERM="xterm-256color")
        svg = asyncio.run(take(chat_config, Path(folder) / "engine.log"))
    PICTURE.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
