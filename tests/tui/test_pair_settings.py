"""What is set for one pair alone: seen and changed on the screen, by a command, and in force with its pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from localspec.base.errors import UsageError
from localspec.chat.commands.setup import SET, UNSET
from localspec.chat.pairs.source import LocalPairs
from localspec.chat.settings.browser import SETTING, SettingsBrowser
from localspec.config import config_file, read_config, setting
from localspec.models.pairs.user_pairs import own_file
from localspec.runtime.chat_config import Layer
from localspec.store import Store
from localspec.tui.widgets.key_row import KeyRow
from tests.config.support import configure
from tests.tui.settings_support import answer, chat_config, details, open_settings, rows, said, screen
from tests.tui.support import Clock, FakeEngine, make_app, notice_text, ready, say, send, session, wait_until
from tests.tui.test_settings import browser, controller

TEXT = "[speculation]\ndepth = 5\n\n[pair.builtin]\ndepth = 6\ntemperature = 0.1\n"


def app_of(engine: FakeEngine, store: Store, text: str = TEXT, *arguments: str) -> Any:
    return make_app(engine, chat_config(f'{text}\n[screen]\npace = "full"\n', *arguments), Clock(), store)


def rows_of(listed: SettingsBrowser) -> dict[str, str]:
    return {row.id: "".join(text for text, _ in row.parts) for row in listed.rows(90) if row.kind == SETTING}


# The list


def test_a_row_says_that_a_value_is_the_pairs() -> None:
    """By a mark; and below it what is set for all."""
    listed = browser(TEXT + "[sampling]\ntop_k = 3\n")
    texts = rows_of(listed)
    assert texts["speculation.depth"].startswith("+ depth")
    assert texts["sampling.temperature"].startswith("+ temperature")
    assert texts["sampling.top_k"].startswith("* top k")
    assert listed.source(setting("depth")) == "for this pair, line 5 of config.toml"
    assert listed.heading == "2 set, 2 for this pair"
    listed.text = "for this pair"
    assert set(rows_of(listed)) == {"speculation.depth", "sampling.temperature"}
    listed.mark("speculation.depth")
    assert any(
        "6, for this pair, line 5 of config.toml; for all 5; built in: auto" in text for text, _ in listed.details()
    )


def test_what_is_displaced_is_not_said_to_count() -> None:
    """The pair's preset leaves no place for a temperature that is set for all."""
    listed = browser("[sampling]\ntemperature = 0.5\n[pair.builtin]\npreset = 'creative'\n")
    assert "1.2, by the preset" in rows_of(listed)["sampling.temperature"]
    listed.set(setting("temperature"), 0.7)
    assert "another setting takes its place" in listed.describe_change(setting("temperature"), "Ctrl+L")


def test_the_command_line_beats_the_table_of_the_pair() -> None:
    listed = browser(TEXT, "--depth", "2")
    assert rows_of(listed)["speculation.depth"].startswith("› depth")
    listed.turn_scope()
    listed.set(setting("depth"), 7)
    assert listed.describe_change(setting("depth"), "") == "depth: 7 for this pair; the command line beats it."
    assert read_config().of_pair("builtin")["speculation.depth"] == 7


def test_scopes_go_round() -> None:
    """All, this pair, this conversation; there is no pair where files are named."""
    listed = browser(TEXT)
    assert [listed.scope, listed.next_scope] == [Layer.ALL, Layer.PAIR]
    words = [listed.turn_scope() for _ in range(3)]
    assert words[0] == "What you change is for this pair alone."
    assert words[2] == "What you change is for all conversations."
    of_files = browser(TEXT, "--target", "big.gguf", "--draft", "small.gguf")
    assert of_files.next_scope is Layer.CONVERSATION
    assert rows_of(of_files)["speculation.depth"].startswith("* depth")


def test_a_change_says_who_else_has_its_own() -> None:
    listed = browser(TEXT)
    listed.set(setting("depth"), 4)
    assert listed.describe_change(setting("depth"), "") == "depth: 4 in the file; this pair has its own."
    listed.turn_scope()
    assert listed.is_set(setting("depth"))
    listed.set(setting("depth"), None)
    assert listed.describe_change(setting("depth"), "") == "depth: as for all pairs; applies with the next reply."
    assert not listed.is_set(setting("depth"))
    with pytest.raises(UsageError, match="the same for all pairs"):
        listed.set(setting("theme"), "dark")


def test_a_contradiction_in_the_table_of_the_pair_is_listed() -> None:
    listed = browser("[pair.builtin]\ndry_base = 2\n")
    assert [(problem.line, problem.what.partition(":")[0]) for problem in listed.problems] == [
        (2, "pair.builtin.dry_base")
    ]


# In force


def test_the_table_of_another_pair_is_in_force_with_it(tmp_path: Path) -> None:
    """When the app goes over to it, and comes back; so are changes of the file."""
    mine_is_a_pair(tmp_path)
    text = "[reply]\nsystem = 'Be brief.'\n[pair.builtin]\ndepth = 6\n[pair.mine]\nseed = 7\nsystem = 'Be loud.'\n"
    made = chat_config(text)
    settings, held, _ = controller(made)
    assert made.settings is not None
    world = LocalPairs(made.settings)
    held.switch(settings.for_conversation(world.chat_config("mine")))
    assert (held.chat_config.pair_id, held.chat_config.reply.seed, held.thread.stored.system) == ("mine", 7, "Be loud.")
    listed = settings.open()
    assert listed.source(setting("seed")).startswith("for this pair")
    listed.turn_scope()
    settings.apply(listed.set(setting("seed"), 8))
    assert held.chat_config.reply.seed == 8
    assert read_config().of_pair("mine")["reply.seed"] == 8
    held.switch(settings.for_conversation(world.chat_config("builtin")))
    assert held.chat_config.reply.seed is None
    assert held.chat_config.reply.depth == 6
    assert held.thread.stored.system == "Be brief."


def mine_is_a_pair(folder: Path) -> None:
    """Of files that nobody opens."""
    for name in ("big", "small"):
        (folder / f"{name}.gguf").touch()
    own_file().parent.mkdir(parents=True, exist_ok=True)
    own_file().write_text(
        f'[[pairs]]\nid = "mine"\ntitle = "Mine"\n[pairs.target]\nfile = "{folder / "big.gguf"}"\n'
        f'[pairs.draft]\nfile = "{folder / "small.gguf"}"\n'
    )


def test_changes_count_for_the_pair_in_use_though_the_file_names_another() -> None:
    """That one is for later; until it is loaded, replies follow what is set for all and for this one."""
    settings, held, _ = controller(chat_config(TEXT))
    configure('[model]\npair = "smollm2-1.7b"\n[pair.builtin]\ndepth = 2\n[pair."smollm2-1.7b"]\ndepth = 9\n')
    settings.apply(read_config())
    assert (held.chat_config.pair_id, held.chat_config.reply.depth) == ("builtin", 2)
    assert "0.3" in answer(SET, settings, "temperature 0.3")
    assert (held.chat_config.pair_id, held.chat_config.reply.sampling.temperature) == ("builtin", 0.3)


def test_a_conversation_beats_the_pair() -> None:
    settings, held, _ = controller(chat_config(TEXT))
    answer(SET, settings, "depth 3")
    assert held.chat_config.reply.depth == 3
    assert answer(UNSET, settings, "depth") == "Depth is 6 with builtin, from the next reply on."
    assert held.chat_config.reply.depth == 6


def test_a_command_sets_for_the_pair() -> None:
    """It is written to the file; what contradicts the rest is refused, and the file is as it was."""
    settings, held, _ = controller(chat_config(TEXT))
    assert answer(SET, settings, "pair top_k 3") == (
        "Top k is 3 for builtin, in config.toml; applies with the next reply."
    )
    assert held.chat_config.reply.sampling.top_k == 3
    assert not settings.own
    before = config_file().read_text()
    with pytest.raises(UsageError, match="stays as it was"):
        answer(SET, settings, "pair dry_base 2")
    assert config_file().read_text() == before
    for wrong in ("pair theme dark", "pair nothing 3", "pair depth 99", "pair depth"):
        with pytest.raises(UsageError):
            answer(SET, settings, wrong)
    assert "no longer set for builtin" in answer(UNSET, settings, "pair top_k")
    assert held.chat_config.reply.sampling.top_k != 3
    with pytest.raises(UsageError, match="Nothing sets"):
        answer(UNSET, settings, "pair top_k")
    assert config_file().read_text() == TEXT
    assert "loaded again" in answer(SET, settings, "pair ctx 512")
    assert settings.to_load().load.n_ctx == 512


def test_a_refused_value_leaves_every_byte_of_the_file() -> None:
    """Also a mistake in its place."""
    text = "[pair.builtin]\ndry_base = 0.5  # mine\n"
    settings, _, _ = controller(chat_config(text))
    with pytest.raises(UsageError, match="stays as it was"):
        answer(SET, settings, "pair dry_base 2")
    assert config_file().read_text() == text


def test_files_have_no_table() -> None:
    settings, _, _ = controller(chat_config(TEXT, "--target", "big.gguf", "--draft", "small.gguf"))
    with pytest.raises(UsageError, match="are not a pair"):
        answer(SET, settings, "pair depth 3")


# The screen


async def test_the_pair_is_a_scope_on_the_screen(store: Store) -> None:
    """A change is written to its table, in force at once, and taken back with a key."""
    engine = FakeEngine()
    async with app_of(engine, store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await open_settings(pilot, "depth")
        await pilot.press("ctrl+t")
        assert str(screen(pilot).query_one("#settings-title").render()) == "Settings for this pair, builtin"
        await pilot.press("enter")
        assert screen(pilot).query_one("#settings-field", Input).value == "6"
        await pilot.press("backspace", "7", "enter")
        assert "depth: 7; applies with the next reply" in said(pilot)
        assert any(row.startswith("+ depth") and " 7 " in row for row in rows(pilot))
        assert "[pair.builtin]\ndepth = 7\n" in config_file().read_text()
        assert session(pilot).chat_config.reply.depth == 7
        await pilot.press("ctrl+r")
        assert "line 2 of config.toml" in details(pilot)
        assert session(pilot).chat_config.reply.depth == 5


async def test_what_is_the_same_for_all_pairs_is_not_offered_for_one(store: Store) -> None:
    """Neither the next value nor a field; the reason is told before anything is typed."""
    engine = FakeEngine()
    async with app_of(engine, store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await open_settings(pilot, "theme")

        def keys() -> str:
            return str(screen(pilot).query_one("#settings-keys", KeyRow).render())

        async def filtered(text: str) -> None:
            screen(pilot).query_one("#settings-filter", Input).value = text
            await pilot.pause()

        assert "Enter next value" in keys()
        await pilot.press("ctrl+t")
        assert "Enter" not in keys()
        await filtered("max mb")
        assert "Enter" not in keys()
        await pilot.press("enter")
        assert "Max mb is the same for all pairs. Change the scope." in said(pilot)
        assert not screen(pilot).has_class("-changing")
        await filtered("depth")
        assert "Enter change" in keys()


async def test_the_command_in_the_chat(store: Store) -> None:
    """The next reply has it, and a new conversation too."""
    engine = FakeEngine()
    async with app_of(engine, store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "/set pair seed 7")
        await wait_until(pilot, lambda: "Seed is 7 for builtin" in notice_text(pilot))
        await pilot.press("ctrl+n")
        await say(pilot, engine, "One?", "One.")
        assert (engine.prompts[-1].options.seed, engine.prompts[-1].options.depth) == (7, 6)
