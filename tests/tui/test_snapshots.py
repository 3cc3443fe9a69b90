"""What the chat screen looks like: sizes, themes and states, each with clock, figures and cursor at rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Markdown

from localspec.chat.pair_slot import Phase
from localspec.tui.theme import DARK, LIGHT
from tests.tui.looks import LARGE, MEDIUM, NO_COLOR, SMALL, hold_still, name_of, theme_of
from tests.tui.support import (
    FakeEngine,
    chat,
    drawn_n,
    live_text,
    make_app,
    rounds_of,
    send,
    session,
    views,
    wait_until,
)

STORY = """Once upon a time a **fox** lived at the edge of a quiet wood.
Every morning she counted the stones by the river.

```python
def count(stones):
    return len(stones) + 1
```

| day | stones |
|---|---|
| one | 3 |
| two | 4 |

1. She asked the heron.
2. The heron looked at the water, where the light made 漢字 and café shapes.
"""

Scene = Callable[[FakeEngine, Pilot[Any]], Awaitable[None]]


async def loading(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    engine.loading("loading the target", 0.4)
    await wait_until(pilot, lambda: "40%" in live_text(pilot))
    await send(pilot, "Tell me a story about a fox")


async def welcome(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    engine.load()
    await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE and "ready" in live_text(pilot))


async def streaming(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await send(pilot, "Tell me a story about a fox")
    engine.start()
    engine.write(rounds_of(STORY)[:16])
    await wait_until(pilot, lambda: views(pilot) and views(pilot)[0].reply.tokens.ghosts)
    marked = drawn_n(pilot)
    await wait_until(pilot, lambda: session(pilot).current.reply.tally.predicted_n == marked)
    chat(pilot)._wake()
    await send(pilot, "And what did she find?")


async def finished(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await send(pilot, "Tell me a story about a fox")
    engine.reply(STORY)
    await wait_until(pilot, lambda: views(pilot)[0].query(Markdown) and not views(pilot)[0].reply.tokens.display)
    await wait_until(pilot, lambda: not pilot.app._background_screens and not session(pilot).busy)


async def tokens(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await finished(engine, pilot)
    await pilot.press("ctrl+t")
    await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.display)


async def died(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await send(pilot, "Tell me a story about a fox")
    engine.start()
    engine.write(rounds_of(STORY)[:4])
    engine.die()
    await wait_until(pilot, lambda: session(pilot).phase is Phase.BROKEN and views(pilot)[0].query(Markdown))


async def refused(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    engine.refuse_load()
    await wait_until(pilot, lambda: chat(pilot).query(".load-error"))


async def help_page(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await pilot.press("f1")
    await pilot.pause()


async def commands(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    await welcome(engine, pilot)
    await pilot.press("/")
    await pilot.pause()


@pytest.mark.parametrize(
    ("scene", "size", "look"),
    [
        (loading, MEDIUM, DARK.name),
        (welcome, MEDIUM, DARK.name),
        (welcome, LARGE, LIGHT.name),
        (welcome, SMALL, NO_COLOR),
        (streaming, MEDIUM, DARK.name),
        (streaming, LARGE, LIGHT.name),
        (streaming, SMALL, DARK.name),
        (streaming, MEDIUM, NO_COLOR),
        (streaming, MEDIUM, "ansi-dark"),
        (finished, LARGE, DARK.name),
        (finished, MEDIUM, LIGHT.name),
        (tokens, MEDIUM, DARK.name),
        (tokens, LARGE, NO_COLOR),
        (help_page, LARGE, DARK.name),
        (help_page, SMALL, LIGHT.name),
        (commands, MEDIUM, LIGHT.name),
        (died, MEDIUM, DARK.name),
        (refused, SMALL, LIGHT.name),
    ],
    ids=name_of,
)
def test_looks(
    scene: Scene, size: tuple[int, int], look: str, snap_compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen is the one that was looked at and approved."""
    theme, engine = theme_of(look, monkeypatch), FakeEngine()
    app = make_app(engine)
    app.theme = theme

    async def prepare(pilot: Pilot[Any]) -> None:
        await scene(engine, pilot)
        await hold_still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=prepare)
