"""Copying: by every way there is, and honest about where there is none."""

from __future__ import annotations

import asyncio
import sys
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.selection import SELECT_ALL
from textual.widgets import Static
from textual.widgets.text_area import Selection as TextSelection

from localspec.chat.commands.chat import CHAT
from localspec.tui.app import ChatApp
from localspec.tui.conversation.turn_notes import copied_note
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.links import LinksScreen, copied_link
from localspec.tui.screens.search import SearchScreen
from localspec.tui.terminal import clipboard as clipboards
from localspec.tui.terminal.clipboard import Arrival, Clipboard, copied, copy
from tests.tui.support import FakeEngine, chat, make_app, notice_text, ready, say, send, views, wait_until
from tests.tui.test_every_action import ELSEWHERE

OSC_52 = "\x1b]52;c;"
REPLY = "Once upon a time: https://a.org"
SEAT = {"DISPLAY": ":0", "TERM": "xterm-256color"}


def key_of(action: str) -> str:
    """The first of its keys."""
    return next(each.keys.split(",")[0] for each in CHAT.commands if each.id == action)


def seen_by(environ: Mapping[str, str], *programs: str, platform: str = "linux") -> Clipboard:
    return Clipboard(environ, platform, lambda name: f"/usr/bin/{name}" if name in programs else None)


@pytest.mark.parametrize(
    ("clipboard", "program"),
    [
        (seen_by(SEAT, "xclip", "xsel", "wl-copy"), "xclip"),
        (seen_by(SEAT, "xsel"), "xsel"),
        (seen_by({**SEAT, "WAYLAND_DISPLAY": "wayland-0"}, "xclip", "wl-copy"), "wl-copy"),
        (seen_by({}, "pbcopy", platform="darwin"), "pbcopy"),
        (seen_by({}, "xclip", "wl-copy"), None),
        (seen_by(SEAT), None),
        (seen_by({**SEAT, "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "xclip"), None),
        (seen_by({"SSH_TTY": "/dev/pts/0"}, "pbcopy", platform="darwin"), None),
    ],
)
def test_a_program_is_asked_where_it_keeps_the_readers_clipboard(clipboard: Clipboard, program: str | None) -> None:
    """It is installed, has a screen, and sits where the reader sits."""
    command = clipboard.program()
    assert (command[0] if command else None) == program


@pytest.mark.parametrize(
    ("environ", "arrival"),
    [
        ({"TERM": "xterm-256color"}, Arrival.PERHAPS),
        ({}, Arrival.PERHAPS),
        ({"TERM": "linux"}, Arrival.NOWHERE),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, Arrival.NOWHERE),
    ],
)
def test_without_a_program_it_is_up_to_the_terminal(environ: Mapping[str, str], arrival: Arrival) -> None:
    """Most may take it; some are known to take nothing."""
    assert seen_by(environ).take("text") is arrival


def as_program(monkeypatch: pytest.MonkeyPatch, code: str, *arguments: str) -> Clipboard:
    """A clipboard whose program is a line of Python."""
    command = (sys.executable, "-c", code, *arguments)
    monkeypatch.setattr(clipboards, "_PROGRAMS", (("DISPLAY", command),))
    return Clipboard({"DISPLAY": ":0", "TERM": "linux"}, "linux", lambda name: name)


def test_the_program_gets_the_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As UTF-8, whatever is in it."""
    code = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    monkeypatch.setattr(clipboards, "_TIMEOUT_S", 60.0)
    clipboard = as_program(monkeypatch, code, str(tmp_path / "taken"))
    assert clipboard.take("für\n漢\udcff") is Arrival.SURE
    assert (tmp_path / "taken").read_bytes() == "für\n漢?".encode()


def test_a_program_that_fails_is_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses, it hangs, or it cannot be started."""
    monkeypatch.setattr(clipboards, "_TIMEOUT_S", 60.0)
    assert as_program(monkeypatch, "raise SystemExit(1)").take("text") is Arrival.NOWHERE
    monkeypatch.setattr(clipboards, "_PROGRAMS", (("DISPLAY", ("/nonexistent/xclip",)),))
    assert Clipboard({"DISPLAY": ":0"}, "linux", lambda name: name).take("text") is Arrival.PERHAPS
    monkeypatch.setattr(clipboards, "_TIMEOUT_S", 0.01)
    assert as_program(monkeypatch, "import sys, time; time.sleep(60)").take("text") is Arrival.NOWHERE


def test_what_is_said_is_what_is_known() -> None:
    """And where the text may be lost, there is another way to it."""
    assert copied("It is copied", Arrival.SURE, "try /export") == "It is copied."
    assert copied("It is copied", Arrival.PERHAPS, "try /export").endswith("if it does not arrive, try /export.")
    nowhere = copied("It is copied", Arrival.NOWHERE, "try /export")
    assert nowhere.startswith("Nothing is copied")
    assert nowhere.endswith("try /export.")
    for what in ("reply", "code", "text"):
        assert all(len(copied_note("x" * 10**6, arrival, what)) <= 76 for arrival in Arrival), "it fits 80 columns"
    assert "https://a.org" in copied_link("https://a.org", Arrival.NOWHERE)


async def test_a_console_without_a_clipboard_offers_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the chat, too; the text was offered to the terminal all the same."""

    async def nowhere(app: object, text: str) -> Arrival:
        return seen_by({"TERM": "linux"}).take(text)

    monkeypatch.setattr("localspec.tui.controllers.reading.copy", nowhere)
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", "Hi.")
        await pilot.press("alt+up", "y", "y")
        await wait_until(pilot, lambda: "Nothing is copied" in notice_text(pilot))
        assert "try /export." in notice_text(pilot)


@pytest.mark.parametrize("tokens", [False, True], ids=["markdown", "tokens"])
async def test_what_is_marked_with_the_mouse_is_copied(tokens: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the terminal's own way and by the program, as a reply is; the prompt keeps the keys, and ghosts stay out."""
    given: list[str] = []

    def take(clipboard: Clipboard, text: str) -> Arrival:
        given.append(text)
        return Arrival.SURE

    monkeypatch.setattr(Clipboard, "take", take)
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(100, 30)) as pilot:
        monkeypatch.setattr(type(app), "is_headless", False)
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", "Once upon a time.")
        if tokens:
            await send(pilot, "/tokens")
            await pilot.press("f4")
        view = views(pilot)[0].reply
        await wait_until(pilot, lambda: view.tokens.display is tokens)
        place = view.tokens if tokens else chat(pilot).query_one("MarkdownParagraph")
        await pilot.mouse_down(place, offset=(5, 0))
        await pilot.hover(place, offset=(8, 0))
        await pilot.mouse_up(place, offset=(8, 0))
        assert chat(pilot).query_one(Prompt).area.has_focus
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: "The text is copied" in notice_text(pilot))
        assert (app.clipboard, given) == ("upon", ["upon"])


@dataclass
class Taken:
    """What went each of the two ways."""

    program: list[str] = field(default_factory=list)
    terminal: list[str] = field(default_factory=list)


def watch(app: ChatApp, monkeypatch: pytest.MonkeyPatch) -> Taken:
    """Both ways of a running app, with a program that takes everything."""
    taken = Taken()

    def take(clipboard: Clipboard, text: str) -> Arrival:
        taken.program.append(text)
        return Arrival.SURE

    def write(data: str) -> None:
        if data.startswith(OSC_52):
            taken.terminal.append(b64decode(data.removeprefix(OSC_52).rstrip("\a")).decode())

    monkeypatch.setattr(Clipboard, "take", take)
    monkeypatch.setattr(ChatApp, "is_headless", False)
    monkeypatch.setattr(app._driver, "write", write)
    return taken


async def in_prompt(pilot: Pilot[Any]) -> str:
    area = chat(pilot).query_one(Prompt).area
    area.text = "some words"
    area.selection = TextSelection((0, 0), (0, 4))
    await pilot.press("ctrl+c")
    return "some"


async def cut_in_prompt(pilot: Pilot[Any]) -> str:
    chat(pilot).query_one(Prompt).area.text = "a line"
    await pilot.press("ctrl+x")
    return "a line"


async def in_field(pilot: Pilot[Any]) -> str:
    await pilot.press(key_of("search"))
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
    await pilot.press(*"fox", "shift+home", "ctrl+c")
    return "fox"


async def reply_by_command(pilot: Pilot[Any]) -> str:
    await send(pilot, "/copy")
    return REPLY


async def reply_by_mouse(pilot: Pilot[Any]) -> str:
    place = chat(pilot).query_one("MarkdownParagraph")
    await pilot.mouse_down(place, offset=(0, 0))
    await pilot.hover(place, offset=(3, 0))
    await pilot.mouse_up(place, offset=(3, 0))
    await pilot.press("ctrl+c")
    return REPLY[:4]


async def link(pilot: Pilot[Any]) -> str:
    await pilot.press(key_of("links"))
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))
    await pilot.press("enter")
    return "https://a.org"


def on_screen(name: str) -> Callable[[Pilot[Any]], Awaitable[str]]:
    """What is marked there, by Textual's own key."""

    async def mark(pilot: Pilot[Any]) -> str:
        await send(pilot, f"/{name}")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ELSEWHERE[name]))
        screen = pilot.app.screen
        await wait_until(pilot, lambda: _marked(screen))
        text = _marked(screen)
        await pilot.press("ctrl+c")
        return text

    mark.__name__ = name
    return mark


def _marked(screen: Screen[Any]) -> str:
    """The first text there is."""
    for widget in screen.query(Static):
        screen.selections = {widget: SELECT_ALL}
        if text := screen.get_selected_text():
            return text
    return ""


SCREENS = [name for name, kind in ELSEWHERE.items() if issubclass(kind, Screen) and name != "palette"]
"""The search of commands is Textual's own, and has no text to mark but in its line."""
WAYS = (in_prompt, cut_in_prompt, in_field, reply_by_command, reply_by_mouse, link, *map(on_screen, SCREENS))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_whatever_is_copied_goes_each_way_once(
    way: Callable[[Pilot[Any]], Awaitable[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the program and to the terminal, from every screen, by our keys and by Textual's."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", REPLY)
        await wait_until(pilot, lambda: not views(pilot)[0].reply.tokens.display)
        taken = watch(app, monkeypatch)
        text = await way(pilot)
        await wait_until(pilot, lambda: taken.program)
        assert await app.copier.arrival() is Arrival.SURE
        assert taken == Taken([text], [text])


async def test_what_was_copied_last_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is slow with one text is not overtaken by the next; and nothing at all is not copied."""
    first_may_end = Event()
    app = make_app(FakeEngine())
    async with app.run_test():
        taken = watch(app, monkeypatch)

        def take(clipboard: Clipboard, text: str) -> Arrival:
            if text == "first":
                first_may_end.wait(60)
            taken.program.append(text)
            return Arrival.SURE

        monkeypatch.setattr(Clipboard, "take", take)
        for text in ("first", "second", ""):
            app.copy_to_clipboard(text)
        waiting = asyncio.create_task(copy(app, "third"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not taken.program
        first_may_end.set()
        assert await waiting is Arrival.SURE
        assert taken == Taken(["first", "second", "third"], ["first", "second", "third"])
