"""A click on marked Markdown: which token it picks, and when it picks none."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from rich.cells import split_graphemes
from textual.events import MouseDown, MouseMove, MouseUp
from textual.geometry import Offset
from textual.pilot import Pilot

from localspec.chat.tokens.marking import MarkMode
from localspec.tui.conversation.reasoning_view import ReasoningView
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.links import LinksScreen
from localspec.tui.tokens.runs import writer
from tests.tui.looks import hold_still
from tests.tui.support import FakeEngine, chat, make_app, ready, say, session, views, wait_until
from tests.tui.test_marked_markdown import SAMPLE, marked, reply
from tests.tui.test_token_marks import LookingEngine

NESTED = """\
# One __two__ ~~three~~

> - four **five** six seven eight nine ten eleven twelve thirteen
>   1. fourteen 漢字漢字 cafe\u0301 👩\u200d🔬 fifteen
>
> sixteen\\
> seventeen \\*eighteen\\* &lt;nineteen&gt;

| twenty | 二十一 | extraordinarilylongword |
|:--|--:|---|
| `a \\| b` | 漢字 | *twentytwo* twentythree |
"""
CODE = """\
Before:

```python
def first(x):
\tif x:  # 漢字\tand then a line that is far too long for the place it has
\t\treturn "z"
```

    indented\tcode
"""
MADE = set("•‣⭑⭘▪▌│…<>&0123456789. ")
"""What Markdown draws that no token wrote: bullets, numbers, bars, cuts, entities."""

Cells = list[list[str]]


def cells_of(pilot: Pilot[Any]) -> Cells:
    """What stands in each cell of the screen; a wide character stands in two."""
    return [
        [
            text[start:end]
            for text, _, _ in strip
            for start, end, width in split_graphemes(text)[0]
            for _ in range(width)
        ]
        for strip in pilot.app.screen._compositor.render_strips()
    ]


def picks(pilot: Pilot[Any]) -> list[tuple[str, int | None, Offset]]:
    """All that is drawn of the reply, cell by cell, and the token that a click there picks."""
    drawn, screen = cells_of(pilot), pilot.app.screen
    places = [Offset(x, y) for y in _rows(pilot) for x in range(screen.size.width)]
    return [(drawn[at.y][at.x], writer(screen.get_style_at(*at)), at) for at in places]


def _rows(pilot: Pilot[Any]) -> range:
    region = views(pilot)[0].reply.region
    return range(max(0, region.y), min(region.bottom, chat(pilot).query_one("Transcript").region.bottom))


def hold_law(pilot: Pilot[Any]) -> set[int]:
    """What is drawn of a token is in its text, and all that is drawn is some token's or made; the tokens found."""
    tokens, found = session(pilot).last.reply.tokens, set[int]()
    for (token, y), cells in groupby(picks(pilot), key=lambda cell: (cell[1], cell[2].y)):
        drawn = "".join(character[-1] for character, _ in groupby(character for character, _, _ in cells))
        if token is None:
            assert set(drawn) <= MADE, (y, drawn)
            continue
        found.add(token)
        text = "".join(character for character, _ in groupby(tokens[token].text))
        assert drawn.strip("… ") in text, (y, drawn)
        assert drawn.strip() or any(character.isspace() for character in text), (y, drawn)
    return found


def where(pilot: Pilot[Any], word: str, column: int = 0) -> Offset:
    """The place of a character of a word that the reply has once."""
    drawn = cells_of(pilot)
    rows = {y: "".join(drawn[y]).find(word) for y in _rows(pilot)}
    ((x, y),) = [(x, y) for y, x in rows.items() if x >= 0]
    return Offset(x + column, y)


async def open_marked(
    pilot: Pilot[Any], engine: LookingEngine, text: str = SAMPLE, mode: MarkMode = MarkMode.ORIGIN
) -> None:
    await reply(pilot, engine, text)
    await pilot.press("f2")
    await go_on_to(pilot, mode, MarkMode.ORIGIN)
    await hold_still(pilot)


async def go_on_to(pilot: Pilot[Any], mode: MarkMode, before: MarkMode) -> None:
    """Mark in this mode what is marked in an earlier one."""
    for _ in range(list(MarkMode).index(mode) - list(MarkMode).index(before)):
        await pilot.press("f2")
    await marked(pilot, mode)


async def click(pilot: Pilot[Any], place: Offset) -> None:
    await pilot.click(offset=place)
    await pilot.pause()


@pytest.mark.parametrize("width", [100, 46])
@pytest.mark.parametrize("text", [SAMPLE, NESTED, CODE], ids=["sample", "nested", "code"])
async def test_in_every_cell_the_token_is_picked_that_wrote_it(width: int, text: str) -> None:
    """In headings, lists, quotes, tables and code, of wide and of joined characters, tabs and wrapped lines."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(width, 60)) as pilot:
        await open_marked(pilot, engine, text, MarkMode.ORIGIN)
        assert hold_law(pilot)
        await go_on_to(pilot, MarkMode.ROUNDS, MarkMode.ORIGIN)
        assert hold_law(pilot)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("Planets", " Planets"),
        ("nested", " nested"),
        ("漢字", " 漢字"),
        ("6779", " 6779"),
        ("sums", " sums"),
        ("Mars", "Mars"),
    ],
)
async def test_a_click_on_marked_text_opens_the_inspector_there(word: str, text: str) -> None:
    """As in the token view."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 60)) as pilot:
        await open_marked(pilot, engine)
        await click(pilot, where(pilot, word[:1] if word == "漢字" else word, 1))
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        assert screen.subject.reply.tokens[screen.index].text == text


async def test_a_click_on_what_no_token_wrote_does_nothing() -> None:
    """On a bullet, beside the text, and anywhere in Markdown without marks."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 60)) as pilot:
        await open_marked(pilot, engine)
        bullet, beside = where(pilot, "first") - Offset(2, 0), where(pilot, "quiet quote.", 14)
        for place in (bullet, beside):
            await click(pilot, place)
            assert pilot.app.screen is chat(pilot)
        word = where(pilot, "Planets")
        for _ in range(len(MarkMode) - 2):
            await pilot.press("f2")
        await marked(pilot, MarkMode.OFF)
        await click(pilot, word)
        assert pilot.app.screen is chat(pilot)


async def test_a_link_keeps_its_click() -> None:
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 60)) as pilot:
        await open_marked(pilot, engine)
        await click(pilot, where(pilot, "the wood", 5))
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))


async def test_while_text_is_marked_with_the_mouse_nothing_opens() -> None:
    """Until a click puts an end to that."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 60)) as pilot:
        await open_marked(pilot, engine)
        place = where(pilot, "lived")
        await pilot.mouse_down(offset=place)
        await pilot.hover(offset=place + Offset(4, 0))
        await pilot.mouse_up(offset=place + Offset(4, 0))
        await pilot.pause()
        assert pilot.app.screen is chat(pilot)
        assert chat(pilot).get_selected_text() == "lived"
        await click(pilot, place)
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))


async def test_text_that_is_marked_with_the_mouse_stays_unfolded() -> None:
    """The button that is let go ends the selection; a click alone folds."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Why?", "<think>\nFirst this, then that.\n</think>\n\nSo.")
        thought = views(pilot)[0].reply.query_one(ReasoningView)
        await wait_until(pilot, lambda: thought.display and thought.size.height == 1)
        await pilot.click(thought)
        await wait_until(pilot, lambda: thought.size.height == 3)
        x, y = thought.content_region.offset + Offset(0, 2)
        for event, to in ((MouseDown, x), (MouseMove, x + 9), (MouseUp, x + 9)):
            pilot.app.post_message(event(None, to, y, 0, 0, 1, False, False, False, to, y))
        await pilot.pause()
        assert thought.size.height == 3
        assert chat(pilot).get_selected_text() == "First this"
        await pilot.click(thought)
        await wait_until(pilot, lambda: thought.size.height == 1)
