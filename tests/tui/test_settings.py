"""The settings screen and the file are two views of one thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.places import IN_SETTINGS
from localspec.chat.commands.setup import PERSONA
from localspec.chat.pacing import Pacer
from localspec.chat.pair_slot import Phase
from localspec.chat.session import ChatSession
from localspec.chat.settings.browser import HEADING, SETTING, SettingsBrowser
from localspec.chat.settings.controller import SettingsController
from localspec.chat.tokens.marking import GhostMode, MarkMode
from localspec.config import SETTINGS, Config, config_file, read_config, setting
from localspec.config.table import SOUGHT
from localspec.config.text_folder import read_persona
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.worker.messages import Load
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.keys.handling import handlers_of
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.form import FormArea, FormScreen
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.theme import DARK, HIGH_CONTRAST, LIGHT
from localspec.tui.widgets.field import LONGEST_PASTE
from localspec.tui.widgets.hints import Hints
from localspec.tui.widgets.key_row import KeyRow
from tests.config.support import add_persona, configure
from tests.tui.settings_support import answer, chat_config, details, open_settings, rows, said, screen, settings_app
from tests.tui.support import FakeEngine, chat, notice_text, send, session, wait_until


def browser(text: str = "", *arguments: str) -> SettingsBrowser:
    settings = chat_config(text, *arguments).settings
    assert settings is not None
    return SettingsBrowser(settings)


def controller(made: ChatConfig) -> tuple[SettingsController, ChatSession, FakeEngine]:
    engine = FakeEngine()
    held = ChatSession(made, engine, Pacer())
    return SettingsController(held), held, engine


# The list


@pytest.mark.parametrize("width", [40, 56, 76, 90])
def test_everything_is_listed_by_section_and_fits(width: int) -> None:
    """Once each, first what most people look for; no row is wider than its place, and every default is said."""
    listed = browser("[sampling]\ntemprature = 1\n").rows(width)
    rest = [each.name for each in SETTINGS if each.name not in SOUGHT]
    assert [row.id for row in listed if row.kind == SETTING] == [*SOUGHT, *rest]
    assert all(sum(len(text) for text, _ in row.parts) <= width for row in listed if row.kind != HEADING)


def test_a_filter_lists_by_section() -> None:
    """What is looked for stands where it belongs, once."""
    listed = browser()
    listed.text = "temperature"
    headings = [row.id for row in listed.rows(80) if row.kind == HEADING]
    assert headings == ["sampling"]


def test_a_row_says_value_and_source() -> None:
    """In the file, on the command line, built in; the mark tells without colour."""
    listed = browser("[sampling]\ntop_k = 3\nseed = 1\n[reply]\nseed = 4\n", "--threads", "3", "--seed", "9")
    texts = {row.id: "".join(text for text, _ in row.parts) for row in listed.rows(90)}
    for name, mark, value in (
        ("sampling.top_k", "* top k", " 3 "),
        ("model.threads", "› threads", " 3 "),
        ("model.draft_threads", "  draft threads", "as threads"),
        ("reply.seed", "› seed", " 9 "),
    ):
        assert texts[name].startswith(mark)
        assert value in texts[name]
    assert listed.source(setting("top_k")) == "line 2 of config.toml"
    assert "command line" in listed.source(setting("seed"))
    assert listed.heading == "2 set, 1 left out"


def test_a_setting_that_is_on_or_off_is_called_the_same_everywhere() -> None:
    """Built in, in the file and on the command line; in its row, its details and what is said of a change."""
    for text, options, value in (
        ("", (), "no"),
        ("[model]\nmlock = true\n", (), "yes"),
        ("[model]\nmlock = true\n", ("--no-mlock",), "no"),
    ):
        listed = browser(text, *options)
        listed.text = "mlock"
        (_, parts) = (row.parts for row in listed.rows(90))
        assert parts[1][0] == value
        details = " ".join(words for words, _ in listed.details())
        assert "uilt in: no. It is yes or no" in details
        assert "true" not in details
    assert "mlock: yes" in (listed.set(setting("mlock"), True), listed.describe_change(setting("mlock"), "F5"))[1]


def test_a_preset_shows_in_what_it_sets() -> None:
    """But for what the file says itself."""
    listed = browser('[sampling]\npreset = "precise"\ntop_k = 3\n')
    texts = {row.id: "".join(text for text, _ in row.parts) for row in listed.rows(90)}
    assert "0.1, by the preset" in texts["sampling.min_p"]
    assert " 3 " in texts["sampling.top_k"]
    assert "0, off" in texts["sampling.xtc_probability"]


def test_the_filter_searches_names_sentences_and_what_is_set() -> None:
    """All words must be found; what is called so is marked first."""
    listed = browser("[sampling]\ntop_k = 3\n")
    listed.text = "temperature"
    assert listed.marked is setting("temperature")
    listed.text = "creativity"
    assert [row.id for row in listed.rows(90) if row.kind == SETTING] == ["sampling.temperature"]
    listed.text = "likely set"
    assert [row.id for row in listed.rows(90) if row.kind == SETTING] == ["sampling.top_k"]
    listed.text = "no such thing"
    assert not listed.rows(90)
    assert listed.marked is None
    assert "no such thing" in listed.empty


def test_what_is_left_out_comes_first() -> None:
    """With its line; the whole sentence is in the details."""
    listed = browser('[sampling]\ntemprature = 1\ndry_base = 2\n[keys]\nstop = "ctrl+n"\n')
    listed.mark("problem-0")
    assert [problem.line for problem in listed.problems] == [2, 3, 5]
    ((sentence, _),) = listed.details()
    assert "Line 2" in sentence
    assert "temperature" in sentence


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("theme", "", "dark"),
        ("theme", '[screen]\ntheme = "tokyo-night"', "auto"),
        ("mlock", "", True),
        ("mlock", "[model]\nmlock = true", False),
        ("keymap", "", "vim"),
        ("persona", "", "pirate"),
        ("persona", '[reply]\npersona = "pirate"', "none"),
    ],
)
def test_few_values_are_gone_through(key: str, text: str, expected: object) -> None:
    """In a circle, from what is built in."""
    add_persona("pirate.md", "x")
    assert browser(text).stepped(setting(key), 1) == expected


def test_going_back_undoes_going_on() -> None:
    """For every setting with few values, from each of them."""
    listed = browser()
    for each in SETTINGS:
        for value in listed.steps(each):
            listed.set(each, value)
            listed.set(each, listed.stepped(each, 1))
            assert listed.stepped(each, -1) == value


# What a change does


def test_a_change_is_in_force_with_the_next_reply() -> None:
    """Nothing is loaded for it; what needs loading stays as it is loaded."""
    settings, held, engine = controller(chat_config("[model]\nctx = 512\n"))
    settings.apply(_changed("[model]\nctx = 1024\n[sampling]\ntop_k = 3\n[reply]\nsystem = 'Be brief.'\n"))
    assert held.chat_config.reply.sampling.top_k == 3
    assert held.chat_config.system == "Be brief."
    assert held.chat_config.load.n_ctx == 512
    assert not engine.sent
    assert settings.to_load().load.n_ctx == 1024


def _changed(text: str) -> Config:
    configure(text)
    return read_config()


def test_a_changed_pair_is_loaded_when_asked_for() -> None:
    """Until then, replies stay as the pair in use has them."""
    settings, held, _ = controller(chat_config(""))
    settings.apply(_changed('[model]\npair = "smollm2-1.7b"\n'))
    assert held.chat_config.pair_id == "builtin"


def test_a_persona_is_for_this_conversation() -> None:
    """It beats the file, ends with the conversation, and a wrong name changes nothing."""
    add_persona("pirate.md", "Talk like a pirate.")
    settings, held, _ = controller(chat_config("[reply]\nsystem = 'Be brief.'\n"))
    assert "pirate" in answer(PERSONA, settings, "pirate")
    assert held.chat_config.system == "Talk like a pirate."
    with pytest.raises(Exception, match="pirat"):
        answer(PERSONA, settings, "pirat")
    assert held.chat_config.system == "Talk like a pirate."
    held.turn_to(held.store.begin(held.chat_config.system))
    settings.turn_to(begun=True)
    assert held.chat_config.system == "Be brief."
    assert "pirate" in answer(PERSONA, settings)


def test_with_files_alone_the_screen_still_has_its_settings(tmp_path: Path) -> None:
    """The pair stays the one of the command line."""
    model = tmp_path / "model.gguf"
    model.touch()
    made = chat_config("", "--target", str(model))
    settings, held, _ = controller(made)
    settings.apply(_changed("[screen]\npace = 30\ntheme = 'light'\n"))
    assert held.pacer.tokens_per_second == 30
    assert held.chat_config == made


@pytest.mark.parametrize(("pace", "expected"), [('"auto"', 12.0), ('"full"', None), ("30", 30.0)])
def test_the_pace(pace: str, expected: float | None) -> None:
    """The pair's own, none, or what is said."""
    settings, _, _ = controller(chat_config(f"[screen]\npace = {pace}\n"))
    assert settings.preferences.pace_for(12.0) == expected


# The screen


async def test_a_number_is_typed_checked_and_written() -> None:
    """A wrong one says what is possible, and the file is left alone; the right one is in force at once."""
    engine = FakeEngine()
    app = settings_app(engine, "# mine\n[sampling]\ntop_k = 20 # few\n")
    async with app.run_test() as pilot:
        await open_settings(pilot, "top k")
        await pilot.press("enter")
        assert screen(pilot).query_one("#settings-field", Input).value == "20"
        await pilot.press("x")
        await pilot.press("enter")
        assert "a whole number of tokens from 0" in said(pilot)
        assert "top_k = 20 " in config_file().read_text()
        await pilot.press("backspace", "2", "5", "enter")
        await wait_until(pilot, lambda: "25" in said(pilot))
        assert config_file().read_text() == "# mine\n[sampling]\ntop_k = 25 # few\n"
        assert session(pilot).chat_config.reply.sampling.top_k == 25
        assert "line 3" in details(pilot)
        await pilot.press("ctrl+r")
        assert config_file().read_text() == "# mine\n[sampling]\n"
        assert session(pilot).chat_config.reply.sampling.top_k != 25


@pytest.mark.parametrize("text", ["You are a pirate.\nSay \\arr.\n\nNever lie.", r"One line\nis two"])
async def test_a_text_that_is_pasted_is_written_whole(text: str) -> None:
    """Line breaks and backslashes too; in one line they are written as in the field itself."""
    async with settings_app(FakeEngine(), "").run_test() as pilot:
        await open_settings(pilot, "system")
        await pilot.press("enter")
        pilot.app.post_message(Paste(f"{text}\n".replace("\n", "\r\n")))
        await wait_until(pilot, lambda: screen(pilot).query_one("#settings-field", Input).value)
        await pilot.press("enter")
        await wait_until(pilot, lambda: not screen(pilot).has_class("-changing"))
        assert session(pilot).chat_config.system == (text if "\n" in text else text.replace(r"\n", "\n"))


@pytest.mark.parametrize("key", ["f7", "f9", "ctrl+l", "ctrl+s"])
async def test_a_filter_takes_the_lines_of_a_paste_as_one_and_not_too_much(key: str) -> None:
    async with settings_app(FakeEngine(), "").run_test() as pilot:
        await pilot.press(key)
        await wait_until(pilot, lambda: isinstance(pilot.app.focused, Input))
        pilot.app.post_message(Paste("\nfirst\nsecond " + "word " * 1_000))
        field = pilot.app.focused
        await wait_until(pilot, lambda: isinstance(field, Input) and field.value.startswith("first second word"))
        assert isinstance(field, Input)
        assert len(field.value) <= LONGEST_PASTE


async def test_leaving_a_field_changes_nothing() -> None:
    """Esc leaves the field, then clears the filter, then the screen, and the row of keys says which."""
    app = settings_app(FakeEngine(), "[sampling]\ntop_k = 20\n")
    async with app.run_test() as pilot:
        await open_settings(pilot, "top k")
        await pilot.press("enter", "9", "escape")
        assert not screen(pilot).has_class("-changing")
        keys = screen(pilot).query_one(KeyRow)
        assert str(keys.render()).endswith("Esc clear filter")
        await pilot.press("escape")
        assert len(rows(pilot)) > len(SETTINGS)
        assert str(keys.render()).endswith("Esc back")
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    assert config_file().read_text() == "[sampling]\ntop_k = 20\n"


async def test_colours_motion_marks_and_keys_change_at_once() -> None:
    """On the screen behind, without a restart."""
    engine = FakeEngine()
    app = settings_app(engine, '[screen]\ntheme = "dark"\n')
    async with app.run_test() as pilot:
        assert app.theme == DARK.name
        for filtered, presses in (("theme", 1), ("truth", 1), ("reduced", 1), ("keymap", 1)):
            await open_settings(pilot, filtered)
            await pilot.press(*["tab"] * presses)
            await pilot.press("escape", "escape")
            await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        transcript = chat(pilot).query_one(Transcript)
        assert app.theme == LIGHT.name
        assert transcript.reply_format.mode is MarkMode.DRAFTER
        assert (transcript.ghosts, app.animation_level) == (GhostMode.OFF, "none")
        assert not chat(pilot).query_one("PromptArea").cursor_blink  # type: ignore[attr-defined]
        await send(pilot, "Hello")
        await wait_until(pilot, lambda: "Ctrl+X stop" in str(chat(pilot).query_one(Hints).render()))


async def test_what_was_switched_by_key_stays() -> None:
    """A change of something else does not take it back."""
    app = settings_app(FakeEngine(), "")
    async with app.run_test() as pilot:
        chat(pilot).query_one(Transcript).show_ghosts(GhostMode.KEEP)
        app.theme = HIGH_CONTRAST.name
        await open_settings(pilot, "mlock")
        await pilot.press("enter")
        assert chat(pilot).query_one(Transcript).ghosts is GhostMode.KEEP
        assert app.theme == HIGH_CONTRAST.name


async def test_what_needs_loading_says_so_and_is_loaded_on_a_key() -> None:
    """With the same pair."""
    engine = FakeEngine()
    app = settings_app(engine, "[model]\nctx = 512\n")
    async with app.run_test() as pilot:
        engine.load()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        await open_settings(pilot, "model.ctx")
        await pilot.press("enter", "9", "enter")
        assert "Ctrl+L loads the pair again" in said(pilot)
        assert not engine.sent
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: engine.sent)
        (load,) = engine.sent
        assert isinstance(load, Load)
        assert load.options.n_ctx == 9


async def test_a_change_on_disk_is_seen_when_the_screen_opens_and_on_a_key() -> None:
    """It is applied then, and the list shows it."""
    app = settings_app(FakeEngine(), '[screen]\ntheme = "dark"\n')
    async with app.run_test() as pilot:
        configure('[screen]\ntheme = "light"\n# longer\n')
        await open_settings(pilot)
        assert app.theme == LIGHT.name
        configure('[screen]\ntheme = "high-contrast"\nnonsense\n')
        await pilot.press("f5")
        assert app.theme == HIGH_CONTRAST.name
        assert any("line 3" in row for row in rows(pilot))
        await pilot.press("f5")
        assert "not changed" in said(pilot)


async def test_a_file_that_cannot_be_written_is_a_sentence() -> None:
    """And nothing on the screen pretends otherwise."""
    text = 'reply = { max_tokens = 512, stop = [\n"END"] }\n'
    app = settings_app(FakeEngine(), text)
    async with app.run_test() as pilot:
        await open_settings(pilot, "reply.max_tokens")
        await pilot.press("enter", "9", "enter")
        assert "by hand" in said(pilot)
    assert config_file().read_text() == text


async def test_a_broken_file_is_told_when_the_app_opens() -> None:
    """One quiet line; what is valid holds."""
    app = settings_app(FakeEngine(), '[screen]\ntheme = "light"\nnonsense\n[keys]\nstop = "ctrl+n"\n')
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: "2 settings are left out" in notice_text(pilot))
        assert app.theme == LIGHT.name


async def test_personas_by_command() -> None:
    """Listed, chosen by name, and a wrong name is a sentence."""
    add_persona("pirate.md", "Talk like a pirate.")
    engine = FakeEngine()
    app = settings_app(engine, "")
    async with app.run_test() as pilot:
        engine.load()
        await send(pilot, "/persona")
        await wait_until(pilot, lambda: "pirate" in notice_text(pilot))
        await send(pilot, "/persona pyrate")
        await wait_until(pilot, lambda: "There is no persona" in notice_text(pilot))
        await send(pilot, "/persona pirate")
        await wait_until(pilot, lambda: "pirate speaks" in notice_text(pilot))
        await send(pilot, "hello")
        first = engine.prompts[-1].prompt[0]
        assert not isinstance(first, str)
        assert first.content == "Talk like a pirate."


async def test_a_prompt_is_written_and_its_fields_are_filled_in() -> None:
    """In a form; the message is put into the prompt once all are there, before what stands there."""
    engine = FakeEngine()
    app = settings_app(engine, "")
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await send(pilot, "/prompt")
        await wait_until(pilot, lambda: "There are no prompts yet" in notice_text(pilot))
        await send(pilot, "/prompt edit translate")
        await wait_until(pilot, lambda: form(pilot))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "cannot be empty" in str(form(pilot).query_one("#form-refused").render()))
        await write(pilot, "Translate {{text}} into {{language|French}}.")
        await wait_until(pilot, lambda: "Written to" in notice_text(pilot))
        area = chat(pilot).query_one(Prompt).area
        await send(pilot, "/prompt translate")
        await wait_until(pilot, lambda: form(pilot))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not form(pilot))
        assert area.text == ""
        await send(pilot, "/prompt translate")
        await wait_until(pilot, lambda: form(pilot))
        assert [each.text for each in form(pilot).query(FormArea)] == ["", "French"]
        await pilot.press("tab", "!", "shift+tab", "enter")
        await wait_until(pilot, lambda: area.text == "Translate  into French!.")
        area.text = ""
        await send(pilot, "/prompt translate")
        await wait_until(pilot, lambda: form(pilot))
        pilot.app.post_message(Paste("a {{fox}}\x1b[31m\nand a hen"))
        await wait_until(pilot, lambda: form(pilot).query(FormArea).first().text)
        await pilot.press("ctrl+j", "!", "enter")
        await wait_until(pilot, lambda: area.text == "Translate a {{fox}}\nand a hen\n! into French.")
        assert not engine.prompts, "it is read before it is sent"
        area.text = ""
        await send(pilot, "/persona edit pirate")
        await wait_until(pilot, lambda: form(pilot))
        await write(pilot, "Arr.")
        await wait_until(pilot, lambda: "/persona pirate takes it" in notice_text(pilot))
        await send(pilot, "/persona edit ../x")
        await wait_until(pilot, lambda: "cannot be called" in notice_text(pilot))
    assert read_persona("pirate") == "Arr."


def form(pilot: Pilot[Any]) -> Any:
    """The form on the screen; None if there is none."""
    return pilot.app.screen if isinstance(pilot.app.screen, FormScreen) else None


async def write(pilot: Pilot[Any], text: str) -> None:
    """Write the one field of a form, and press Enter."""
    form(pilot).query_one(FormArea).insert(text)
    await pilot.press("enter")


# Keys


async def test_a_remapped_key_does_what_it_says_also_in_the_prompt() -> None:
    """Even one that a text area has for itself; the old one no longer does."""
    app = settings_app(FakeEngine(), '[keys]\nsettings = "ctrl+k"\nhelp = "none"\n')
    async with app.run_test() as pilot:
        await pilot.press("f9", "f1")
        assert isinstance(pilot.app.screen, ChatScreen)
        assert "F1" not in str(chat(pilot).query_one(Hints).render())
        await pilot.press("ctrl+k")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, ChatScreen))
        screen(pilot)


async def test_letters_move_once_the_prompt_is_left() -> None:
    """The vim-like set: Esc leaves it, letters act, i goes back to typing."""
    app = settings_app(FakeEngine(), '[screen]\nkeymap = "vim"\n')
    async with app.run_test() as pilot:
        area = chat(pilot).query_one("PromptArea")
        await pilot.press("m")
        assert area.text == "m"  # type: ignore[attr-defined]
        before = chat(pilot).query_one(Transcript).reply_format
        await pilot.press("escape")
        assert not area.has_focus
        await pilot.press("m")
        assert chat(pilot).query_one(Transcript).reply_format != before
        await pilot.press("i")
        assert area.has_focus
        await pilot.press("x")
        assert area.text == "mx"


async def test_the_palette_and_help_show_the_keys_in_force() -> None:
    """Not those that were shipped."""
    app = settings_app(FakeEngine(), '[keys]\nnew = "f21"\n')
    async with app.run_test() as pilot:
        commands = {command.title: command.help for command in app.get_system_commands(app.screen)}
        assert commands["New"].startswith("F21  ")
        await pilot.press("f1")
        await pilot.pause()
        page = "\n".join(str(widget.render()) for widget in pilot.app.screen.query("Glossary"))
        assert "F21" in page
        assert "Ctrl+N" not in page


def test_the_screens_own_commands_are_declared() -> None:
    """Each with a handler, each key once."""
    keys = [key for action in IN_SETTINGS.commands for key in action.keys.split(",")]
    assert len(keys) == len(set(keys))
    screen = SettingsScreen(controller(chat_config(""))[0].open(), lambda config: None, str)
    assert set(handlers_of(screen)) == {command.id for command in IN_SETTINGS.commands}
    assert not {action.id for action in IN_SETTINGS.commands} & {action.id for action in CHAT.commands}
