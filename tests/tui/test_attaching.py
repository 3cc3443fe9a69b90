"""Files in the prompt: mentioned, picked, read, refused, and waited for."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.events import Key

from localspec.chat.compose import attaching
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.papers.meaning import Meaning
from localspec.tui.prompt.attached import Attached
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.mentions import NOT_SENT
from tests.chat.papers.test_meaning import FakeEmbedder
from tests.tiny_projectors import write_png
from tests.tui.prompt_app import PromptApp, app_among_files, listed, paste
from tests.tui.support import wait_until


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PromptApp:
    return app_among_files(tmp_path, monkeypatch)


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


async def test_notes_of_a_list_stand_in_one_column(tmp_path: Path) -> None:
    """Also where letters of a name take two cells."""
    for name in ("docs", "日本語フォルダ"):
        (tmp_path / "there" / name).mkdir(parents=True)
    app = PromptApp(tmp_path)
    async with app.run_test(size=(160, 20)) as pilot:
        app.prompt.set_text(f"@{tmp_path}/there/")
        await wait_until(pilot, lambda: len(listed(app)) == 2)
        rows = str(app.query_one(CompletionList).render()).split("\n")
        assert len({cell_len(row.partition("Enter attaches")[0]) for row in rows}) == 1


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
