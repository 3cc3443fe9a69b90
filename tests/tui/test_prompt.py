"""The prompt by itself: pastes, files, lists, what was sent before, what is unsent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from localspec.chat.compose.message import WrittenMessage
from localspec.tui.prompt.completion import MAX_ROWS, CompletionList
from tests.tui.prompt_app import PromptApp, app_among_files, listed, paste
from tests.tui.support import wait_until

LOG = "a line of a log\n" * 64_000


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PromptApp:
    return app_among_files(tmp_path, monkeypatch)


# --- pastes ----------------------------------------------------------------------------------------


async def test_a_megabyte_is_folded_and_sent_whole(app: PromptApp) -> None:
    """A mark stands in the text; what is typed around it and what it stands for make the message."""
    async with app.run_test() as pilot:
        await pilot.press(*"Why? ")
        await paste(pilot, LOG)
        await pilot.press("!")
        assert app.prompt.text == "Why? [pasted text: 1,024 kB, 64,000 lines]!"
        await pilot.press("enter")
        await pilot.pause()
        assert app.sent[0].content == f"Why? {LOG}!"
        assert app.prompt.text == ""


async def test_a_mark_goes_as_a_whole_and_can_be_unfolded(app: PromptApp) -> None:
    """Backspace behind it takes all of it, undo brings it back, Tab puts the text in its place."""
    text = "line\n" * 30
    async with app.run_test() as pilot:
        await pilot.press("a")
        await paste(pilot, text)
        mark = app.prompt.text[1:]
        await pilot.press("backspace")
        assert app.prompt.text == "a"
        await pilot.press("ctrl+z")
        assert app.prompt.text == f"a{mark}"
        await pilot.press("tab")
        assert app.prompt.text == f"a{text}"
        await pilot.press("backspace", "backspace")
        assert app.prompt.text == f"a{text[:-2]}"


@pytest.mark.parametrize("lines_n", [15, 40])
async def test_a_paste_that_fills_the_prompt_can_be_undone(app: PromptApp, lines_n: int) -> None:
    """Folded at first or not; the cursor is back where it was, and redo brings the text again."""
    text = "line\n" * lines_n
    async with app.run_test() as pilot:
        await pilot.press("a")
        await paste(pilot, text)
        before = "a"
        if app.prompt.text != f"a{text}":
            before = app.prompt.text
            await pilot.press("tab")
        for key, left in (("ctrl+z", before), ("ctrl+y", f"a{text}"), ("ctrl+z", before)):
            await pilot.press(key)
            await pilot.pause()
            assert app.prompt.text == left
            assert app.prompt.area.cursor_at_end_of_text


async def test_a_line_break_replaces_what_is_selected(app: PromptApp) -> None:
    """As a letter and a paste do."""
    async with app.run_test() as pilot:
        await pilot.press(*"ab", "shift+left", "ctrl+j", "c")
        assert app.prompt.text == "a\nc"


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (["home", "right", "delete"], "ab"),
        (["left", "ctrl+w"], "ab"),
        (["left", "left", "left", "backspace"], "ab"),
        (["left", "left", "left", "ctrl+k"], "a"),
        (["ctrl+shift+k"], ""),
        (["left", "left", "left", "shift+left", "shift+left", "x"], "axb"),
        (["left", "left", "left", "x", "y"], "a{mark}xyb"),
        (["left", "left", "left", "ctrl+j", "x"], "a{mark}\nxb"),
    ],
)
async def test_no_key_breaks_a_mark(app: PromptApp, keys: list[str], left: str) -> None:
    """Those that delete take it whole, and what is typed in it comes behind it; undo brings it back."""
    async with app.run_test() as pilot:
        await pilot.press("a")
        await paste(pilot, "line\n" * 30)
        mark = app.prompt.text[1:]
        await pilot.press("b", *keys)
        assert app.prompt.text == left.format(mark=mark)
        while app.prompt.text != f"a{mark}b":
            before = app.prompt.text
            await pilot.press("ctrl+z")
            assert app.prompt.text != before
        assert app.prompt.written.pasted


async def test_what_is_too_long_stays_folded(app: PromptApp) -> None:
    """And the editor is pointed to."""
    async with app.run_test() as pilot:
        await paste(pilot, LOG)
        await pilot.press("tab")
        await pilot.pause()
        assert app.prompt.text.startswith("[pasted text")
        assert "editor" in app.trouble


async def test_a_harmful_paste_is_made_harmless_with_a_word_about_it(app: PromptApp) -> None:
    """Colours go, other control characters are replaced, and it is said how many."""
    async with app.run_test() as pilot:
        await paste(pilot, "a\x1b[31mb\x07c\u202ed\r\ne")
        assert app.prompt.text == "ab\ufffdc\ufffdd\ne"
        assert app.said == ["3 characters that are not text were taken out or replaced by \ufffd."]


# --- lists -----------------------------------------------------------------------------------------


async def test_commands_are_listed_chosen_and_run(app: PromptApp) -> None:
    """Arrows move, Tab writes the command out, Enter runs it; one that takes a word waits for it."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("/")
        everything = listed(app)
        assert "/help" in everything
        assert "/attach PATH" in everything
        await pilot.press("down", "up", "up")
        choice = app.query_one(CompletionList).choice
        assert choice is not None
        assert choice.label == everything[-1]
        await pilot.press("h", "e", "enter")
        await pilot.pause()
        assert [written.text for written in app.sent] == ["/help"]
        await pilot.press(*"/att", "enter")
        assert app.prompt.text == "/attach "
        assert len(app.sent) == 1
        await pilot.press("ctrl+u", *"/qu", "tab")
        assert app.prompt.text == "/quit"


async def test_values_behind_a_command_are_listed_and_taken(app: PromptApp) -> None:
    """Enter takes the highlighted one once a letter of it is written; without one the command goes as it is."""
    async with app.run_test(size=(80, 24)) as pilot:

        async def sent(*keys: str) -> str:
            await pilot.press(*"/theme ")
            await wait_until(pilot, lambda: "nord" in listed(app))
            await pilot.press(*keys, "enter")
            await pilot.pause()
            return app.sent[-1].text

        assert await sent() == "/theme "
        assert await sent(*"NO") == "/theme nord"
        assert await sent(*"nord") == "/theme nord"
        assert await sent("n", "tab") == "/theme nord"
        assert await sent("down") == "/theme dark"
        assert await sent("n", "escape") == "/theme n"
        assert await sent(*"nord or not") == "/theme nord or not"
        assert await sent(*"mine") == "/theme mine"


async def test_where_more_follows_a_value_it_is_waited_for(app: PromptApp) -> None:
    """Of several pairs each is listed, until a message begins."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"/set ")
        await wait_until(pilot, lambda: "temperature" in listed(app))
        await pilot.press(*"tem", "enter")
        assert app.prompt.text == "/set temperature "
        assert listed(app) == []
        await pilot.press("ctrl+u", *"/compare ")
        await wait_until(pilot, lambda: listed(app) == ["one", "one-more", "two"])
        await pilot.press(*"one")
        assert listed(app) == ["one", "one-more"]
        await pilot.press("tab")
        assert app.prompt.text == "/compare one "
        assert listed(app) == ["one-more", "two"]
        await pilot.press(*"tw", "enter", *"Why ")
        assert listed(app) == []
        await pilot.press("enter")
        await pilot.pause()
        assert [written.text for written in app.sent] == ["/compare one two Why "]


async def test_values_are_looked_for_anew_for_the_next_command(app: PromptApp) -> None:
    """What there is may have changed; what cannot be read is as none."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"/compare ")
        await wait_until(pilot, lambda: bool(listed(app)))
        app.pairs = None
        await pilot.press("x", "enter", *"/compare ")
        await pilot.app.workers.wait_for_complete()
        assert listed(app) == []
        app.pairs = {"three": ""}
        await pilot.press("ctrl+u", *"/pairs ")
        await wait_until(pilot, lambda: listed(app) == ["three"])


async def test_an_open_list_takes_no_more_room_than_there_is_now(app: PromptApp) -> None:
    """The prompt may have moved up since it opened, as on a screen that was made lower; the mark stays."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("/", *["down"] * 6)
        found = app.query_one(CompletionList)
        offer, marked = found.offer, found.choice
        assert marked is not None
        for room in (4, MAX_ROWS + 1):
            found.show(offer, room)
            await wait_until(pilot, lambda room=room: found.region.height == room)  # type: ignore[misc]
            assert found.choice == marked
            assert f"› {marked.label}" in str(found.render())


async def test_escape_closes_a_list_and_it_stays_closed(app: PromptApp) -> None:
    """Then Enter sends the text as it is."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"/he", "escape", "l")
        assert listed(app) == []
        await pilot.press("enter")
        await pilot.pause()
        assert app.sent[0].text == "/hel"
        await pilot.press("/")
        assert listed(app)


# --- what was sent, what is unsent -----------------------------------------------------------------


async def sent_before(pilot: Pilot[None], app: PromptApp) -> None:
    for text in ("Tell me a story", "two\nlines", "What is a fox?"):
        app.prompt.set_text(text)
        await pilot.press("enter")
    await pilot.pause()


async def test_up_and_down_walk_through_what_was_sent(app: PromptApp) -> None:
    """From the edges of the text only; at the end stands what was being written."""
    async with app.run_test() as pilot:
        await sent_before(pilot, app)
        await pilot.press(*"new", "up")
        assert app.prompt.text == "What is a fox?"
        await pilot.press("up")
        assert app.prompt.text == "two\nlines"
        await pilot.press("up")
        assert app.prompt.text == "two\nlines"
        await pilot.press("up")
        assert app.prompt.text == "Tell me a story"
        await pilot.press("up", "down", "down", "down")
        assert app.prompt.text == "new"


@pytest.mark.parametrize("keys", [["up", "ctrl+u"], ["up", "!"], ["up", "up", "enter"], ["ctrl+r", "f", "enter"]])
async def test_a_message_that_another_took_the_place_of_is_gone_on_to(app: PromptApp, keys: list[str]) -> None:
    """Down, however the other came there and whatever became of it, has what was being written, with its paste."""
    async with app.run_test() as pilot:
        await sent_before(pilot, app)
        await pilot.press(*"new ")
        await paste(pilot, "line\n" * 30)
        written = app.prompt.written
        if keys[0] == "ctrl+r":
            app.prompt.search_sent()
        await pilot.press(*keys)
        other = app.prompt.text
        assert other != written.text
        await pilot.press("down")
        assert app.prompt.written == written
        await pilot.press("up")
        assert app.prompt.text == other


async def test_a_message_that_waits_is_taken_back_first(app: PromptApp) -> None:
    """With its marks and what they stand for; never over a text being written."""
    async with app.run_test() as pilot:
        await sent_before(pilot, app)
        app.waiting.append(
            WrittenMessage("it waits [pasted text: 1.0 kB, 2 lines]", {"[pasted text: 1.0 kB, 2 lines]": "a\nb"})
        )
        await pilot.press("x", "up")
        assert app.prompt.text == "What is a fox?"
        await pilot.press("ctrl+u", "up")
        assert app.prompt.written.content == "it waits a\nb"
        assert app.waiting == []


async def test_a_search_narrows_down_and_takes_or_leaves(app: PromptApp) -> None:
    """Letters narrow, the key again goes on, Enter takes without sending, Escape leaves what was there."""
    async with app.run_test(size=(80, 24)) as pilot:
        await sent_before(pilot, app)
        await pilot.press(*"unsent")
        app.prompt.search_sent()
        await pilot.press("t")
        assert listed(app) == ["What is a fox?", "two lines", "Tell me a story"]
        await pilot.press(*"ell")
        assert listed(app) == ["Tell me a story"]
        assert app.prompt.written.text == "unsent"
        await pilot.press("escape")
        assert app.prompt.text == "unsent"
        app.prompt.search_sent()
        app.prompt.search_sent()
        await pilot.press("enter")
        await pilot.pause()
        assert app.prompt.text == "two\nlines"
        assert len(app.sent) == 3


async def test_what_is_unsent_is_there_after_a_restart(app: PromptApp, tmp_path: Path) -> None:
    """Each conversation's own, with what was pasted; files are read again; what was sent is not there."""
    async with app.run_test() as pilot:
        await pilot.press(*"first ")
        await paste(pilot, LOG)
        app.prompt.open("7")
        app.prompt.set_text("see @README.md there")
        await pilot.pause()
    again = PromptApp(tmp_path / "data")
    async with again.run_test() as pilot:
        await pilot.pause()
        assert again.prompt.written.content == f"first {LOG}".strip()
        again.prompt.open("7")
        await wait_until(pilot, lambda: again.prompt.written.attachments)
        await pilot.press("enter")
        await wait_until(pilot, lambda: again.sent)
        again.prompt.open("")
        again.prompt.open("7")
        assert again.prompt.text == ""


async def test_a_file_is_attached_in_each_conversation_that_mentions_it(app: PromptApp) -> None:
    async with app.run_test() as pilot:
        app.prompt.set_text("see @README.md there")
        await wait_until(pilot, lambda: app.prompt.written.attachments)
        app.prompt.open("7")
        app.prompt.set_text("and @README.md here")
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.sent)
        assert app.sent[0].content.startswith("File: README.md\n")


async def test_a_search_costs_no_conversation_what_is_unsent_in_it(app: PromptApp) -> None:
    """Going to another one ends it."""
    async with app.run_test() as pilot:
        app.prompt.open("7")
        app.prompt.set_text("unsent there")
        app.prompt.open("")
        app.prompt.set_text("unsent here")
        app.prompt.search_sent()
        await pilot.press(*"fox")
        app.prompt.open("7")
        await pilot.pause()
        assert app.prompt.written.text == "unsent there"
        app.prompt.save()
        app.prompt.open("")
        assert app.prompt.written.text == "unsent here"
        app.prompt.open("7")
        assert app.prompt.written.text == "unsent there"


async def test_what_comes_into_the_line_ends_a_search(app: PromptApp) -> None:
    """Messages that come back stand before what was being written; nothing is taken for a word to search for."""
    async with app.run_test() as pilot:
        prompt = app.prompt
        ways: list[tuple[Callable[[], None], str]] = [
            (lambda: prompt.set_text("from elsewhere"), "from elsewhere"),
            (lambda: prompt.put_back([WrittenMessage("it waited")]), "it waited\nunsent"),
            (lambda: prompt.begin_attaching("README.md"), "unsent @README.md "),
        ]
        for act, text in ways:
            app.prompt.set_text("unsent")
            app.prompt.search_sent()
            await pilot.press(*"fox")
            act()
            await pilot.pause()
            assert app.prompt.written.text == app.prompt.text == text


async def test_a_search_takes_back_no_message_that_waits(app: PromptApp) -> None:
    """The line is empty then, but something is being written."""
    async with app.run_test() as pilot:
        app.waiting.append(WrittenMessage("it waits"))
        app.prompt.set_text("unsent")
        app.prompt.search_sent()
        await pilot.press("up")
        assert app.waiting
        await pilot.press("escape")
        assert app.prompt.text == "unsent"


async def test_what_was_put_aside_is_what_is_kept(app: PromptApp, tmp_path: Path) -> None:
    """With its pastes and files, which do not get into what is written on meanwhile."""
    async with app.run_test() as pilot:
        await pilot.press(*"mine ")
        await paste(pilot, LOG)
        app.prompt.put_aside(WrittenMessage("what was said"))
        await pilot.press("!")
        app.prompt.save()
        assert "what was said" not in saved(tmp_path)
        assert app.prompt.text == "what was said!"
        app.prompt.take_up()
        assert app.prompt.written.content == f"mine {LOG}".strip()
        app.prompt.put_aside(WrittenMessage("what was said"))
        app.prompt.open("7")
        assert app.prompt.text == ""
        app.prompt.open("")
        assert app.prompt.written.content == f"mine {LOG}".strip()


async def test_what_is_unsent_goes_with_the_conversation_that_begins(app: PromptApp) -> None:
    """The next new one has nothing of it."""
    async with app.run_test() as pilot:
        await pilot.press(*"unsent")
        app.prompt.save()
        app.prompt.belong_to("7")
        app.prompt.open("")
        assert app.prompt.text == ""
        app.prompt.open("7")
        assert app.prompt.text == "unsent"


async def test_what_is_unsent_is_saved_while_it_is_written(app: PromptApp, tmp_path: Path) -> None:
    """Not only at the end, which a kill would take away; a search is no message."""
    async with app.run_test() as pilot:
        await pilot.press(*"before a kill")
        await wait_until(pilot, lambda: "before a kill" in saved(tmp_path))
        app.prompt.search_sent()
        await pilot.press(*"fox")
        app.prompt.save()
        assert "before a kill" in saved(tmp_path)


def saved(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("unsent/*.json"))


# --- counting --------------------------------------------------------------------------------------


async def test_tokens_are_counted_while_the_engine_is_free(tmp_path: Path) -> None:
    """One question at a time, the answers add up, and an estimate is marked as one."""
    app = PromptApp(tmp_path, free=True)
    async with app.run_test() as pilot:
        await pilot.press(*"abcdefg")
        await wait_until(pilot, lambda: app.weight == "~2 tokens")
        await wait_until(pilot, lambda: app.asked == ["abcdefg"])
        app.prompt.counted(3)
        await pilot.pause()
        assert app.weight == "3 tokens"
        await paste(pilot, "line\n" * 30)
        await wait_until(pilot, lambda: len(app.asked) == 2)
        assert app.weight.startswith("~")
        app.prompt.counted(60)
        await pilot.pause()
        assert app.weight == "63 tokens"
        await pilot.press("ctrl+u")
        await wait_until(pilot, lambda: not app.weight)


# --- the editor ------------------------------------------------------------------------------------


@contextmanager
def lent() -> Iterator[None]:
    """The terminal, given to nobody."""
    yield


def script(folder: Path, body: str) -> str:
    path = folder / "an editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return f"'{path}' --wait"


async def test_the_text_goes_to_the_editor_and_comes_back(
    app: PromptApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was pasted is there to be edited; what is long comes back folded."""
    monkeypatch.setenv("VISUAL", script(tmp_path, 'echo more >> "$2"'))
    monkeypatch.setattr(app, "suspend", lent)
    async with app.run_test() as pilot:
        await pilot.press("a")
        await paste(pilot, LOG)
        app.prompt.edit_outside()
        await pilot.pause()
        assert app.prompt.text == "[pasted text: 1,024 kB, 64,001 lines]"
        assert app.prompt.written.unfolded == f"a{LOG}more\n"
        app.prompt.set_text("short")
        app.prompt.edit_outside()
        assert app.prompt.text == "shortmore"


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("exit 3", "ended with exit code 3"),
        ("/no/such/editor", "There is no editor /no/such/editor"),
        ("'unclosed", "$VISUAL cannot be understood"),
        ("/", "cannot be started"),
        ("", "No editor is known"),
    ],
)
async def test_an_editor_that_fails_costs_nothing(
    app: PromptApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str, words: str
) -> None:
    """A sentence, and the message is as it was."""
    monkeypatch.setenv("VISUAL", script(tmp_path, editor) if editor.startswith("exit") else editor)
    monkeypatch.delenv("EDITOR", raising=False)
    if not editor:
        monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(app, "suspend", lent)
    async with app.run_test() as pilot:
        await pilot.press(*"text")
        app.prompt.edit_outside()
        await pilot.pause()
        assert words in app.trouble
        assert app.prompt.text == "text"


async def test_without_room_for_its_file_the_editor_is_not_started(
    app: PromptApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence, and the message is as it was."""
    monkeypatch.setenv("VISUAL", "true")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    async with app.run_test() as pilot:
        await pilot.press(*"text")
        app.prompt.edit_outside()
        await pilot.pause()
        assert "The file for true cannot be used" in app.trouble
        assert app.prompt.text == "text"


async def test_without_a_terminal_to_lend_there_is_a_sentence(app: PromptApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a browser's tab."""
    monkeypatch.setenv("VISUAL", "true")
    async with app.run_test() as pilot:
        app.prompt.edit_outside()
        await pilot.pause()
        assert "cannot have the terminal" in app.trouble
