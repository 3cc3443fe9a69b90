"""Images in the conversation and in the message being written, drawn as the terminal can."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from textual.pilot import Pilot

from localspec.chat.images.reading import read_image, read_pixels
from localspec.chat.pair_slot import Phase
from localspec.runtime.images import ImageReference, image_block
from localspec.runtime.worker.messages import Loaded
from localspec.tui.prompt.attached import Attached
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.terminal import graphics
from localspec.tui.theme import DARK, LIGHT
from localspec.tui.widgets import pictures
from localspec.tui.widgets.pictures import Pictures
from tests.tui.looks import LARGE, MEDIUM, hold_still
from tests.tui.prompt_app import PromptApp, paste
from tests.tui.support import INFO, FakeEngine, answer, chat, make_app, ready, say, session, views, wait_until

RED, BLUE = (200, 30, 10), (10, 30, 200)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    read_pixels.cache_clear()
    return tmp_path


def picture(folder: Path, width: int = 640, height: int = 480) -> ImageReference:
    """Red above blue."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (0, height // 2, width, height))
    image.save(folder / "flag.png")
    return read_image(folder / "flag.png", "flag.png")


SEES = replace(INFO, projector=Path("mmproj.gguf"))


async def drawn(pilot: Pilot[Any], engine: FakeEngine, *images: ImageReference) -> Pictures:
    """The images of a turn, once they are drawn or given up."""
    await ready(pilot, engine)
    await say(pilot, engine, "".join(image_block("flag.png", image) for image in images) + "What is this?", "A flag.")
    widget = views(pilot)[0].query_one(Pictures)
    await wait_until(pilot, lambda: len(widget._drawn) + len(widget._gone) == len(images))
    return widget


def colours(widget: Pictures, y: int) -> list[tuple[str, str]]:
    """The text and colours of a row, ``text`` and ``foreground on background``."""
    return [(text.strip(), str(style)) for text, style, _ in widget.render_line(y) if style and text.strip()]


async def test_half_blocks_stand_for_pixels(home: Path) -> None:
    """They need nothing but colours; the room is there before the image is read, so that nothing moves."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        widget = await drawn(pilot, engine, picture(home), picture(home, 16, 16))
        assert widget.size.height == 8
        red, icon = colours(widget, 0)
        assert (red, icon[0]) == (("▀" * 21, "#c81e0a on #c81e0a"), "▀▀")
        assert colours(widget, 7) == [("▀" * 21, "#0a1ec8 on #0a1ec8")]
        await pilot.resize_terminal(80, 60)
        await wait_until(pilot, lambda: widget.size.height == 12 and len(widget._drawn) == 2)
        assert colours(widget, 0)[0][0] == "▀" * 32


async def test_an_image_that_is_gone_takes_no_room(home: Path) -> None:
    engine = FakeEngine()
    image = picture(home)
    image.path.unlink()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        widget = await drawn(pilot, engine, image)
        await wait_until(pilot, lambda: widget.size.height == 0)


async def test_a_terminal_without_colours_shows_the_name_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.delenv("COLORTERM")
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, image_block("flag.png", picture(home)) + "What is this?", "A flag.")
        assert views(pilot)[0].query_one(Pictures).size.height == 0


async def test_kitty_gets_the_pixels_and_placeholders(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image goes to the terminal once, in pieces; what is drawn is text that passes the net under the screen."""
    written: list[str] = []
    monkeypatch.setattr(pictures, "terminal_write", lambda app, environ: written.append)
    monkeypatch.setenv("TERM", "xterm-kitty")
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        image = picture(home)
        widget = await drawn(pilot, engine, image)
        pieces = re.findall("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\", "".join(written))
        assert "".join(f"\x1b_G{what};{data}\x1b\\" for what, data in pieces) == "".join(written)
        number = graphics.image_number(image.sha256, 21, 8)
        assert pieces[0][0].startswith(f"a=T,U=1,f=24,o=z,s=210,v=160,i={number},c=21,r=8,q=2,m=")
        pixels = zlib.decompress(b64decode("".join(data for _, data in pieces)))
        assert (len(pixels), tuple(pixels[:3]), tuple(pixels[-3:])) == (210 * 160 * 3, RED, BLUE)
        row = widget.render_line(7)
        assert (row.cell_length, len(row.text.rstrip())) == (widget.size.width, 3 * 21)
        assert f"38;2;{number >> 16};{number >> 8 & 255};{number & 255}m{row.text.strip()}" in row.render(app.console)


async def test_an_image_is_seen_before_it_is_sent(home: Path) -> None:
    """Above its name, until it is taken off."""
    picture(home)
    app = PromptApp(home)
    async with app.run_test(size=(80, 24)) as pilot:
        widget = app.query_one(Pictures)
        assert not widget.display
        await paste(pilot, str(home / "flag.png"))
        await wait_until(pilot, lambda: widget._drawn)
        assert (widget.size.height, len(colours(widget, 0)[0][0])) == (4, 11)
        app.prompt.set_text("")
        await wait_until(pilot, lambda: not widget.display)


async def test_a_model_that_sees_nothing_is_named_before_the_image_is_sent(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    picture(home)
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, engine)
        await paste(pilot, "flag.png")
        row = chat(pilot).query_one(Attached)
        await wait_until(pilot, lambda: "640x480, which this model cannot see" in str(row.render()))
        engine.inbox.put(Loaded(SEES))
        await wait_until(pilot, lambda: "cannot see" not in str(row.render()))


@pytest.mark.parametrize(("size", "theme"), [(MEDIUM, DARK.name), (LARGE, LIGHT.name)])
def test_looks(
    snap_compare: Any, home: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], theme: str
) -> None:
    """A turn about an image, and another image in the message being written."""
    monkeypatch.chdir(home)
    picture(home).path.unlink()
    Image.new("RGB", (300, 400), BLUE).save(home / "sea.png")
    engine = FakeEngine()
    app = make_app(engine)

    async def attach(pilot: Pilot[Any], name: str, width: int) -> None:
        await paste(pilot, name)
        widget = chat(pilot).query_one(Prompt).query_one(Pictures)
        await wait_until(pilot, lambda: [image.width for image in widget._images] == [width])
        await wait_until(pilot, lambda: widget.display and set(widget._images) <= set(widget._drawn))

    async def play(pilot: Pilot[Any]) -> None:
        app.theme = theme
        engine.inbox.put(Loaded(SEES))
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        await attach(pilot, "flag.png", 640)
        await pilot.press(*"What is this?", "enter")
        await answer(pilot, engine, 0, "A flag.")
        widget = views(pilot)[0].query_one(Pictures)
        await wait_until(pilot, lambda: widget._drawn)
        await attach(pilot, "sea.png", 300)
        await pilot.press("x", "backspace")  # the cursor is seen after a key
        chat(pilot).query_one(Prompt).area.cursor_blink = True
        await hold_still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=play)
