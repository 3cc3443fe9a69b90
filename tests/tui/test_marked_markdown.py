"""Marks in a finished reply that is shown as Markdown."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from rich.color import Color as RichColor
from textual.app import App, ComposeResult
from textual.color import Color
from textual.pilot import Pilot
from textual.selection import SELECT_ALL
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock

from localspec.chat.tokens.marking import GhostMode, MarkMode, ReplyFormat
from localspec.chat.turn import Turn
from localspec.engine.events import Origin
from localspec.runtime.reasoning import Reasoning
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.theme import DARK, LIGHT
from localspec.tui.tokens.marked_markdown import MarkedMarkdown
from localspec.tui.tokens.palette import palette_for
from tests.tui.cells import cells, faint
from tests.tui.looks import NO_COLOR, hold_still, theme_of
from tests.tui.support import chat, make_app, make_round, notice_text, rounds_of, send, session, views, wait_until
from tests.tui.test_chat import answered, begin
from tests.tui.test_token_marks import LookingEngine, numbered

SAMPLE = """\
## Planets *by* size

Once **upon a time** lived; see [the wood](https://a.org/wood) and `count(x)`.

- first item
  - nested 漢字 café
1. nine &amp; ten

> quiet quote.

| Name | km |
|---|---|
| **Mars** | 6779 |

```python
def sums(y):
    return "s" + y
```
"""
SIZE = (80, 50)


async def reply(pilot: Pilot[Any], engine: LookingEngine, text: str = SAMPLE) -> None:
    """A finished one, shown as Markdown."""
    await begin(pilot, engine)
    engine.write(numbered(rounds_of(text)))
    engine.finish()
    await answered(pilot)
    await wait_until(pilot, lambda: not views(pilot)[-1].reply.tokens.display)


async def marked(pilot: Pilot[Any], mode: MarkMode, turn: int = 0) -> MarkedMarkdown:
    markdown = markdown_of(pilot, turn)
    await wait_until(pilot, lambda: markdown.mode is mode and not session(pilot).busy)
    await pilot.pause()
    return markdown


def markdown_of(pilot: Pilot[Any], turn: int = 0) -> MarkedMarkdown:
    return views(pilot)[turn].reply.query_one(MarkedMarkdown)


async def press_until(pilot: Pilot[Any], mode: MarkMode) -> None:
    transcript = chat(pilot).query_one(Transcript)
    for _ in range(len(MarkMode) + 1):
        if transcript.reply_format.marks is mode:
            return
        await pilot.press("f2")
    raise AssertionError(transcript.reply_format)


def looks(pilot: Pilot[Any]) -> dict[str, list[tuple[object, bool, bool, bool]]]:
    """Each character of each word of the reply: its colour, and whether it is bold, underlined, reversed."""
    region = views(pilot)[0].reply.region
    found: dict[str, list[tuple[object, bool, bool, bool]]] = {}
    for line in cells(pilot.app)[region.y : region.bottom]:
        for word in re.finditer(r"\w+", "".join(cell.character for cell in line)):
            drawn = line[word.start() : word.end()]
            found[word[0]] = [
                (_colour(c.colour), "bold" in c.attributes, "underline" in c.attributes, "reverse" in c.attributes)
                for c in drawn
            ]
    return found


def _colour(name: str) -> object:
    """The same for one colour by whatever name."""
    colour = RichColor.parse(name)
    return colour.number, colour.triplet


def picture(pilot: Pilot[Any]) -> list[Any]:
    region = views(pilot)[0].reply.region
    return cells(pilot.app)[region.y : region.bottom]


async def test_lines_stay_lines() -> None:
    """Of a poem, in a list, with marks and without; a block of code is as it was."""
    engine = LookingEngine()
    poem = "An old silent pond\nA *frog* jumps in\nSplash.\n\n- One\n  and\n\n```\na = 1\nb = 2\n```\n"
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await reply(pilot, engine, poem)
        for mode in (MarkMode.OFF, MarkMode.ORIGIN):
            await press_until(pilot, mode)
            await marked(pilot, mode)
            drawn = ["".join(cell.character for cell in line).strip() for line in picture(pilot)]
            at = drawn.index("An old silent pond")
            assert drawn[at : at + 3] == ["An old silent pond", "A frog jumps in", "Splash."]
            assert {"a = 1", "b = 2", "and"} <= set(drawn)


async def test_html_is_shown_as_it_was_written() -> None:
    """A tag, what looks like one, and what stands between two: with marks and without, and nothing is left out."""
    engine = LookingEngine()
    lines = ["Use the <br> tag, or vector<int>.", "A<B and C>D", "<div>", "inside", "</div>", "<!-- aside -->"]
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await reply(pilot, engine, "\n\n".join(["\n".join(lines[:2]), "\n".join(lines[2:5]), lines[5]]))
        for mode in (MarkMode.OFF, MarkMode.ORIGIN):
            await press_until(pilot, mode)
            await marked(pilot, mode)
            drawn = ["".join(cell.character for cell in line).strip() for line in picture(pilot)]
            assert [line for line in drawn if line in lines] == lines


ONCE = (
    *(
        "Planets",
        "by",
        "size",
        "Once",
        "upon",
        "time",
        "lived",
        "see",
        "the",
        "count",
        "first",
        "item",
        "nested",
        "漢字",
    ),
    *("café", "nine", "ten", "quiet", "quote", "Name", "km", "Mars", "6779", "def", "sums", "return"),
)
"""Words that the sample has in one place."""
MARKING = [mode for mode in MarkMode if mode is not MarkMode.OFF]


@pytest.mark.parametrize("look", [DARK.name, LIGHT.name, "ansi-dark", NO_COLOR])
async def test_a_mark_reads_as_in_the_token_view(look: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word by word, in headings, lists, quotes, tables, code and links alike: the same colour and the same cues."""
    theme, engine = theme_of(look, monkeypatch), LookingEngine()
    app = make_app(engine)
    app.theme = theme
    async with app.run_test(size=SIZE) as pilot:
        await reply(pilot, engine)
        for mode in MARKING:
            await press_until(pilot, mode)
            await marked(pilot, mode)
            await hold_still(pilot)
            in_markdown = looks(pilot)
            await pilot.press("ctrl+t")
            await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.display)
            in_tokens = looks(pilot)
            assert {word: in_markdown[word] for word in ONCE} == {word: in_tokens[word] for word in ONCE}, mode
            await pilot.press("ctrl+t")
            await wait_until(pilot, lambda: not views(pilot)[0].reply.tokens.display)


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name])
async def test_marked_markdown_can_be_read(theme: str) -> None:
    """On the ground of code, too."""
    engine = LookingEngine()
    app: Any = make_app(engine)
    app.theme = theme
    async with app.run_test(size=SIZE) as pilot:
        await reply(pilot, engine)
        for mode in MARKING:
            await press_until(pilot, mode)
            markdown = await marked(pilot, mode)
            assert not faint(app, within=markdown.region), mode


async def test_markdown_is_clean_until_marks_are_asked_for_and_again_without_them() -> None:
    """F2 brings them out, then changes them; "off" leaves what was there before, to the last cell."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await reply(pilot, engine)
        await hold_still(pilot)
        clean, seen = picture(pilot), []
        for mode in (MarkMode.ORIGIN, MarkMode.DRAFTER, MarkMode.HEAT, MarkMode.ROUNDS, MarkMode.OFF):
            await pilot.press("f2")
            await marked(pilot, mode)
            seen.append(picture(pilot))
            assert not views(pilot)[0].reply.tokens.display
        assert seen[-1] == clean
        assert all(one != other for n, one in enumerate(seen) for other in seen[:n])
        text = [["".join(cell.character for cell in line) for line in drawn] for drawn in seen]
        assert all(drawn == text[0] for drawn in text), "marks move nothing"


async def test_the_view_is_switched_with_the_mode_kept() -> None:
    """Ctrl+T to tokens and back; tokens alone have marks where nobody asked for them in Markdown."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await reply(pilot, engine)
        transcript = chat(pilot).query_one(Transcript)
        for expected in (MarkMode.OFF, MarkMode.DRAFTER):
            assert (await marked(pilot, expected)).display
            await pilot.press("ctrl+t")
            await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.display)
            assert transcript.reply_format.marks is not MarkMode.OFF
            await pilot.press("ctrl+t")
            await wait_until(pilot, lambda: not views(pilot)[0].reply.tokens.display)
            assert (await marked(pilot, expected)).display
            await pilot.press("f2", "f2")


async def test_a_chosen_reply_is_marked_alone() -> None:
    """Then all, once none is chosen."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await reply(pilot, engine, "One **word**.")
        await send(pilot, "Again")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        engine.reply("Two.")
        await answered(pilot, 2)
        await wait_until(pilot, lambda: not views(pilot)[1].reply.tokens.display)
        await pilot.press("alt+up", "alt+up", "f2", "f2")
        await marked(pilot, MarkMode.DRAFTER)
        assert "This reply is marked by drafter" in notice_text(pilot)
        assert markdown_of(pilot, 1).mode is MarkMode.OFF
        await pilot.press("escape", "f2")
        await marked(pilot, MarkMode.ORIGIN, 1)
        await marked(pilot, MarkMode.ORIGIN, 0)


async def test_marks_asked_for_while_a_reply_is_written_stay_when_it_is_done() -> None:
    """And reach every part of it."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await begin(pilot, engine)
        await pilot.press("f2")
        engine.write(numbered(rounds_of(SAMPLE)))
        engine.finish()
        await answered(pilot)
        markdown = await marked(pilot, MarkMode.DRAFTER)
        assert markdown.display
        text = "".join(piece.mapped.text for piece in markdown._pieces or ())
        assert all(word in text for word in ONCE)


async def test_markdown_that_was_broken_off_is_made_anew() -> None:
    """A key pressed while a long reply is made into Markdown has it begun again, wholly."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await begin(pilot, engine)
        await pilot.press("ctrl+t")
        engine.write(numbered(rounds_of(SAMPLE)))
        engine.finish()
        await wait_until(pilot, lambda: session(pilot).current is None)
        view = views(pilot)[0].reply
        for turns_n in range(12):
            making = asyncio.create_task(view.show(ReplyFormat(marked=True), GhostMode.BRIEF))
            for _ in range(turns_n):
                await asyncio.sleep(0)
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
        await view.show(ReplyFormat(marked=True), GhostMode.BRIEF)
        await pilot.pause()
        text = "".join(piece.mapped.text for piece in markdown_of(pilot)._pieces or ())
        assert all(word in text for word in ONCE)


async def test_what_does_not_map_is_shown_as_tokens() -> None:
    """Once marks are asked for; without them it is Markdown like any other."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await reply(pilot, engine, "So &amp;&lt;&gt;&quot;&amp;&lt;&gt;&quot;.")
        await pilot.press("f2")
        await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.display)
        await press_until(pilot, MarkMode.OFF)
        await wait_until(pilot, lambda: not views(pilot)[0].reply.tokens.display)
        assert markdown_of(pilot).mode is MarkMode.OFF


async def test_a_reply_too_long_for_markdown_is_shown_as_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localspec.tui.conversation.reply_view.MARKDOWN_CHARACTERS", 10)
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("Longer than ten characters."))
        engine.finish()
        await wait_until(pilot, lambda: session(pilot).current is None)
        await pilot.press("f2", "f2")
        view = views(pilot)[0].reply
        await wait_until(pilot, lambda: view.tokens.display and view.tokens.mode is MarkMode.DRAFTER)
        assert not view.query(Markdown)


async def test_marks_stay_when_the_look_of_the_app_changes() -> None:
    """Another theme, which has code coloured anew, and the sign of a block of code that was gone to."""
    engine = LookingEngine()
    app = make_app(engine)
    app.theme = DARK.name
    async with app.run_test(size=SIZE) as pilot:
        await reply(pilot, engine)
        await press_until(pilot, MarkMode.ORIGIN)
        await marked(pilot, MarkMode.ORIGIN)
        dark = looks(pilot)
        app.theme = LIGHT.name
        await pilot.pause()
        await hold_still(pilot)
        light = looks(pilot)
        await pilot.press("alt+pageup")
        await pilot.pause()
        assert all(
            [cues for _, *cues in light[word]] == [cues for _, *cues in dark[word]] and light[word] != dark[word]
            for word in ONCE
        )
        assert looks(pilot) == light


async def test_links_and_selection_are_as_in_clean_markdown() -> None:
    engine = LookingEngine()
    async with make_app(engine).run_test(size=SIZE) as pilot:
        await reply(pilot, engine)
        markdown = markdown_of(pilot)
        blocks = [block for block in markdown.query(MarkdownBlock) if block._inline_token is not None]
        before = [block.get_selection(SELECT_ALL) for block in blocks]
        await pilot.press("f2")
        await marked(pilot, MarkMode.ORIGIN)
        assert [block.get_selection(SELECT_ALL) for block in blocks] == before
        drawn = [segment for y in range(blocks[1].size.height) for segment in blocks[1].render_line(y)]
        links = {segment.style.link for segment in drawn if segment.style and segment.style.link}
        clicks = {segment.style.meta.get("@click") for segment in drawn if segment.style}
        assert links == {"https://a.org/wood"}
        assert "link('https://a.org/wood')" in clicks


@pytest.mark.parametrize(
    ("lead", "rounds", "words"),
    [
        ("", ["<think>", "Hm **", "so", "</think>", "\n\n", "It ", "**is", "** so."], ["It ", "is", " so."]),
        ("# So", [" it", " *is*"], [" it", " is"]),
        ("<think>Hm.</thi", ["nk>", "Yes", "."], ["Yes", "."]),
        ("<think>Hm.</think>\nYe", ["s", " `it`"], ["s", " it"]),
    ],
)
async def test_tokens_are_counted_from_where_the_answer_begins(lead: str, rounds: list[str], words: list[str]) -> None:
    """Thoughts are cut off, and what was written before by somebody else is nobody's."""
    turn = Turn("?", lead=lead)
    turn.reply.receive(make_round(rounds, Origin.PLAIN))
    thought = Reasoning.find(turn.text)
    answer = turn.text[thought.end :].lstrip() if thought else turn.text
    palette = palette_for(Color.parse("#000000"), dark=True)
    markdown = MarkedMarkdown(lambda: palette, turn)

    class Alone(App[None]):
        def compose(self) -> ComposeResult:
            yield markdown

    async with Alone().run_test():
        await markdown.update(answer)
        assert await markdown.mark(MarkMode.ORIGIN)
        pieces = [(piece.mapped.text, run) for piece in markdown._pieces or () for run in piece.runs]
        assert [text[run.start : run.end] for text, run in pieces] == words
        assert [run.token for _, run in pieces] == list(range(len(rounds)))[-len(words) :]


async def test_a_reply_without_tokens_stays_clean() -> None:
    """Of a reply from elsewhere nothing is known that could be shown."""
    palette = palette_for(Color.parse("#000000"), dark=True)
    markdown = MarkedMarkdown(lambda: palette, Turn("?", lead="All **of** it"))

    class Alone(App[None]):
        def compose(self) -> ComposeResult:
            yield markdown

    async with Alone().run_test():
        await markdown.update("All **of** it")
        assert await markdown.mark(MarkMode.ORIGIN)
        assert markdown.mode is MarkMode.OFF
