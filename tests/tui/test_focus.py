"""What keys mean outside the prompt, and that nothing typed there is lost."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from localspec.chat.commands.keymap import resolve_keymap
from localspec.config import read_config
from localspec.tui.keys.bindings import textual_keymap
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.widgets.hints import Hints
from tests.config.support import configure
from tests.tui.support import FakeEngine, chat, make_app, notice_text, send, session, shown, views, wait_until


async def at_turn(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """One question, its reply, and that turn chosen."""
    engine.load()
    await send(pilot, "Tell me a story")
    engine.reply("Once: https://a.org.")
    await wait_until(pilot, lambda: engine.prompts and session(pilot).last is not None and not session(pilot).busy)
    await pilot.press("alt+up")
    await wait_until(pilot, lambda: chat(pilot).focused is None)


def written(pilot: Pilot[Any]) -> str:
    return chat(pilot).query_one(Prompt).text


MESSAGES = (
    "/import x.json",
    "how does it go on",
    "does this work",
    "don't",
    "write",
    "42?",
    "Hi",
    "can you go on",
    "yes, please",
    "ok",
    "use it",
    "edit it yourself",
    "Explain",
    "zero",
)


async def test_a_message_can_be_typed_while_a_turn_is_chosen() -> None:
    """From its first letter on, even if that is a key of the turn; the conversation stays as it is."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        await at_turn(pilot, engine)
        for text in MESSAGES:
            await write(pilot, text)
            assert len(views(pilot)) == 1, text
            assert len(engine.prompts) == 1, text
            chat(pilot).query_one(Prompt).set_text("")
            await pilot.press("alt+up")
            await wait_until(pilot, lambda: chat(pilot).focused is None)


async def write(pilot: Pilot[Any], text: str) -> None:
    """Type it in one burst, until all of it is in the prompt."""
    for letter in text:
        pilot.app.post_message(events.Key(_name(letter), letter))
    await wait_until(pilot, lambda: written(pilot) == text)


def _name(letter: str) -> str:
    names = {" ": "space", "/": "slash", ".": "full_stop", "'": "apostrophe", "?": "question_mark"}
    return names.get(letter, letter)


async def test_a_paste_goes_to_the_prompt() -> None:
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        await at_turn(pilot, engine)
        app.post_message(events.Paste("dd a paste"))
        await wait_until(pilot, lambda: written(pilot) == "dd a paste")
        assert len(views(pilot)) == 1


async def test_a_turn_is_deleted_by_a_key_pressed_twice_and_at_once_by_the_command() -> None:
    """The first time it says so; in between, another key takes that back."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        await at_turn(pilot, engine)
        await pilot.press("d")
        await wait_until(pilot, lambda: "d once more: delete. Any other letter" in notice_text(pilot))
        await pilot.press("alt+up", "d")
        await pilot.pause()
        assert len(views(pilot)) == 1
        await pilot.press("d")
        await wait_until(pilot, lambda: not views(pilot))
        await send(pilot, "/undo")
        await wait_until(pilot, lambda: len(views(pilot)) == 1)
        await send(pilot, "/delete")
        await wait_until(pilot, lambda: not views(pilot))
        assert not written(pilot)


async def test_a_letter_is_a_key_of_the_turn_when_it_is_pressed_twice() -> None:
    """The first time it says so, for it may begin a message."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        await at_turn(pilot, engine)
        await pilot.press("e")
        await wait_until(pilot, lambda: "e once more: edit. Any other letter is written" in notice_text(pilot))
        assert not written(pilot)
        await pilot.press("e")
        await wait_until(pilot, lambda: written(pilot) == views(pilot)[0].turn.prompt)


async def test_a_letter_acts_at_once_where_a_letter_goes_to_the_prompt() -> None:
    """With the keys of vim, messages are not begun by typing anything."""
    configure('[screen]\nkeymap = "vim"\n')
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        app.set_keymap(textual_keymap(resolve_keymap(read_config())))
        await at_turn(pilot, engine)
        await pilot.press("e")
        await wait_until(pilot, lambda: written(pilot) == views(pilot)[0].turn.prompt)


async def test_where_letters_act_a_change_does_not_lead_to_the_prompt() -> None:
    """A letter after it acts, too; who has changed something from the prompt writes on there."""
    configure('[screen]\nkeymap = "vim"\n')
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        app.set_keymap(textual_keymap(resolve_keymap(read_config())))
        await at_turn(pilot, engine)
        await pilot.press("d", "d")
        await wait_until(pilot, lambda: not views(pilot))
        await pilot.press("u")
        await wait_until(pilot, lambda: views(pilot))
        assert not written(pilot)
        await pilot.press("i")
        await send(pilot, "/delete")
        await wait_until(pilot, lambda: not views(pilot))
        await pilot.press("u")
        assert written(pilot) == "u"


async def test_who_comes_back_from_another_screen_is_at_the_turn_as_before() -> None:
    """The keys that are named are those that count."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        await at_turn(pilot, engine)
        for key in ("alt+l", "f5", "f1", "f9", "ctrl+p", "ctrl+l", "alt+s", "ctrl+s"):
            await pilot.press(key)
            await wait_until(pilot, lambda: app.screen is not chat(pilot))
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is chat(pilot))
            assert chat(pilot).query_one(Hints).chosen, key
            assert shown(pilot, "Hints").startswith("Alt+R answer again"), key
            assert "Esc leave" in shown(pilot, "Hints"), key
            assert chat(pilot).focused is None, key


@pytest.mark.parametrize("text", ["/new project", "/nonsense", "/system be short", "/help me"])
async def test_a_command_that_is_refused_stays_in_the_prompt(text: str) -> None:
    """With a space before it, it is a message."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        engine.load()
        await send(pilot, text)
        await wait_until(pilot, lambda: "With a space before the slash it is a message." in notice_text(pilot))
        assert written(pilot) == text
        assert not engine.prompts
        await pilot.press("home", "space", "enter")
        await wait_until(pilot, lambda: engine.prompts)
        assert engine.prompts[0].prompt[-1].content == text  # type: ignore[union-attr]
