"""The table of actions, and that everything made from it agrees."""

from __future__ import annotations

import pytest
from textual.binding import Binding
from textual.command import CommandInput, CommandList
from textual.events import Paste
from textual.widgets import Input
from textual.worker import WorkerFailed

from localspec.base.visible import capitalised
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import key_label
from localspec.chat.commands.places import PLACES
from localspec.config import SETTINGS, read_config
from localspec.tui.keys.bindings import prompt_bindings, screen_bindings
from localspec.tui.keys.handling import marked_methods
from localspec.tui.prompt.area import PromptArea
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.approval import ApprovalScreen
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.commands import ActionCommands, CommandSearch, settings_called
from localspec.tui.screens.form import FormScreen
from localspec.tui.screens.help import HelpScreen
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.links import LinksScreen
from localspec.tui.screens.model_files import ModelFilesScreen
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.screens.search import SearchScreen
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.screens.stats import StatsScreen
from localspec.tui.screens.tools import ToolsScreen
from localspec.tui.widgets.sidebar import Sidebar
from tests.tui.cells import text
from tests.tui.support import FakeEngine, chat, make_app, notice_text, send, wait_until


def test_names_and_keys_are_unique() -> None:
    """No two actions share an id, a key or a command."""
    keys = [key for action in CHAT.commands for key in action.keys.split(",")]
    commands = [action.slash for action in CHAT.commands if action.slash]
    for names in ([action.id for action in CHAT.commands], keys, commands):
        assert len(names) == len(set(names))


def test_every_action_is_bound_with_id_and_tooltip() -> None:
    """So that keys can be changed by id, and help can be generated."""
    both = (*screen_bindings(), *prompt_bindings())
    bindings = {binding.id: binding for binding in both if isinstance(binding, Binding)}
    assert set(bindings) == {action.id for action in CHAT.commands}
    assert all(binding.tooltip and binding.description for binding in bindings.values())


async def test_every_command_has_one_handler() -> None:
    """The chat screen, the app, the prompt or a screen of its own handles it, and nothing handles what is not there."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        area = chat(pilot).query_one(Prompt).area
        handled = [*chat(pilot).handlers, *app.handlers, *area.handlers]
    assert sorted(handled) == sorted(command.id for command in CHAT.commands)
    classes = (InspectorScreen, RaceScreen, LinksScreen, ApprovalScreen, ToolsScreen, FormScreen)
    others = (
        Sidebar,
        PairsScreen,
        ModelFilesScreen,
        SearchScreen,
        CommandSearch,
        StatsScreen,
        SettingsScreen,
        HelpScreen,
    )
    for kind, place in zip((*classes, *others), PLACES[1:], strict=True):
        assert sorted(name for name, _, _ in marked_methods(kind)) == sorted(
            command.id for command in place.commands
        ), place.title


async def test_the_palette_of_commands_offers_the_table() -> None:
    """Every action that makes sense without a key, in the order of the help page."""
    app = make_app(FakeEngine())
    async with app.run_test():
        titles = [hit.text async for hit in ActionCommands(app.screen).discover()]
    assert titles == [capitalised(action.title) for action in CHAT.commands if action.in_palette]
    assert "JSON Schema" in titles


async def test_the_palette_can_be_closed_and_opened_at_once() -> None:
    """By two quick keys; the one before is still on its way out."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        app.action_command_palette()
        await pilot.pause()
        app.screen.dismiss()
        app.action_command_palette()
        app.action_command_palette()
        await pilot.pause()
        assert [type(screen) for screen in app.screen_stack] == [ChatScreen, CommandSearch]


async def test_a_command_takes_two_rows_of_the_palette_and_its_key_is_never_cut_off() -> None:
    """However narrow the terminal is."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(50, 20)) as pilot:
        await pilot.press("ctrl+p")
        offered = [command for command in CHAT.commands if command.in_palette]
        await wait_until(pilot, lambda: app.screen.query_one(CommandList).option_count == len(offered))
        await wait_until(pilot, lambda: app.screen.query_one(CommandList).virtual_size.height == 2 * len(offered))
        first, second = offered[:2]
        assert f"  {key_label(first.keys)}  {first.help}"[:30] in text(app)
        assert f"  {key_label(second.keys)}  {second.help}"[:30] in text(app)


async def test_above_another_screen_the_palette_offers_what_is_not_the_chats_alone() -> None:
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: isinstance(app.screen, StatsScreen))
        offered = {command.title for command in app.get_system_commands(app.screen)}
    assert offered == {
        capitalised(action.title) for action in CHAT.commands if action.in_palette and action.id in app.handlers
    }


async def test_an_action_of_the_chat_is_done_by_the_chat_whatever_came_on_top_meanwhile() -> None:
    """The figures have an action of the same name, which takes something else."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        commands = {command.title: command.callback for command in app.get_system_commands(app.screen)}
        area = app.focused
        assert area is not None
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: isinstance(app.screen, StatsScreen))
        again = next(action for action in CHAT.commands if action.id == "again")
        await commands[capitalised(again.title)]()
        assert "Nothing has been said yet" in notice_text(pilot)
        chat(pilot).say("")
        assert isinstance(area, PromptArea)
        await area.run_command(again)
        assert "Nothing has been said yet" in notice_text(pilot)


async def test_commands_about_a_reply_say_that_there_is_none_yet() -> None:
    """And nothing about "this reply"."""
    async with make_app(FakeEngine()).run_test() as pilot:
        for command in ("again", "calls", "code", "continue", "copy", "links", "passages", "thoughts"):
            chat(pilot).say("")
            await send(pilot, f"/{command}")
            assert "Nothing has been said yet." in notice_text(pilot), command


def test_keys_are_written_as_people_write_them() -> None:
    """The first key of an action is the one shown."""
    assert key_label("ctrl+j,shift+enter") == "Ctrl+J"
    assert key_label("escape") == "Esc"
    assert key_label("f1") == "F1"


async def test_a_page_pasted_into_the_search_of_commands_is_left_out() -> None:
    """It would be compared with every command, anew after each letter behind it."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        app.action_command_palette()
        await wait_until(pilot, lambda: isinstance(app.focused, CommandInput))
        app.post_message(Paste("fox " * 1000))
        app.post_message(Paste("help"))
        search = app.screen.query_one(CommandInput)
        await wait_until(pilot, lambda: search.value == "help")


async def test_a_search_begun_by_the_last_key_ends_nothing() -> None:
    """The screen is being taken away, and the list in which it would show what it finds is gone."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        app.action_command_palette()
        await pilot.pause()
        search = app.screen
        assert isinstance(search, CommandSearch)
        for commands in search.query(CommandList):
            await commands.remove()
        worker = search._gather_commands("e")
        with pytest.raises(WorkerFailed, match="CommandList"):
            await worker.wait()
        await pilot.pause()
        assert app.failure is None
        assert app.is_running


async def test_another_mistake_of_the_search_ends_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sentence and a log, as everywhere."""

    def mistaken(self: CommandSearch, value: str) -> None:
        raise ValueError("a mistake")

    app = make_app(FakeEngine())
    with pytest.raises(ValueError, match="a mistake"):  # noqa: PT012 - the app raises it as it ends
        async with app.run_test() as pilot:
            monkeypatch.setattr(CommandSearch, "_search_for", mistaken)
            app.action_command_palette()
            await pilot.pause()
            await pilot.press("e")
            await pilot.pause()
    assert isinstance(app.failure, ValueError)


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (40, 10)])
async def test_the_highlighted_command_stays_on_the_screen(size: tuple[int, int]) -> None:
    """However low that is, and however far down the list it is."""
    app = make_app(FakeEngine())
    async with app.run_test(size=size) as pilot:
        app.action_command_palette()
        await wait_until(pilot, lambda: len(app.screen.query(CommandList)) == 1)
        found = app.screen.query_one(CommandList)
        await wait_until(pilot, lambda: found.option_count > size[1])
        for keys in (["down"] * 12, ["pagedown"] * 2, ["ctrl+end"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert app.screen.region.contains_region(found.region)


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("download", "Pairs"),
        ("model", "Pairs"),
        ("load", "Pairs"),
        ("keys", "Help"),
        ("history", "Conversations"),
        ("retry", "Answer again"),
        ("theme", "Theme"),
        ("configure", "Settings"),
        ("creativity", "Setting: temperature"),
        ("context len", "Setting: ctx"),
    ],
)
async def test_the_palette_finds_commands_by_other_words(typed: str, title: str) -> None:
    """The best that is found is what people call so."""
    app = make_app(FakeEngine())
    async with app.run_test():
        provider = ActionCommands(app.screen)
        hits = [hit async for hit in provider.search(typed)]
    assert str(max(hits, key=lambda hit: hit.score).text).partition(" (")[0] == title


async def test_a_setting_in_the_palette_opens_the_settings_at_it() -> None:
    """With the filter that /settings and a word sets."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        (hit,) = [hit async for hit in ActionCommands(app.screen).search("creativity")]
        await hit.command()
        await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        assert app.screen.query_one("#settings-filter", Input).value == "temperature"


def test_other_words_for_settings_find_them() -> None:
    """Each word declared is found by its beginning, and none is there twice for one setting."""
    for each in SETTINGS:
        assert len(set(each.also)) == len(each.also)
        for word in each.also:
            assert each in [found for found, _ in settings_called(word)], word


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/set temperature hot", "'hot'"),
        ("/set temprature 1", "temprature"),
        ("/unset temprature", "temprature"),
        ("/persona nobody", "no persona"),
        ("/schema nothing.json", "nothing.json"),
        ("/theme nonsense", "high-contrast"),
    ],
)
async def test_a_command_with_a_wrong_argument_stays_in_the_prompt(text: str, why: str) -> None:
    """To be put right there, beside the reason; the right one then leaves nothing."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        await send(pilot, text)
        await wait_until(pilot, lambda: why in notice_text(pilot))
        prompt = chat(pilot).query_one(Prompt)
        assert prompt.written.text == text
        await send(pilot, "/set temperature 1")
        await wait_until(pilot, lambda: "Temperature is 1" in notice_text(pilot))
        assert prompt.written.text == ""


async def test_a_theme_is_chosen_by_command() -> None:
    """For good; what is none is refused with those there are."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        await send(pilot, "/theme high-contrast")
        await wait_until(pilot, lambda: app.theme == "localspec-high-contrast")
        assert read_config().values["screen.theme"] == "high-contrast"
        await pilot.press(*"/theme n")
        await wait_until(pilot, lambda: chat(pilot).query_one(CompletionList).display)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.theme == "nord")
        assert read_config().values["screen.theme"] == "nord"
        await send(pilot, "/theme nonsense")
        await wait_until(pilot, lambda: "high-contrast" in notice_text(pilot))
        await send(pilot, "/theme")
        await wait_until(pilot, lambda: isinstance(app.screen, CommandSearch))


async def test_no_list_covers_the_reason_of_a_refusal() -> None:
    """The list opens again with the next letter, and Tab takes its first row at once."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        await pilot.press(*"/pers", "escape", "enter")
        await wait_until(pilot, lambda: "There is no command /pers." in notice_text(pilot))
        await pilot.pause()
        offers = chat(pilot).query_one(CompletionList)
        assert not offers.display
        await pilot.press("o")
        await wait_until(pilot, lambda: offers.display)
        await pilot.press("escape", "enter")
        await wait_until(pilot, lambda: "There is no command /perso." in notice_text(pilot))
        await pilot.press("tab")
        assert chat(pilot).query_one(Prompt).text == "/persona "
