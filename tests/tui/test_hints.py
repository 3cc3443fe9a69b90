"""Rows of keys: whatever keys there are, they name those and no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from localspec.chat.commands.command import key_label
from localspec.chat.commands.keymap import Keymap, resolve_keymap
from localspec.chat.commands.moving import HELP, QUIT
from localspec.chat.commands.places import known
from localspec.chat.markdown import Link
from localspec.chat.pair_slot import Phase
from localspec.chat.race import Race
from localspec.chat.tokens.marking import ReplyFormat
from localspec.chat.turn import Turn
from localspec.config import read_config
from localspec.engine.events import FinishReason
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.worker.messages import Failed
from localspec.store import Store
from localspec.tui.app import ChatApp
from localspec.tui.screens.help import HelpScreen
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.links import LinksScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.widgets.glossary import Glossary
from localspec.tui.widgets.key_row import Hint, KeyRow, fitting
from tests.config.support import configure
from tests.tui.pairs_support import shelf_of
from tests.tui.settings_support import chat_config
from tests.tui.stats_support import full_store
from tests.tui.support import (
    FakeEngine,
    answer,
    chat,
    hints,
    live_text,
    make_app,
    make_round,
    notice_text,
    prompt_of,
    ready,
    rounds_of,
    say,
    send,
    session,
    transcript_of,
    wait_until,
)

OLD = {key_label(key) for action in known().values() for key in action.keys.split(",")}
ARROWS = set("←→↑↓")


def new_keys() -> Iterator[str]:
    """Keys that no action has of itself, as many as are needed."""
    for modifier, number in product(
        ("ctrl+", "alt+", "ctrl+alt+", "ctrl+shift+", "alt+shift+", "super+", "ctrl+super+", "alt+super+"), range(1, 25)
    ):
        yield f"{modifier}f{number}"


NEW = dict(zip(known(), new_keys(), strict=False))
assert len(NEW) == len(known()), "every action has one"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[ChatApp]:
    """Every action has another key."""
    configure("[keys]\n" + "\n".join(f'{action} = "{key}"' for action, key in NEW.items()))
    keymap = resolve_keymap(read_config())
    assert not keymap.problems
    assert {key_label(key) for key in keymap.keys.values()}.isdisjoint(OLD)
    engine, store = FakeEngine(), full_store(tmp_path / "history.db")
    yield ChatApp(chat_config(), engine, engine.inbox, shelf_of(), count().__next__, store)
    store.close()


async def begin(app: ChatApp, pilot: Pilot[Any]) -> None:
    engine = session(pilot)._engine
    engine.load()
    await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)


async def prompt(app: ChatApp, pilot: Pilot[Any]) -> str:
    return "Hints"


async def turn(app: ChatApp, pilot: Pilot[Any]) -> str:
    await type_and_send(app, pilot)
    await pilot.press(NEW["previous"])
    return "Hints"


async def type_and_send(app: ChatApp, pilot: Pilot[Any]) -> None:
    await pilot.press("h", "i", NEW["send"])
    engine = session(pilot)._engine
    await wait_until(pilot, lambda: len(engine.prompts) == 1)
    engine.reply("Hello.")
    await wait_until(pilot, lambda: session(pilot).free)


async def conversations(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press(NEW["conversations"])
    return "#sidebar-keys"


async def pairs(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press(NEW["pairs"])
    return "#pairs-keys"


async def stats(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press(NEW["stats"])
    return "#stats-keys"


async def settings(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press(NEW["settings"])
    return "#settings-keys"


async def links(app: ChatApp, pilot: Pilot[Any]) -> str:
    app.push_screen(LinksScreen([Link("a page", "https://a.org")]))
    return "#links-keys"


async def race(app: ChatApp, pilot: Pilot[Any]) -> str:
    app.push_screen(RaceScreen(Race(lambda request: None, lambda: 1, "Hello", ReplyOptions(), 1), app._palette))
    return "#race-hints"


async def inspector(app: ChatApp, pilot: Pilot[Any]) -> str:
    turn = Turn("Hello")
    turn.reply.receive(make_round(["One", " two"]))
    app.push_screen(InspectorScreen(turn, session(pilot).token_queries, app._palette, ReplyFormat(), wake=lambda: None))
    return "#inspector-hints"


PLACES: tuple[Callable[[ChatApp, Pilot[Any]], Awaitable[str]], ...] = (
    *(prompt, turn, conversations, pairs, stats, settings, links, race, inspector),
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
async def test_no_row_names_a_key_that_was_changed(
    app: ChatApp, place: Callable[[ChatApp, Pilot[Any]], Awaitable[str]]
) -> None:
    """On every screen and list that has such a row; and the row is not empty."""
    async with app.run_test(size=(140, 40)) as pilot:
        await begin(app, pilot)
        row = await place(app, pilot)

        def words() -> set[str]:
            drawn = str(app.screen.query(row).only_one(Widget).render()) if app.screen.query(row) else ""
            return set(drawn.replace("/", " ").split())

        await wait_until(pilot, lambda: words() & {key_label(key) for key in NEW.values()})
        assert not words() & OLD
        assert not set("".join(words())) & ARROWS


async def busy(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press("h", "i", NEW["send"])
    await wait_until(pilot, lambda: not session(pilot).free)
    await pilot.press(NEW["previous"], NEW["delete"])
    return notice_text(pilot)


async def editing(app: ChatApp, pilot: Pilot[Any]) -> str:
    await type_and_send(app, pilot)
    await pilot.press(NEW["previous"], NEW["edit"])
    return notice_text(pilot)


async def tour(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press(NEW["tour"])
    return notice_text(pilot)


async def help_page(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press(NEW["help"])
    await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
    return " ".join(str(each.render()) for each in app.screen.query(Glossary))


@pytest.mark.parametrize("said", [busy, editing, tour, help_page], ids=lambda said: said.__name__)
async def test_no_sentence_names_a_key_that_was_changed(
    app: ChatApp, said: Callable[[ChatApp, Pilot[Any]], Awaitable[str]]
) -> None:
    """But for keys of the places where a sentence is about keys that nobody can change."""
    async with app.run_test(size=(140, 40)) as pilot:
        await begin(app, pilot)
        words = (await said(app, pilot)).replace(";", " ").replace(".", " ").split()
        assert set(words) & {key_label(key) for key in NEW.values()}
        assert not set(words) & {"Esc", "Enter", "Tab"}


async def search(app: ChatApp, pilot: Pilot[Any]) -> str:
    await pilot.press(NEW["search"])
    return "#search-keys"


async def help_and_back(app: ChatApp, pilot: Pilot[Any]) -> None:
    """By the key it has in the chat; and closed, the reader is where they were."""
    below = app.screen
    await pilot.press(NEW["help"])
    await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
    await pilot.press(NEW["help-close"])
    await wait_until(pilot, lambda: app.screen is below)


async def test_help_is_one_key_away(app: ChatApp) -> None:
    async with app.run_test(size=(140, 40)) as pilot:
        await begin(app, pilot)
        await help_and_back(app, pilot)


@pytest.mark.parametrize(
    "place",
    [pairs, stats, settings, search, links, race, inspector],
    ids=lambda place: place.__name__,
)
async def test_every_screen_has_help_one_key_away_and_a_click_on_its_last_key_leads_back(
    app: ChatApp, place: Callable[[ChatApp, Pilot[Any]], Awaitable[str]]
) -> None:
    """As from the chat; the click as the key itself does, on every screen that has such a row."""
    async with app.run_test(size=(140, 40)) as pilot:
        await begin(app, pilot)
        row = await place(app, pilot)
        await wait_until(pilot, lambda: app.screen.query(row) and str(app.screen.query_one(row, KeyRow).render()))
        await help_and_back(app, pilot)
        keys = app.screen.query_one(row, KeyRow)
        last_line = str(keys.render()).split("\n")[-1]
        await pilot.click(keys, offset=(keys.gutter.left + len(last_line) - 1, keys.size.height - 1))
        await wait_until(pilot, lambda: not app.screen.query(row))


async def test_a_click_on_a_key_of_the_list_of_conversations_does_what_the_key_does(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(140, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some.")
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query("#sidebar-keys"))
        keys = chat(pilot).query_one("#sidebar-keys", KeyRow)
        await wait_until(pilot, lambda: keys.size.height == 3)
        places = {
            word: (line.index(word), y)
            for y, line in enumerate(str(keys.render()).split("\n"))
            for word in line.split()
        }
        for word in ("pin", "close"):
            x, y = places[word]
            await pilot.click(keys, offset=(keys.gutter.left + x, y))
        await wait_until(pilot, lambda: not chat(pilot).query("#sidebar-keys"))
        (listed,) = store.conversations()
        assert listed.heading.pinned


async def test_keys_that_belong_together_are_clicked_apart(app: ChatApp) -> None:
    """The row of the inspector shows two keys with one word: each goes its own way."""
    async with app.run_test(size=(140, 40)) as pilot:
        await begin(app, pilot)
        row = await inspector(app, pilot)
        await wait_until(pilot, lambda: app.screen.query(row) and str(app.screen.query_one(row, KeyRow).render()))
        keys, screen = app.screen.query_one(row, KeyRow), app.screen
        assert isinstance(screen, InspectorScreen)
        before, after = (str(keys.render()).index(key_label(NEW[f"inspector-{way}"])) for way in ("left", "right"))
        await pilot.click(keys, offset=(keys.gutter.left + after, 0))
        await wait_until(pilot, lambda: screen.index == 1)
        await pilot.click(keys, offset=(keys.gutter.left + before, 0))
        await wait_until(pilot, lambda: screen.index == 0)


async def test_enter_in_a_filter_is_as_free_as_any_other_key(app: ChatApp) -> None:
    """The list of pairs is left by the key that takes one, and by no other."""
    async with app.run_test(size=(140, 40)) as pilot:
        await begin(app, pilot)
        await pilot.press(NEW["settings"])
        await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        await pilot.press(*"theme", "enter")
        await pilot.pause()
        assert "screen.theme" not in read_config().values
        await pilot.press(NEW["setting-change"])
        await wait_until(pilot, lambda: "screen.theme" in read_config().values)


def test_where_an_action_has_no_key_its_command_is_named_or_the_palette() -> None:
    keymap = Keymap({"stop": "", "pairs": "", "send": "f9"})
    assert keymap.worded("{send} or {pairs}") == "F9 or /pairs"
    assert keymap.worded("{stop} leaves it.") == "'stop' in the palette leaves it."


def test_an_action_without_a_key_is_in_no_row() -> None:
    help_key, quit_key = [("F1", HELP)], [("F2", QUIT)]
    pieces = fitting([Hint(help_key, "help"), Hint([], "nowhere"), Hint(quit_key, "")], 80)
    assert "".join(piece.text for piece in pieces) == "F1 help   F2"


async def test_the_row_of_keys_has_what_changes_the_chosen_turn(store: Store) -> None:
    """To go on where the reply ended early, and to another version where there is one; past the ends it is said."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(140, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some.")
        await pilot.press("alt+up")
        await wait_until(pilot, lambda: "e edit" in hints(pilot))
        assert "continue" not in hints(pilot)
        assert "version" not in hints(pilot)
        await pilot.press("alt+r")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        engine.start()
        engine.write(rounds_of("A few,")[:-1])
        engine.finish(FinishReason.CANCELLED)
        await wait_until(pilot, lambda: session(pilot).free)
        await pilot.press("alt+up")
        await wait_until(pilot, lambda: "c continue" in hints(pilot) and "←→ version" in hints(pilot))
        await pilot.press("right")
        await wait_until(pilot, lambda: "This is the last version." in notice_text(pilot))
        await pilot.press("left")
        await wait_until(pilot, lambda: "continue" not in hints(pilot) and "←→ version" in hints(pilot))
        await pilot.press("left")
        await wait_until(pilot, lambda: "This is the first version." in notice_text(pilot))


async def test_the_row_of_keys_follows_the_reply_of_the_chosen_turn(store: Store) -> None:
    """It ends while the turn is chosen, and then there is nothing to go on with."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(140, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Apples?")
        await wait_until(pilot, lambda: engine.prompts)
        await pilot.press("alt+up")
        await wait_until(pilot, lambda: "c continue" in hints(pilot))
        engine.reply("Some.")
        await wait_until(pilot, lambda: "continue" not in hints(pilot))
        assert "e edit" in hints(pilot)


async def test_the_row_of_keys_is_about_where_keys_go(store: Store) -> None:
    """With a turn chosen its keys count, until the reader writes; out of the prompt it is said how to go back."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some.")
        await pilot.press("alt+up")
        await wait_until(pilot, lambda: "e edit" in hints(pilot))
        await pilot.press("insert")
        await wait_until(pilot, lambda: prompt_of(pilot).area.has_focus)
        await pilot.press("e")
        assert prompt_of(pilot).text == "e"
        assert "Enter send" in hints(pilot)
        await pilot.press("f6")
        await wait_until(pilot, lambda: "e edit" in hints(pilot))
        assert "Insert goes back to the prompt." in notice_text(pilot)
        await pilot.press("escape")
        await wait_until(pilot, lambda: "Enter send" in hints(pilot) and prompt_of(pilot).area.has_focus)


async def click_on(pilot: Pilot[Any], selector: str, words: str) -> None:
    """Click on these words in a row of the chat."""
    row = chat(pilot).query_one(selector)
    await pilot.pause()
    await pilot.click(row, offset=(row.gutter.left + str(row.render()).index(words) + 1, 0))
    await pilot.pause()


async def test_a_click_on_a_hint_does_what_its_key_does() -> None:
    """In the prompt and with a turn chosen; the key of a turn need not be pressed twice then."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await pilot.press("h", "i")
        await click_on(pilot, "Hints", "Ctrl+J newline")
        assert prompt_of(pilot).text == "hi\n"
        await click_on(pilot, "Hints", "Enter send")
        await wait_until(pilot, lambda: engine.prompts)
        engine.reply("Hello.")
        await wait_until(pilot, lambda: session(pilot).last is not None and not session(pilot).busy)
        await click_on(pilot, "Hints", "F1 help")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press("escape", "alt+up")
        await click_on(pilot, "Hints", "yy copy")
        await wait_until(pilot, lambda: pilot.app.clipboard == "Hello.")
        await click_on(pilot, "Hints", "leave")
        assert transcript_of(pilot).selected is None


async def test_a_reply_that_failed_has_no_figures_and_nothing_to_copy() -> None:
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Hello")
        await wait_until(pilot, lambda: engine.prompts)
        engine.inbox.put(Failed(engine.prompts[-1].request_id, 7, "Too long.", "Shorten it."))
        await wait_until(pilot, lambda: session(pilot).free and live_text(pilot).startswith("ready"))
        await pilot.press("alt+up")
        assert "ee edit" in hints(pilot)
        assert "copy" not in hints(pilot)
        await pilot.press("alt+r")
        await answer(pilot, engine, 1, "Hello.")
        await pilot.press("alt+up")
        assert "yy copy" in hints(pilot)


async def test_a_click_on_the_way_to_the_newest_text_goes_there() -> None:
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 20)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", "Words. " * 400)
        await pilot.press("pageup")
        await wait_until(pilot, lambda: not transcript_of(pilot).following)
        await click_on(pilot, "#notice-cue", "new")
        await wait_until(pilot, lambda: transcript_of(pilot).following)
