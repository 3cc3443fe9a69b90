"""What the truth view looks like: each mode that is not by origin, the inspector, the race."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.chat.tokens.marking import MarkMode
from localspec.engine.events import Origin
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.theme import DARK, LIGHT
from localspec.tui.tokens.marked_markdown import MarkedMarkdown
from tests.tui.looks import LARGE, MEDIUM, NO_COLOR, SMALL, hold_still, name_of, theme_of
from tests.tui.support import make_app, make_round, rounds_of, send, session, views, wait_until
from tests.tui.test_chat import answered, begin
from tests.tui.test_token_marks import LookingEngine, mark, numbered, open_inspector

STORY = (
    "Once upon a time a fox lived at the edge of a quiet wood. Every morning she counted the stones.\n\n1. 漢字 café"
)
PAGE = """\
## Two *planets*

**Mars** and [Venus](https://a.org), by `size`; 漢字:

- Venus &amp; Mars

| Name | km |
|---|---|
| **Mars** | 6779 |

```python
return "Venus"
```
"""
Scene = Callable[[LookingEngine, Pilot[Any]], Awaitable[None]]


async def story(engine: LookingEngine, pilot: Pilot[Any]) -> None:
    await begin(pilot, engine, "Tell me a story about a fox")
    engine.write(numbered(rounds_of(STORY)))
    engine.finish()
    await answered(pilot)


async def heat(engine: LookingEngine, pilot: Pilot[Any]) -> None:
    await story(engine, pilot)
    await mark(pilot, MarkMode.HEAT)
    await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.display and not session(pilot).busy)


async def rounds_with_ghosts(engine: LookingEngine, pilot: Pilot[Any]) -> None:
    await story(engine, pilot)
    await mark(pilot, MarkMode.ROUNDS)
    await pilot.press("f4")
    await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.display)


async def markdown(engine: LookingEngine, pilot: Pilot[Any]) -> None:
    await begin(pilot, engine, "Tell me about planets")
    engine.write(numbered(rounds_of(PAGE)))
    engine.finish()
    await answered(pilot)
    await pilot.press("f2")
    await wait_until(pilot, lambda: views(pilot)[0].reply.query_one(MarkedMarkdown).mode is MarkMode.ORIGIN)


async def inspector(engine: LookingEngine, pilot: Pilot[Any]) -> None:
    await story(engine, pilot)
    screen = await open_inspector(pilot)
    await pilot.press("n")
    await wait_until(pilot, lambda: screen.index in screen.subject.reply.inspections and not session(pilot).busy)


async def race(engine: LookingEngine, pilot: Pilot[Any]) -> None:
    await story(engine, pilot)
    await send(pilot, "/race")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, RaceScreen))
    texts = [token.text for round_ in rounds_of(STORY) for token in round_.tokens]
    for n, rounds in enumerate((rounds_of(STORY), [make_round([text], Origin.PLAIN) for text in texts]), start=2):
        await wait_until(pilot, lambda n=n: len(engine.prompts) == n)  # type: ignore[misc]
        engine.start()
        engine.write(rounds)
        engine.finish()
    await wait_until(pilot, lambda: session(pilot)._engine_queries.race.ready)
    await pilot.press("space")
    screen = pilot.app.screen
    await wait_until(pilot, lambda: "same text" in str(screen.query_one("#race-verdict").render()))


@pytest.mark.parametrize(
    ("scene", "size", "look"),
    [
        (heat, MEDIUM, DARK.name),
        (heat, MEDIUM, NO_COLOR),
        (rounds_with_ghosts, MEDIUM, LIGHT.name),
        (markdown, MEDIUM, DARK.name),
        (markdown, MEDIUM, LIGHT.name),
        (markdown, MEDIUM, NO_COLOR),
        (inspector, SMALL, LIGHT.name),
        (inspector, MEDIUM, DARK.name),
        (inspector, LARGE, "ansi-dark"),
        (race, MEDIUM, DARK.name),
        (race, SMALL, NO_COLOR),
    ],
    ids=name_of,
)
def test_marks(
    scene: Scene, size: tuple[int, int], look: str, snap_compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen is the one that was looked at and approved."""
    theme, engine = theme_of(look, monkeypatch), LookingEngine()
    app = make_app(engine)
    app.theme = theme

    async def prepare(pilot: Pilot[Any]) -> None:
        await scene(engine, pilot)
        assert not isinstance(app.screen, InspectorScreen) or app.screen.index
        await hold_still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=prepare)
