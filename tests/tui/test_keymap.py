"""Keys: every action's can be changed, and nothing ends up with two meanings."""

from __future__ import annotations

import pytest
from textual.keys import Keys, _character_to_key

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.keymap import KEYMAPS, Keymap, resolve_keymap
from localspec.chat.commands.places import PLACES, RACE_AGAIN, RACE_CLOSE, RACE_END, known
from localspec.chat.pair_slot import Phase
from localspec.chat.race import Race
from localspec.chat.tokens.marking import ReplyFormat
from localspec.chat.turn import Turn
from localspec.config import config_file, read_config
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.worker.messages import Cancel, Silence
from localspec.tui.keys.bindings import textual_keymap
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.widgets.key_row import KeyRow
from tests.config.support import configure
from tests.tui.settings_support import chat_config, settings_app
from tests.tui.support import (
    Clock,
    FakeEngine,
    live_text,
    make_app,
    make_round,
    notice_text,
    ready,
    send,
    session,
    wait_until,
)

IDS = set(known())


def keymap(text: str) -> Keymap:
    configure(text)
    return resolve_keymap(read_config())


def own(lines: str) -> Keymap:
    return keymap(f"[keys]\n{lines}")


@pytest.mark.parametrize("name", KEYMAPS)
def test_a_shipped_set_gives_every_action_keys_of_its_own(name: str) -> None:
    """Nothing is left without one, nothing shares one, and only what exists is named."""
    assert set(KEYMAPS[name]) <= IDS
    shipped = keymap(f'[screen]\nkeymap = "{name}"\n')
    assert not shipped.problems
    assert set(shipped.keys) == IDS
    for place in PLACES:
        keys = [key for action in place.commands for key in shipped.keys[action.id].split(",")]
        assert all(keys)
        assert len(keys) == len(set(keys)), place.title


@pytest.mark.parametrize("name", KEYMAPS)
def test_the_key_that_opens_a_screen_closes_it_again(name: str) -> None:
    keys = keymap(f'[screen]\nkeymap = "{name}"\n').keys
    for opens, closes in (
        *(("inspect", "inspector-close"), ("conversations", "history-close"), ("pairs", "pair-back")),
        *(("search", "search-back"), ("stats", "stats-back"), ("settings", "setting-leave"), ("help", "help-close")),
    ):
        assert set(keys[opens].split(",")) <= set(keys[closes].split(",")), opens


@pytest.mark.parametrize("name", KEYMAPS)
def test_a_shipped_set_could_be_written_by_anyone(name: str) -> None:
    """Its keys pass the checks that the file's own do."""
    lines = "\n".join(f'{action} = "{keys}"' for action, keys in keymap(f'[screen]\nkeymap = "{name}"').keys.items())
    written = own(lines)
    assert not written.problems
    assert written.keys == keymap(f'[screen]\nkeymap = "{name}"').keys


def test_the_files_keys_stand_over_the_set() -> None:
    """By id; what is shown is what was written first."""
    changed = own('stop = "f21, F9x"')
    assert changed.problems
    changed = own('stop = "F21, f22"\nhelp = "?"')
    assert not changed.problems
    assert (changed.keys["stop"], changed.keys["help"]) == ("f21,f22", "question_mark")
    stop = next(action for action in CHAT.commands if action.id == "stop")
    assert changed.label(stop) == "F21"
    assert textual_keymap(changed) == {"stop": "f21,f22", "help": "question_mark"}


def test_what_has_the_same_key_elsewhere_is_no_clash() -> None:
    """Screens that are never there at the same time."""
    changed = own('inspector-marks = "f12"\nrace-again = "f12"')
    assert not changed.problems
    assert textual_keymap(changed) == {"inspector-marks": "f12", "race-again": "f12"}


def test_an_action_may_have_no_key() -> None:
    """It stays in the palette, and no key leads to it; its own is free for another."""
    changed = own('new = "none"\nfast = "ctrl+n"')
    assert not changed.problems
    new = next(action for action in CHAT.commands if action.id == "new")
    assert changed.label(new) == ""
    assert textual_keymap(changed)["new"].startswith("unbound")


def test_keys_can_be_swapped() -> None:
    """A key that its owner gives up is free."""
    first, second = (next(action.keys for action in CHAT.commands if action.id == each) for each in ("new", "fast"))
    changed = own(f'new = "{second}"\nfast = "{first}"')
    assert not changed.problems
    assert (changed.keys["new"], changed.keys["fast"]) == (second, first)


@pytest.mark.parametrize(
    ("lines", "line", "what"),
    [
        ('stpo = "f21"', 2, "did you mean stop?"),
        ('stop = "ctrl+"', 2, "there is no key"),
        ('stop = "f21,"', 2, "there is no key ''"),
        ('stop = "hyperdrive"', 2, "there is no key"),
        ('stop = "control+x"', 2, "there is no key"),
        ('stop = "ctrl+n"', 2, "Ctrl+N is the key of new already"),
        ('stop = "f21"\nfast = "f21"', 3, "F21 is the key of stop already"),
        ('stop = "ctrl+m"', 2, "Enter is the key of send already"),
        ('setting-reread = "ctrl+i"', 2, "Tab is the key of setting-step already"),
        ('fast = "ctrl+["', 2, "Esc is the key of stop already"),
        ('send = "s"', 2, "could no longer be typed"),
        ('newline = "?"', 2, "could no longer be typed"),
        ('history-pin = "p"', 2, "could no longer be typed"),
        ('race-again = "q"', 2, "q is the key of race-close already"),
        ('inspector-rejecton = "x"', 2, "did you mean inspector-rejection?"),
        ('fast = "ctrl+n"\nnew = "escape"', 3, "Esc is the key of stop already"),
    ],
)
def test_what_cannot_be_is_told_and_left_out(lines: str, line: int, what: str) -> None:
    """With its line; the set's own key stays, and nothing ends up with two meanings."""
    changed = own(lines)
    assert (line, True) in [(problem.line, what in problem.what) for problem in changed.problems]
    for place in PLACES:
        keys = [key for action in place.commands for key in changed.keys[action.id].split(",") if key]
        assert len(keys) == len(set(keys))


def test_keys_that_terminals_cannot_tell_apart_are_one() -> None:
    """As Textual names what arrives."""
    for written, arrives in (("ctrl+h", "backspace"), ("alt+ctrl+i", "alt+ctrl+i")):
        assert own(f'fast = "{written}"').keys["fast"] == arrives


async def test_in_the_set_of_vim_letters_act_once_the_prompt_is_left() -> None:
    """x ends a reply, and i goes back to writing, where x is a letter again."""
    configure('[screen]\nkeymap = "vim"\n')
    engine = FakeEngine()
    app = make_app(engine, chat_config("\n".join(config_file().read_text().splitlines())), Clock())
    async with app.run_test(size=(100, 30)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        await pilot.press(*"Why", "enter")
        await wait_until(pilot, lambda: session(pilot).phase is Phase.READING)
        await pilot.press("x")
        assert not any(isinstance(request, Cancel) for request in engine.sent)
        await pilot.press("escape", "x")
        await wait_until(pilot, lambda: any(isinstance(request, Cancel) for request in engine.sent))
        await pilot.press("i", "x")
        assert pilot.app.screen.query_one(Prompt).text == "xx"


@pytest.mark.parametrize("character", "?!#$%^&*()-_=+[]{};:'\"\\|.<>/`~")
def test_signs_are_called_what_textual_calls_them(character: str) -> None:
    """So that what is written here is what arrives."""
    assert own(f"stop = '''{character}'''" if character == "'" else f"stop = '{character}'").keys["stop"] == (
        _character_to_key(character)
    )


def test_named_keys_are_textuals() -> None:
    """Those with a name and no sign."""
    known = {key.value for key in Keys}
    for name in ("escape", "enter", "tab", "pageup", "home", "insert", "f12", "up"):
        assert name in known


async def test_the_inspector_and_the_race_answer_to_the_files_keys() -> None:
    """And say so in their row of keys; an action without one is not in it."""
    configure('[keys]\ninspector-rejection = "f11"\ninspector-marks = "none"\nrace-again = "x"\n')
    engine = FakeEngine()
    app = make_app(engine, chat_config("\n".join(config_file().read_text().splitlines())), Clock())
    async with app.run_test(size=(100, 30)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        race = Race(engine.send, lambda: 1, "Hello", ReplyOptions(), 1)
        screen = RaceScreen(race, app._palette)
        app.push_screen(screen)
        await pilot.pause()
        assert str(screen.query_one("#race-hints").render()) == "Esc back", "while it runs"
        screen.query_one(KeyRow).show({each: each.title for each in (RACE_AGAIN, RACE_END, RACE_CLOSE)})
        assert str(app.screen.query_one("#race-hints").render()) == "x side by side   Space to the end   Esc back"
        await pilot.press("escape")
        turn = Turn("Hello")
        turn.reply.receive(make_round(["One", " two"]))
        app.push_screen(
            InspectorScreen(turn, session(pilot).token_queries, app._palette, ReplyFormat(), wake=lambda: None)
        )
        await pilot.pause()
        hints = str(app.screen.query_one("#inspector-hints").render())
        assert hints == "←→ token   [] round   F11 rejection   ↑↓ line   Esc back"


async def test_sentences_name_the_files_keys() -> None:
    """For a message that waits, and for a server that does not answer."""
    engine = FakeEngine()
    app = settings_app(engine, '[keys]\nstop = "f21"\nearlier = "f22"\n')
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        for question in ("Hello", "And more"):
            await send(pilot, question)
        assert "F22 takes it back" in notice_text(pilot)
        engine.inbox.put(Silence("no answer from the RPC server gpu:50052 for 16 s"))
        await wait_until(pilot, lambda: "no answer" in live_text(pilot))
        assert "F21 gives up waiting" in live_text(pilot)


@pytest.mark.parametrize(("stop", "key"), [("", "Esc"), ('[keys]\nstop = "f21"\n', "F21")])
async def test_the_key_that_ends_other_programs_says_which_keys_stop_and_quit(stop: str, key: str) -> None:
    """In the prompt, which it leaves as it is, and at a turn; without a reply under way, which key quits."""
    engine = FakeEngine()
    async with settings_app(engine, stop).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await pilot.press("h", "i", "ctrl+c")
        assert notice_text(pilot).strip() == "Ctrl+Q quits."
        assert pilot.app.query_one(Prompt).text == "hi"
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.prompts)
        await pilot.press("ctrl+c")
        assert f"{key} stops the reply; Ctrl+Q quits." in notice_text(pilot)
        await pilot.press("f6", "ctrl+c")
        assert f"{key} stops the reply; Ctrl+Q quits." in notice_text(pilot)
