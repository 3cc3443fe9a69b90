"""What one conversation sets for itself, by command and on the screen of settings; the others know nothing of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from localspec.base.errors import LocalSpecError, UsageError
from localspec.chat.commands.setup import PERSONA, SCHEMA, SET
from localspec.chat.commands.slash import command_parts, find_command
from localspec.chat.settings.browser import SettingsBrowser
from localspec.config import read_config, setting
from localspec.runtime.worker.messages import Load
from localspec.store import Store
from tests.config.support import add_persona
from tests.tui.settings_support import answer, chat_config, details, open_settings, rows, screen
from tests.tui.settings_support import said as said_there
from tests.tui.support import (
    Clock,
    FakeEngine,
    chat,
    make_app,
    notice_text,
    ready,
    say,
    send,
    session,
    views,
    wait_until,
)
from tests.tui.test_settings import controller

ANSWER = '{"type": "object", "properties": {"answer": {"type": "integer"}}}'


def app_of(engine: FakeEngine, store: Store, text: str = "", *arguments: str) -> Any:
    return make_app(engine, chat_config(f'{text}\n[screen]\npace = "full"\n', *arguments), Clock(), store)


async def command(pilot: Pilot[Any], text: str, answer: str) -> None:
    """Say a command, and wait for what it answers."""
    await send(pilot, text)
    await wait_until(pilot, lambda: answer in notice_text(pilot))


async def test_a_setting_is_for_this_conversation_and_kept_with_it(store: Store) -> None:
    """The next reply has it, a new conversation does not, and opening the first restores it."""
    engine = FakeEngine()
    async with app_of(engine, store, "[sampling]\ntemperature = 0.5\n").run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await command(pilot, "/set temperature 0.2", "Temperature is 0.2 in this conversation")
        await command(pilot, "/set seed 7", "Seed is 7")
        await say(pilot, engine, "One?", "One.")
        assert (engine.prompts[-1].options.sampling.temperature, engine.prompts[-1].options.seed) == (0.2, 7)
        first = session(pilot).thread.stored.id
        await command(pilot, "/set ", "This conversation sets seed 7, temperature 0.2")
        await pilot.press("ctrl+n")
        await say(pilot, engine, "Two?", "Two.")
        assert (engine.prompts[-1].options.sampling.temperature, engine.prompts[-1].options.seed) == (0.5, None)
        await command(pilot, "/set ", "no settings of its own")
    again = FakeEngine()
    async with app_of(again, store, "[sampling]\ntemperature = 0.5\n").run_test(size=(100, 30)) as pilot:
        await ready(pilot, again)
        await chat(pilot)._go_to(first)
        await say(pilot, again, "Three?", "Three.")
        assert (again.prompts[-1].options.sampling.temperature, again.prompts[-1].options.seed) == (0.2, 7)
        await command(pilot, "/unset temperature", "Temperature is 0.5 in all conversations")
        await command(pilot, "/unset all", "sets nothing for itself")
        assert dict(store.open_conversation(first).settings) == {}
        await say(pilot, again, "Four?", "Four.")
        assert (again.prompts[-1].options.sampling.temperature, again.prompts[-1].options.seed) == (0.5, None)


async def test_a_drafter_that_needs_another_file_has_it_loaded(store: Store) -> None:
    """And a conversation that chooses nothing has the pair's own draft back; other drafters need no loading."""
    engine = FakeEngine()

    def drafts() -> list[str]:
        files = [request.options.draft for request in engine.sent if isinstance(request, Load)]
        return [file.name for file in files if file]

    async with app_of(engine, store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await command(pilot, "/set spec suffix", "Spec is suffix")
        assert drafts() == []
        await command(pilot, "/set spec eagle3,suffix", "Spec is eagle3,suffix")
        await wait_until(pilot, lambda: drafts() == ["builtin-eagle3.gguf"])
        await ready(pilot, engine)
        await say(pilot, engine, "One?", "One.")
        assert engine.prompts[-1].options.spec == ("eagle3", "suffix")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: drafts() == ["builtin-eagle3.gguf", "builtin-draft.gguf"])
        await ready(pilot, engine)
        await say(pilot, engine, "Two?", "Two.")
        assert engine.prompts[-1].options.spec is None


async def test_opening_a_conversation_leaves_its_system_prompt(store: Store) -> None:
    """As it was said in it, whatever the file says now and another conversation's persona was."""
    add_persona("pirate.md", "Talk like a pirate.")
    old = store.begin("Be brief.")
    old.ask("Hello?")
    engine = FakeEngine()
    async with app_of(engine, store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await command(pilot, "/persona", "Personas: pirate; /persona NAME")
        await command(pilot, "/persona pirate", "pirate speaks")
        await command(pilot, "/persona", "Personas: pirate; pirate speaks here; /persona NAME")
        await say(pilot, engine, "One?", "One.")
        pirate = session(pilot).thread.stored
        assert pirate.system == "Talk like a pirate."
        await chat(pilot)._go_to(old.id)
        assert session(pilot).thread.stored.system == "Be brief."
        await command(pilot, "/set seed 7", "Seed is 7")
        assert session(pilot).thread.stored.system == "Be brief."
        await chat(pilot)._go_to(pirate.id)
        assert pirate.system == "Talk like a pirate."
        await command(pilot, "/unset persona", "Persona is as built in")
        assert pirate.system is None
        await pilot.press("ctrl+n")
        assert session(pilot).thread.stored.system is None


async def test_replies_are_held_to_a_schema(store: Store, tmp_path: Path) -> None:
    """The file may go: what it said is kept with the conversation."""
    path = tmp_path / "answer.json"
    path.write_text(ANSWER + "\n", encoding="utf-8")
    engine = FakeEngine()
    async with app_of(engine, store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await command(pilot, f"/schema {path}", "Json schema is")
        path.unlink()
        await say(pilot, engine, "One?", "{}")
        assert "answer" in str(engine.prompts[-1].options.sampling.grammar)
        assert session(pilot).thread.stored.settings == {"sampling.json_schema": ANSWER}
        await command(pilot, "/schema off", "from the next reply on")
        await say(pilot, engine, "Two?", "Two.")
        assert engine.prompts[-1].options.sampling.grammar is None
        await command(pilot, "/schema off", "no JSON Schema")
        await command(pilot, "/schema ", "/schema FILE")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/set temprature 1", "Did you mean temperature?"),
        ("/set temperature hot", "a number from 0"),
        ("/set temperature", ", recommended by the pair"),
        ("/set threads 4", "the same for all conversations"),
        ("/set theme dark", "the same for all conversations"),
        ("/set persona nobody", "persona"),
        ("/unset temperature", "does not set temperature"),
        ("/unset ", "/unset needs"),
        ("/schema nowhere.json", "cannot be read"),
        ("/set grammar root ::= Answer", "'Answer'"),
    ],
)
def test_what_cannot_be_set_is_told_and_nothing_changes(text: str, told: str) -> None:
    settings, held, _ = controller(chat_config(""))
    before, named = held.chat_config, find_command(text)
    assert named is not None
    with pytest.raises(LocalSpecError) as refused:
        answer(named, settings, command_parts(text)[1])
    assert told in str(refused.value)
    assert held.chat_config == before
    assert settings.own == {}


def test_a_value_may_begin_on_the_next_line() -> None:
    """As a system prompt of several lines is written."""
    settings, held, _ = controller(chat_config(""))
    answer(SET, settings, "system\nBe brief.\nBe kind.")
    assert held.chat_config.system == "Be brief.\nBe kind."


def test_a_schema_that_is_none_is_refused(tmp_path: Path) -> None:
    settings, _, _ = controller(chat_config(""))
    path = tmp_path / "schema.json"
    for text, told in (("{", "is no JSON"), ('{"type": "nonsense"}', "stays as it was")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(LocalSpecError) as refused:
            answer(SCHEMA, settings, str(path))
        assert told in str(refused.value)
        assert settings.own == {}


def test_the_command_line_beats_the_conversation() -> None:
    """And what it does not name holds."""
    settings, held, _ = controller(chat_config("", "--temperature", "0.9"))
    assert "The command line names temperature" in answer(SET, settings, "temperature 0.2")
    answer(SET, settings, "top_k 3")
    assert (held.chat_config.reply.sampling.temperature, held.chat_config.reply.sampling.top_k) == (0.9, 3)


def test_a_system_prompt_takes_the_place_of_a_persona() -> None:
    """Of two settings that exclude each other, the last counts."""
    add_persona("pirate.md", "Talk like a pirate.")
    settings, held, _ = controller(chat_config(""))
    answer(PERSONA, settings, "pirate")
    answer(SET, settings, "system Be brief.")
    assert held.chat_config.system == held.thread.stored.system == "Be brief."
    assert settings.own == {"reply.system": "Be brief."}


def test_a_change_of_the_file_leaves_it(store: Store) -> None:
    """What the conversation sets goes on to hold."""
    settings, held, _ = controller(chat_config("[sampling]\ntop_k = 9\n"))
    answer(SET, settings, "temperature 0.2")
    changed = chat_config("[sampling]\ntop_k = 5\ntemperature = 1\n").settings
    assert changed is not None
    settings.apply(changed.config)
    assert (held.chat_config.reply.sampling.temperature, held.chat_config.reply.sampling.top_k) == (0.2, 5)


async def test_the_screen_begins_with_the_conversation_asked_for(store: Store) -> None:
    """As it was set; the system prompt of the command line takes the place of its own."""
    stored = store.begin("Be brief.")
    stored.ask("One?")
    stored.set_settings({"reply.seed": 7})
    for arguments, system in (((), "Be brief."), (("--system", "Be loud."), "Be loud.")):
        engine = FakeEngine()
        made = replace(chat_config("", *arguments), conversation=stored.id)
        async with make_app(engine, made, Clock(), store).run_test(size=(100, 30)) as pilot:
            await wait_until(pilot, lambda: session(pilot).thread.stored.id == stored.id and views(pilot))
            await pilot.pause()
            assert session(pilot).chat_config.reply.seed == 7
            assert session(pilot).thread.stored.system == system


# The screen


async def test_the_scope_is_chosen_on_the_screen(store: Store) -> None:
    """A change for this conversation is not written to the file, and its row says whose it is.

    What the screen looks like has no scope.
    """
    engine = FakeEngine()
    async with app_of(engine, store, "[sampling]\ntop_k = 9\n").run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await open_settings(pilot, "top k")
        title = screen(pilot).query_one("#settings-title")
        assert str(title.render()) == "Settings for all"
        await pilot.press("ctrl+t", "ctrl+t")
        assert "this conversation" in str(title.render())
        await pilot.press("enter")
        screen(pilot).query_one("#settings-field", Input).value = "3"
        await pilot.press("enter")
        assert any(row.startswith("• top k") and " 3 " in row for row in rows(pilot))
        assert "by this conversation alone" in details(pilot)
        assert read_config().values == {"sampling.top_k": 9, "screen.pace": "full"}
        assert session(pilot).chat_config.reply.sampling.top_k == 3
        assert session(pilot).thread.stored.settings == {"sampling.top_k": 3}
        await pilot.press("ctrl+r")
        assert any(row.startswith("* top k") and " 9 " in row for row in rows(pilot))
        assert session(pilot).chat_config.reply.sampling.top_k == 9
        screen(pilot).query_one("#settings-filter", Input).value = "reduced motion"
        await pilot.pause()
        await pilot.press("enter")
        assert "the same for all conversations" in said_there(pilot)
        await pilot.press("ctrl+t", "ctrl+t", "enter")
        assert "the same for all pairs" in said_there(pilot)
        assert read_config().values == {"sampling.top_k": 9, "screen.pace": "full"}


def test_the_browser_without_a_conversation_has_but_the_file() -> None:
    settings = chat_config("").settings
    assert settings is not None
    browser = SettingsBrowser(settings)
    browser.turn_scope()
    browser.turn_scope()
    with pytest.raises(UsageError):
        browser.set(setting("temperature"), 1)
