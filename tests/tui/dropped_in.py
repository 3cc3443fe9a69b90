"""A program with one command more than LocalSpec has, declared in one place; writes as JSON where it is met.

Run by ``test_dropped_in.py`` in a process of its own: keys are bound as the screens' classes are made.
"""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import FrontEnd, LineForm


def wave(chat: FrontEnd, argument: str) -> None:
    """Its handler."""
    chat.answer(f"Hello {argument or 'you'}.")


WAVE = CHAT.add(
    "wave",
    "f23",
    "wave",
    "Wave to somebody.",
    slash="wave",
    argument="NAME",
    also=("greet",),
    hinted=True,
    line=LineForm("wave", "Wave to somebody.", "[NAME]"),
    handler=wave,
)


async def on_screen() -> dict[str, object]:
    """Everything that the chat screen makes of it."""
    from localspec.tui.screens.commands import ActionCommands
    from localspec.tui.widgets.glossary import Glossary
    from localspec.tui.widgets.hints import Hints
    from tests.tui.support import FakeEngine, chat, make_app, notice_text, send

    found: dict[str, object] = {}
    app = make_app(FakeEngine())
    async with app.run_test(size=(200, 40)) as pilot:
        found["palette"] = [str(hit.text) async for hit in ActionCommands(app.screen).search("greet")]
        found["hints"] = "F23 wave" in str(chat(pilot).query_one(Hints).render())
        await pilot.press("f23")
        found["key"] = notice_text(pilot).strip()
        await send(pilot, "/wave Ann")
        found["slash"] = notice_text(pilot).strip()
        await send(pilot, "/greet Bob")
        found["other word"] = notice_text(pilot).strip()
        await pilot.press("f1")
        await pilot.pause()
        lines = [line.plain for each in app.screen.query(Glossary) for line in each.lines(150)]
        found["help"] = [line.split() for line in lines if "Wave to" in line]
    return found


def in_lines() -> dict[str, object]:
    """Everything that the line mode makes of it."""
    from localspec.line.commands import find_command, help_, names

    said: list[str] = []
    state: Any = SimpleNamespace(output=SimpleNamespace(say=lambda text, **data: said.append(text)))
    found = find_command("/wave Ann")
    assert found is not None
    command, argument = found
    command.do(state, argument)
    help_(state, "wave")
    return {"line mode": said, "completion": "wave" in names()}


def in_documents() -> dict[str, object]:
    """Generated documentation, and the key map of the settings file."""
    from localspec.chat.commands.keymap import resolve_keymap
    from localspec.config import read_config
    from tests import readme
    from tests.config.support import configure

    configure('[keys]\nwave = "f24"\n')
    keymap = resolve_keymap(read_config())
    rows = [*readme.keys().splitlines(), *readme.bindings().splitlines()]
    return {"docs": [row for row in rows if "Wave to" in row], "own key": keymap.label(WAVE)}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(on_screen()) | in_lines() | in_documents()))
