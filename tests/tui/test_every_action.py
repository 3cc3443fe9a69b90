"""Laws about all keys and commands at once: each reaches what it is for, as a terminal sends it, in each key map."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.binding import Binding
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.widgets import Input, Static

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command
from localspec.chat.commands.keymap import (
    AS_OTHERS_IN_BROWSERS,
    KEYMAPS,
    TAKEN_BY_BROWSERS,
    VIM,
    WEB,
    Keymap,
    resolve_keymap,
)
from localspec.chat.commands.places import PLACES, known
from localspec.tui.app import ChatApp
from localspec.tui.keys.bindings import textual_keymap
from localspec.tui.keys.handling import CommandTarget
from localspec.tui.screens.commands import CommandSearch
from localspec.tui.screens.form import FormScreen
from localspec.tui.screens.help import HelpScreen
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.links import LinksScreen
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.screens.search import SearchScreen
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.screens.stats import StatsScreen
from localspec.tui.widgets.glossary import Glossary
from localspec.tui.widgets.sidebar import Sidebar
from tests.tui.support import FakeEngine, chat, make_app, prompt_of, send, session, transcript_of, wait_until

ELSEWHERE = {
    "inspect": InspectorScreen,
    "race": RaceScreen,
    "pairs": PairsScreen,
    "search": SearchScreen,
    "settings": SettingsScreen,
    "stats": StatsScreen,
    "help": HelpScreen,
    "conversations": Sidebar,
    "links": LinksScreen,
    "palette": CommandSearch,
}
"""Screens and panels with keys of their own, by the action that leads to them."""


@contextmanager
def spying(monkeypatch: pytest.MonkeyPatch, *, typing: bool = False) -> Iterator[list[tuple[str, str]]]:
    """Commands and arguments that are asked for, and not done; while ``typing`` the prompt's are done."""
    asked: list[tuple[str, str]] = []
    usual = CommandTarget.run_command

    async def run_command(self: CommandTarget, command: Command, argument: str = "") -> None:
        if typing and command.in_prompt:
            await usual(self, command, argument)
        else:
            asked.append((command.id, argument))

    with monkeypatch.context() as patch:
        patch.setattr(CommandTarget, "run_command", run_command)
        yield asked


async def press(pilot: Pilot[Any], key: str) -> None:
    """As a terminal does: Alt is Escape before the letter, so such a key has a letter too."""
    if key.startswith("alt+") and len(key) == len("alt+x"):
        pilot.app.post_message(events.Key(key, key[-1]))
        await pilot.pause()
    else:
        await pilot.press(key)


async def answered(engine: FakeEngine, pilot: Pilot[Any]) -> None:
    """One question, one reply."""
    engine.load()
    await send(pilot, "Tell me a story about a fox")
    engine.reply("Once upon a time there was a fox: https://a.org.")
    await wait_until(pilot, lambda: engine.prompts and session(pilot).last is not None and not session(pilot).busy)


def _types(key: str) -> bool:
    """Whether a key writes into a prompt that has the focus."""
    return len(key) == 1 or key in ("question_mark", "colon", "at")


@pytest.mark.parametrize("name", KEYMAPS)
async def test_each_key_reaches_its_action(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the prompt, while reading, and with a turn chosen, as far as the action is for that; never another one."""
    monkeypatch.setenv("TEXTUAL_DRIVER", "")
    keys = _shipped(name)
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await answered(engine, pilot)
        app._settings.preferences = _with(app, Keymap(keys))
        app._prefer()
        await pilot.pause()
        missed = []
        with spying(monkeypatch) as asked:
            bound = [(action, key) for action in CHAT.commands for key in keys[action.id].split(",")]
            for state in ("prompt", "reading", "turn"):
                for action, key in bound:
                    if state not in _states(action, key):
                        continue
                    await _enter(pilot, state)
                    asked.clear()
                    letter = action.in_turn and len(key) == 1 and name != VIM  # which may begin a message
                    for _ in range(2 if action.twice or letter else 1):
                        await press(pilot, key)
                    if asked != [(action.id, "")]:
                        missed.append((action.id, key, state, list(asked)))
        assert not missed


def _with(app: ChatApp, keymap: Keymap) -> Any:
    from dataclasses import replace

    return replace(app._settings.preferences, keymap=keymap)


def _shipped(name: str) -> dict[str, str]:
    return {action.id: KEYMAPS[name].get(action.id, action.keys) for action in known().values()}


def _states(action: Command, key: str) -> list[str]:
    if action.in_turn:
        return ["turn"]
    if action.in_prompt:
        return ["prompt"]
    return ["reading"] if _types(key) else ["prompt", "reading"]


async def _enter(pilot: Pilot[Any], state: str) -> None:
    """Go where keys are to be pressed, unless that is where the last one left everything."""
    if _state(pilot) == state:
        return
    screen = chat(pilot)
    screen._focus.go_to_prompt()
    prompt_of(pilot).set_text("")
    await pilot.pause()
    if state == "reading":
        screen.set_focus(None)
    elif state == "turn":
        screen._focus.step(-1)
    await pilot.pause()
    assert _state(pilot) == state


def _state(pilot: Pilot[Any]) -> str:
    """The place that keys go to; empty in a state that these tests do not have, as with a text in the prompt."""
    screen, prompt = chat(pilot), prompt_of(pilot)
    if prompt.text:
        return ""
    if screen.focused is prompt.area:
        return "prompt"
    return "turn" if transcript_of(pilot).selected else "reading"


async def test_each_command_does_what_its_key_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """And hands over what follows it, where it takes something."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await answered(engine, pilot)
        with spying(monkeypatch, typing=True) as asked:
            for action in CHAT.commands:
                if not action.slash:
                    continue
                asked.clear()
                await send(pilot, f"/{action.slash}")
                assert asked == [(action.id, "")]
                if action.argument:
                    asked.clear()
                    await send(pilot, f"/{action.slash} 3 more")
                    assert asked == [(action.id, "3 more")]
        assert len(engine.prompts) == 1, "no command was sent as a message"


@pytest.mark.parametrize("action", ELSEWHERE, ids=str)
async def test_each_key_of_another_screen_reaches_its_action(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All keys it binds, with the focus where it puts it."""
    kind = ELSEWHERE[action]
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await answered(engine, pilot)
        await chat(pilot).run_command(known()[action])
        place: Any = app.screen if kind is not Sidebar else None
        await wait_until(pilot, lambda: isinstance(app.screen, kind) or chat(pilot).query(Sidebar))
        place = app.screen if kind is not Sidebar else chat(pilot).query_one(Sidebar)
        missed = []
        with spying(monkeypatch) as asked:
            for binding in place.BINDINGS:
                assert isinstance(binding, Binding)
                for key in binding.key.split(","):
                    if key == "enter" and isinstance(app.focused, Input):
                        continue  # the line keeps it, and tells its screen
                    asked.clear()
                    await press(pilot, key)
                    if asked != [(binding.id, "")]:
                        missed.append((key, binding.id, list(asked)))
        assert not missed


async def test_the_key_of_help_is_one_on_every_screen() -> None:
    """Which is there again afterwards; in small ones too, below which the row of the chat names that key."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await answered(engine, pilot)
        for name in ("inspect", "links", "pairs", "search", "settings", "stats", "tools", "form", "race"):
            if name == "form":
                app.push_screen(FormScreen("A form", "", {"a field": ""}, lambda texts: None))
            else:
                await chat(pilot).run_command(known()[name])
            await wait_until(pilot, lambda: app.screen is not chat(pilot))
            screen = app.screen
            app.set_keymap({})
            await pilot.press("f1")
            assert isinstance(app.screen, HelpScreen), name
            app.set_keymap({"help": "f21"})
            await pilot.press("f21")  # which does not close it
            await pilot.press("escape")
            assert app.screen is screen, name
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is chat(pilot))


@pytest.mark.parametrize("kind", ELSEWHERE.values(), ids=lambda kind: kind.__name__)
def test_no_key_of_a_screen_is_bound_twice(kind: type[Any]) -> None:
    """Nor any id."""
    bindings = [each for each in kind.BINDINGS if isinstance(each, Binding)]
    assert len(bindings) == len(kind.BINDINGS)
    for names in ([key for each in bindings for key in each.key.split(",")], [each.id for each in bindings]):
        assert len(names) == len(set(names))


def test_every_key_is_in_the_tables() -> None:
    """Whatever a screen, a panel or the app binds can be looked up and changed."""
    import localspec.tui

    for module in walk_packages(localspec.tui.__path__, "localspec.tui."):
        import_module(module.name)
    bindings = [(kind, each) for kind in _ours(DOMNode) if "BINDINGS" in vars(kind) for each in kind.BINDINGS]
    assert {SearchScreen, HelpScreen, CommandSearch, Sidebar, ChatApp} <= {kind for kind, _ in bindings}
    for kind, binding in bindings:
        assert isinstance(binding, Binding)
        if binding in Input.BINDINGS:
            continue  # editing a line: Textual's own
        assert binding.id in known(), (kind, binding)
        assert binding.key == known()[str(binding.id)].keys


def _ours(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    """The classes of this project."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("localspec."):
            yield each
        yield from _ours(each)


async def test_hints_of_the_search_and_of_help_follow_the_keys() -> None:
    """An action without a key is not in the row."""
    keymap = Keymap({**_shipped("default"), "search-open": "f9", "search-up": "", "help-close": "x"})
    app = make_app(FakeEngine())
    async with app.run_test(size=(100, 30)) as pilot:
        app.set_keymap(textual_keymap(keymap))
        app.push_screen(SearchScreen(app.session.store))
        await pilot.pause()
        assert str(app.screen.query_one("#search-keys").render()) == "F9 go there   Down choose   Esc back"
        await pilot.press("escape")
        app.push_screen(HelpScreen(app._palette(), keymap))
        await pilot.pause()
        assert str(list(app.screen.query(Static))[-1].render()).strip() == "x closes this page."
        await pilot.press("x")
        assert app.screen is chat(pilot)


@pytest.mark.parametrize("name", KEYMAPS)
def test_what_is_shipped_arrives_from_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape and a letter is not Alt and that letter everywhere: with some it moves by words."""
    monkeypatch.setattr("textual.constants.ESCAPE_DELAY", 0)
    keys = {key for each in _shipped(name).values() for key in each.split(",")}
    for key in sorted(each for each in keys if each.startswith("alt+") and len(each) == len("alt+x")):
        parser = XTermParser()
        arrived = [*parser.feed(f"\x1b{key[-1]}"), *parser.tick()]
        assert [event.key for event in arrived if isinstance(event, events.Key)] == [key]


def test_the_map_for_browsers_takes_none_of_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is the one that holds there, unless the file says otherwise."""
    from localspec.config import read_config
    from tests.config.support import configure

    keys = {key for each in _shipped(WEB).values() for key in each.split(",")}
    assert not keys & TAKEN_BY_BROWSERS
    configure("")
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    assert _shipped(WEB).items() <= resolve_keymap(read_config()).keys.items()
    configure('[screen]\nkeymap = "vim"\n')
    assert _shipped("vim").items() <= resolve_keymap(read_config()).keys.items()


def test_no_key_for_browsers_arrives_as_another_action_s() -> None:
    """What the terminal in the page sends in its place does the same."""
    for place in PLACES:
        owners = {key: each.id for each in place.commands for key in _shipped(WEB)[each.id].split(",")}
        for lost, arrives in AS_OTHERS_IN_BROWSERS.items():
            assert lost not in owners or owners[lost] == owners.get(arrives), lost


@pytest.mark.parametrize("name", KEYMAPS)
async def test_help_has_every_action(name: str) -> None:
    """With its key in force and its command."""
    keymap = Keymap(_shipped(name))
    app = make_app(FakeEngine())
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(HelpScreen(app._palette(), keymap))
        await pilot.pause()
        lines = [line.plain for each in app.screen.query(Glossary) for line in each.lines(200)]
    for action in known().values():
        key, said = f"{keymap.label(action)} ", f" {action.help}"
        assert any(line.startswith(key) and line.endswith(said) for line in lines), action.id
        assert not action.slash or any(line.startswith(f"/{action.slash} ") for line in lines)
