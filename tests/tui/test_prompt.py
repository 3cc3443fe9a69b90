"""The prompt by itself: pastes, files, lists, what was sent before, what is unsent."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot

from localspec.chat.compose import attaching
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.papers.meaning import Meaning
from localspec.tui.prompt.attached import Attached
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.mentions import NOT_SENT
from tests.chat.papers.test_meaning import FakeEmbedder
from tests.tiny_projectors import write_png
from tests.tui.prompt_app import PromptApp, listed, paste
from tests.tui.support import wait_until

LOG = "a line of a log\n" * 64_000


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PromptApp:
    """In a folder with a few files."""
    files = tmp_path / "files"
    for name, text in (("README.md", "Read me."), ("src/app.py", "print(1)"), ("src/my notes.txt", "A note.")):
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(text)
    (files / "picture.png").write_bytes(b"\x89PNG\0\0")
    monkeypatch.chdir(files)
    return PromptApp(tmp_path / "data")


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


async def test_the_path_of_an_image_that_is_dropped_attaches_it(
    app: PromptApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terminals paste the path of a file that is dropped on them."""
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    path = write_png(tmp_path / "my cat.png", 64, 48)
    async with app.run_test() as pilot:
        await paste(pilot, f"'{path}'")
        await app.workers.wait_for_complete()
        await pilot.press(*"See")
        assert app.prompt.text == f'@"{path}" See'
        assert [attachment.chip for attachment in app.prompt.written.attachments] == [f"{path}  image 64x48"]


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


async def test_a_file_is_picked_and_goes_with_the_message(app: PromptApp) -> None:
    """A few letters find it; the chip says what it is; the model reads it before the question."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"Explain @ap")
        await wait_until(pilot, lambda: listed(app) == ["src/app.py"])
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.query_one(Attached).display)
        assert "src/app.py  0.1 kB, ~" in str(app.query_one(Attached).render())
        assert app.prompt.text == "Explain @src/app.py "
        await pilot.press(*"please", "enter")
        await pilot.pause()
        assert app.sent[0].content == "File: src/app.py\n```py\nprint(1)\n```\n\nExplain @src/app.py please"
        assert not app.query_one(Attached).display


@pytest.mark.parametrize(
    ("keys", "sent", "text"),
    [
        ("ctrl+u n o enter", "no", ""),
        ("home delete delete enter", "plain @ap", ""),
        ("left backspace z q enter", "Explain @zqp", ""),
        ("home delete delete end enter", None, "plain @src/app.py "),
    ],
)
async def test_what_is_taken_goes_by_the_text_as_it_stands(
    app: PromptApp, keys: str, sent: str | None, text: str
) -> None:
    """Keys that come in one burst change the text before the list above it is drawn anew."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"Explain @ap")
        await wait_until(pilot, lambda: listed(app) == ["src/app.py"])
        for key in keys.split():
            app.post_message(Key(key, key if len(key) == 1 else None))
        await wait_until(pilot, lambda: app.sent or app.prompt.text == text)
        assert [written.text for written in app.sent] == ([sent] if sent else [])


async def test_folders_can_be_looked_into_and_attached(app: PromptApp) -> None:
    """Tab goes into one, Enter takes it; a path with a space is quoted, a path above is listed too."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("@", "s", "r", "c")
        await wait_until(pilot, lambda: "src/" in listed(app))
        await pilot.press("tab")
        await wait_until(pilot, lambda: app.prompt.text == "@src/" and "src/my notes.txt" in listed(app))
        await pilot.press(*"note", "enter")
        await wait_until(pilot, lambda: app.prompt.enclosures.knows("src/my notes.txt"))
        assert app.prompt.text == '@"src/my notes.txt" '
        await pilot.press("@", *"../f")
        await wait_until(pilot, lambda: listed(app) == ["../files/"])
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.prompt.enclosures.knows("../files/"))
        written = app.prompt.written
        assert [attachment.path for attachment in written.attachments] == ["src/my notes.txt", "../files/"]
        assert "picture.png" not in written.content


async def test_a_path_written_by_hand_is_attached_when_it_is_sent(app: PromptApp) -> None:
    """If there is such a file; any other word after an @ is only a word."""
    async with app.run_test() as pilot:
        app.prompt.set_text("see @README.md")
        await pilot.press("escape", "enter")
        await wait_until(pilot, lambda: app.sent)
        assert app.sent[0].content == "File: README.md\n```md\nRead me.\n```\n\nsee @README.md"
        app.prompt.set_text("ask @somebody")
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(app.sent) == 2)
        assert app.sent[1].content == "ask @somebody"
        assert app.trouble == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\0\1", "bad is not text"),
        (b"caf\xe9", "bad is not UTF-8 text"),
        ("漢".encode()[:-1], "bad is not UTF-8"),
    ],
)
async def test_a_file_that_is_no_text_loses_nothing(app: PromptApp, content: bytes, said: str) -> None:
    """Said as soon as it is named; the message stays, and what else it attaches, to be sent without it."""
    Path("bad").write_bytes(content)
    async with app.run_test() as pilot:
        app.prompt.set_text("compare @README.md with @bad please")
        await wait_until(pilot, lambda: app.trouble)
        assert app.trouble.startswith(said)
        assert app.sent == []
        assert app.prompt.text == "compare @README.md with @bad please"
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.sent)
        assert app.sent[0].content == "File: README.md\n```md\nRead me.\n```\n\ncompare @README.md with @bad please"


async def test_what_cannot_be_attached_is_said_and_nothing_is_sent(app: PromptApp) -> None:
    """The message stays to be changed; sent again, the word is only a word."""
    async with app.run_test() as pilot:
        app.prompt.set_text("see @picture.png")
        await pilot.press("escape", "enter")
        await wait_until(pilot, lambda: app.trouble)
        assert app.trouble.startswith("picture.png is not an image in a format that is read here")
        assert app.sent == []
        await pilot.press("enter")
        await pilot.pause()
        assert app.sent[0].content == "see @picture.png"


async def test_attach_by_command(app: PromptApp) -> None:
    """The path becomes a mention; without one the list of files opens; a wrong one is said."""
    async with app.run_test(size=(80, 24)) as pilot:
        app.prompt.begin_attaching("src/my notes.txt")
        await wait_until(pilot, lambda: app.prompt.written.attachments)
        assert app.prompt.text == '@"src/my notes.txt" '
        app.prompt.begin_attaching("nowhere.txt")
        await wait_until(pilot, lambda: app.trouble)
        assert app.trouble.startswith("There is no file nowhere.txt.")
        await pilot.press("space")
        assert app.trouble == ""
        app.prompt.begin_attaching()
        await wait_until(pilot, lambda: "README.md" in listed(app))


async def test_a_command_is_told_a_file(app: PromptApp) -> None:
    """Tab writes names out, folder by folder; once a file is named the list is gone, and Enter sends."""
    async with app.run_test(size=(80, 24)) as pilot:
        app.prompt.set_text("/import ")
        await wait_until(pilot, lambda: "README.md" in listed(app))
        await pilot.press(*"sr", "tab")
        await wait_until(pilot, lambda: "src/my notes.txt" in listed(app))
        assert app.prompt.text == "/import src/"
        await pilot.press(*"my", "tab")
        await wait_until(pilot, lambda: listed(app) == [])
        assert app.prompt.text == "/import src/my notes.txt"
        assert not app.prompt.written.attachments
        await pilot.press("enter")
        await pilot.pause()
        assert [written.text for written in app.sent] == ["/import src/my notes.txt"]


async def test_what_a_command_is_told_is_sent_as_it_is_written(app: PromptApp) -> None:
    """Unless the reader went to a row of the list; a folder is only looked into."""
    async with app.run_test(size=(80, 24)) as pilot:
        app.prompt.set_text("/import s")
        await wait_until(pilot, lambda: "src/app.py" in listed(app))
        await pilot.press(*"top", "enter")
        await pilot.pause()
        app.prompt.set_text("/import ap")
        await wait_until(pilot, lambda: listed(app) == ["src/app.py"])
        await pilot.press("enter")
        await pilot.pause()
        app.prompt.set_text("/import ../f")
        await wait_until(pilot, lambda: listed(app) == ["../files/"])
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: "../files/picture.png" in listed(app))
        assert app.prompt.text == "/import ../files/"
        await pilot.press(*"pic", "down", "enter")
        await pilot.pause()
        assert [written.text for written in app.sent] == ["/import stop", "/import ap", "/import ../files/picture.png"]


async def test_only_commands_that_take_a_file_are_offered_one(app: PromptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        app.prompt.set_text("/schema ")
        await wait_until(pilot, lambda: "README.md" in listed(app))
        for text in ("/rename ", "/etc ", "/help "):
            app.prompt.set_text(text)
            await pilot.pause()
            assert listed(app) == []


@pytest.mark.parametrize("text", ["see @~nobody-of-this-name/", "/import ~nobody-of-this-name/a.json"])
async def test_the_home_of_nobody_has_no_files(app: PromptApp, text: str) -> None:
    """Nothing is offered, and writing goes on."""
    async with app.run_test(size=(80, 24)) as pilot:
        app.prompt.set_text(text)
        await pilot.pause()
        await wait_until(pilot, lambda: app.query_one(CompletionList).offer is None)
        await pilot.press("x")
        assert app.prompt.text == f"{text}x"


async def test_a_folder_is_looked_at_anew_for_another_mention(app: PromptApp) -> None:
    """As much may have happened there meanwhile as in the current one."""
    async with app.run_test(size=(80, 24)) as pilot:
        app.prompt.set_text("@../files/")
        await wait_until(pilot, lambda: "../files/README.md" in listed(app))
        app.prompt.set_text("")
        await pilot.pause()
        Path("fresh.txt").touch()
        app.prompt.set_text("@../files/")
        await wait_until(pilot, lambda: "../files/README.md" in listed(app))
        assert "../files/fresh.txt" in listed(app)


async def test_files_are_attached_however_their_names_were_typed(app: PromptApp) -> None:
    """With a sign of the sentence behind them; a folder with its slash or without."""
    async with app.run_test() as pilot:
        app.prompt.set_text("Compare @README.md, please, and @src too")
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.sent)
        assert [attached.path for attached in app.sent[0].attachments] == ["README.md", "src/"]


async def test_a_message_waits_for_what_its_question_means(tmp_path: Path, app: PromptApp) -> None:
    """For a moment, and no longer; what it goes along with was found by meaning."""
    embedder = FakeEmbedder()
    embedder.go_on.set()
    meaning = Meaning(lambda: embedder)
    app = PromptApp(tmp_path / "data", meaning=meaning)
    filler = "Nobody said anything about it at all.\n\n" * 60
    (Path("src") / "long.txt").write_text(f"{filler}An automobile has wheels.\n\n{filler}")
    async with app.run_test() as pilot:
        app.prompt.fit(512)
        app.prompt.set_text("How fast is a car? @src/long.txt ")
        await wait_until(pilot, lambda: meaning.wanted)
        assert await asyncio.to_thread(meaning.wait, 30, passages=True)
        await wait_until(pilot, lambda: "1 passage for the question" in str(app.query_one(Attached).render()))
        app.prompt.set_text("And how slow is a car? @src/long.txt ")
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.sent)
        assert "An automobile has wheels." in app.sent[0].content
    assert ("And how slow is a car?", True) in embedder.asked
    meaning.close()


async def test_a_folder_too_large_is_shown_as_searched(app: PromptApp) -> None:
    """With the tokens of the passages; a pair with a larger context takes it whole."""
    folder = Path("src") / "a folder whose name is as long as names of folders come to be"
    folder.mkdir()
    (folder / "long.txt").write_text("Nobody said anything.\n" * 100)
    (folder / "picture").write_bytes(b"\0")
    async with app.run_test(size=(80, 24)) as pilot:
        app.prompt.fit(100)
        app.prompt.set_text(f'What is in @"{folder}" ?')
        await wait_until(pilot, lambda: "too large" in str(app.query_one(Attached).render()))
        rows = str(app.query_one(Attached).render())
        assert "come to be/  1 file (1 without text left out), 2.2 kB, too large: 1 passage for the question" in rows
        assert re.search(r"\d tokens$", rows)
        assert app.query_one(Attached).size.height == 2
        app.prompt.fit(100_000)
        assert "too large" not in str(app.query_one(Attached).render())


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Files are read no sooner than this is called."""
    opened = threading.Event()

    def read(path: Path, name: str, *limits: Any) -> Attachment:
        opened.wait(20)
        return read_attachment(path, name, *limits)

    monkeypatch.setattr(attaching, "read_attachment", read)
    yield opened.set
    opened.set()


async def test_a_message_is_not_sent_from_another_conversation(app: PromptApp, gate: Callable[[], None]) -> None:
    """It waits where it was written; what is written elsewhere does not wait for its files, and does not get them."""
    async with app.run_test() as pilot:
        app.prompt.set_text("see @README.md now")
        await pilot.press("enter")
        app.prompt.open("7")
        app.prompt.set_text("another")
        await pilot.press("enter")
        await pilot.pause()
        assert [written.content for written in app.sent] == ["another"]
        app.prompt.set_text("unsent")
        gate()
        await wait_until(pilot, lambda: not list(app.workers))
        assert [written.content for written in app.sent] == ["another"]
        assert app.said == [NOT_SENT]
        app.prompt.open("")
        assert app.prompt.text == "see @README.md now"
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(app.sent) == 2)
        assert app.sent[1].content.startswith("File: README.md\n")


async def test_a_message_that_was_changed_is_not_sent_before_it_is_done(
    app: PromptApp, gate: Callable[[], None]
) -> None:
    """Enter was about what stood there."""
    async with app.run_test() as pilot:
        app.prompt.set_text("see @README.md now")
        await pilot.press("enter", "space", *"or")
        gate()
        await wait_until(pilot, lambda: app.said)
        assert app.said == [NOT_SENT]
        assert app.sent == []
        await pilot.press(*" not", "enter")
        await wait_until(pilot, lambda: app.sent)
        assert app.sent[0].content == "File: README.md\n```md\nRead me.\n```\n\nsee @README.md now or not"


async def test_a_message_is_sent_once_however_often_enter_is_pressed(app: PromptApp, gate: Callable[[], None]) -> None:
    async with app.run_test() as pilot:
        app.prompt.set_text("see @README.md now")
        await pilot.press("enter", "enter", "enter")
        gate()
        await wait_until(pilot, lambda: app.sent and not list(app.workers))
        assert [written.text for written in app.sent] == ["see @README.md now"]
        assert app.said == []


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


async def test_a_file_larger_than_the_context_is_refused_once_it_is_counted(tmp_path: Path) -> None:
    """With both numbers."""
    path = tmp_path / "big.txt"
    path.write_text("x " * 300)
    app = PromptApp(tmp_path, free=True)
    async with app.run_test() as pilot:
        app.prompt.fit(100)
        app.prompt.begin_attaching(str(path))
        await wait_until(pilot, lambda: app.prompt.written.attachments)
        while not app.trouble:
            await wait_until(pilot, lambda: app.asked)
            app.asked.clear()
            app.prompt.counted(307)
            await pilot.pause()
        assert app.trouble == f"{path} has 307 tokens, and the context holds 100. Attach a part of it."
        assert app.prompt.written.attachments == ()


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
