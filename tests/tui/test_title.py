"""The terminal's title: the conversation's name while the chat is open, and what stood there before it after."""

from __future__ import annotations

import pytest

from localspec.chat.settings.preferences import preferences
from localspec.tui.terminal.title import LONGEST, TerminalTitle, terminal_write, titled
from tests.tui.settings_support import chat_config
from tests.tui.support import Clock, FakeEngine, chat, make_app, ready, say, session, wait_until

PACE = '[screen]\npace = "full"\n'


def test_a_title_is_kept_named_and_given_back() -> None:
    """The first time what stands there is put aside; the same name is not written twice."""
    written: list[str] = []
    title = TerminalTitle(written.append)
    for name in ("", "Sky", "Sky", "Sea"):
        title.show(name)
    title.end()
    title.end()
    assert written == [
        "\x1b[22;2t\x1b]2;LocalSpec\x07",
        "\x1b]2;Sky - LocalSpec\x07",
        "\x1b]2;Sea - LocalSpec\x07",
        "\x1b[23;2t",
    ]


@pytest.mark.parametrize("name", ["a\x07b", "a\x1b]0;b", "a\nb", "a\x9cb", "a\u202eb"])
def test_nothing_in_a_name_steers_the_terminal(name: str) -> None:
    assert titled(name).isprintable()
    assert titled(name).startswith("a ")


def test_a_long_name_is_cut() -> None:
    assert titled("word " * 50) == f"{('word ' * 50)[: LONGEST - 1].rstrip()}… - LocalSpec"


async def test_the_title_follows_the_conversation() -> None:
    """And goes when the setting says so."""
    written: list[str] = []
    engine = FakeEngine()
    app = make_app(engine, chat_config(PACE), Clock())
    async with app.run_test(size=(80, 24)) as pilot:
        assert terminal_write(app, {"TERM": "xterm"}) is None, "a test has no terminal"
        chat(pilot)._title = TerminalTitle(written.append)
        await ready(pilot, engine)
        await say(pilot, engine, "Why is the sky blue?", "Light.")
        await wait_until(pilot, lambda: written and "Why is the sky blue? - LocalSpec" in written[-1])
        session(pilot).thread.stored.rename("Sky")
        chat(pilot)._wake()
        assert "\x1b]2;Sky - LocalSpec\x07" in written[-1]
        await pilot.press("ctrl+n")
        assert "\x1b]2;LocalSpec\x07" in written[-1]
        chat(pilot).prefer(preferences(chat_config(f"{PACE}terminal_title = false\n").settings.config))  # type: ignore[union-attr]
        chat(pilot)._wake()
        assert written[-1] == "\x1b[23;2t"
    assert written.count("\x1b[23;2t") == 1
