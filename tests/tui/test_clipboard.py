"""Copying: by every way there is, and honest about where there is none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from localspec.tui import clipboard as clipboards
from localspec.tui.clipboard import Arrival, Clipboard, copied
from localspec.tui.screens.chat import COPIED
from localspec.tui.screens.links import copied_link
from localspec.tui.turn_notes import copied_note
from localspec.tui.widgets.prompt import Prompt
from tests.tui.support import FakeEngine, chat, make_app, notice_text, send, turns, wait_until
from tests.tui.test_conversations import ready, say

SEAT = {"DISPLAY": ":0", "TERM": "xterm-256color"}


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
    for what in (*COPIED.values(), "text"):
        assert all(len(copied_note("x" * 10**6, arrival, what)) <= 76 for arrival in Arrival), "it fits 80 columns"
    assert "https://a.org" in copied_link("https://a.org", Arrival.NOWHERE)


async def test_a_console_without_a_clipboard_offers_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the chat, too; the text was offered to the terminal all the same."""

    async def nowhere(app: object, text: str) -> Arrival:
        return seen_by({"TERM": "linux"}).take(text)

    monkeypatch.setattr("localspec.tui.screens.chat.copy", nowhere)
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", "Hi.")
        await pilot.press("alt+up", "y")
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
        view = turns(pilot)[0].reply
        await wait_until(pilot, lambda: view.tokens.display is tokens)
        place = view.tokens if tokens else chat(pilot).query_one("MarkdownParagraph")
        await pilot.mouse_down(place, offset=(5, 0))
        await pilot.hover(place, offset=(8, 0))
        await pilot.mouse_up(place, offset=(8, 0))
        assert chat(pilot).query_one(Prompt).area.has_focus
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: "The text is copied" in notice_text(pilot))
        assert (app.clipboard, given) == ("upon", ["upon"])
