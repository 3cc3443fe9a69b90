"""``localspec history``: what was said, from the shell."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from localspec.base.paths import user_paths
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.history import SENT_MESSAGES, PromptHistory
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.compose.unsent import UNSENT, UnsentMessages
from localspec.cli import history_text
from localspec.cli.history_text import broken
from localspec.cli.tables import cells
from localspec.config import config_file
from localspec.store import Store, database_file
from localspec.store.file_blocks import TextFile
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld
from tests.config.support import configure
from tests.store.support import ABOUT, branched, converse
from tests.store.test_files import CHATGPT


@pytest.fixture
def ids() -> tuple[str, str]:
    """Of a conversation with branches, and of one with an emoji and a sign that steers terminals."""
    store = Store.open()
    talks = branched(store), converse(store, ("日本語 🎉 \x1b[31m", "Certainly. " * 30))
    store.close()
    return talks[0].id, talks[1].id


def test_nothing_yet_says_what_to_do(localspec: Localspec) -> None:
    """In every listing, and no file is made by looking."""
    assert "`localspec` opens the chat" in localspec("history", "list").out
    assert localspec("history", "list", "--json").out.strip() == "[]"
    assert "No conversation was deleted" in localspec("history", "list", "--deleted").out
    assert "No message or title" in localspec("history", "search", "x").out
    assert localspec("history", "show", "ab").code == 4
    assert not database_file().exists()


def test_a_list_has_the_latest_first(localspec: Localspec, ids: tuple[str, str]) -> None:
    """With ids that every other command takes; programs get them whole."""
    done = localspec("history", "list")
    lines = done.out.splitlines()
    assert lines[0].split() == ["ID", "LAST", "SAID", "MESSAGES", "TITLE"]
    assert [line.split()[-1] for line in lines[1:]] == ["[31m", "blue?"]
    short = [line.split()[0] for line in lines[1:]]
    assert [whole.startswith(beginning) for whole, beginning in zip(reversed(ids), short, strict=True)] == [True, True]
    records = json.loads(localspec("history", "list", "--json").out)
    assert [record["id"] for record in records] == [ids[1], ids[0]]
    assert records[1]["messages_n"] == 5
    assert "\x1b" not in done.out


def test_an_export_of_nothing_says_so(localspec: Localspec) -> None:
    done = localspec("history", "export", "--all")
    assert (done.code, done.out) == (0, "")
    assert "no conversations to export" in done.err


def test_an_empty_list_of_what_was_deleted_says_nothing_of_the_archive(
    localspec: Localspec, ids: tuple[str, str]
) -> None:
    """It may have conversations; those that were deleted are listed with what is filed there."""
    localspec("history", "archive", ids[0])
    assert "archive is empty" not in localspec("history", "list", "--archived", "--deleted").out
    localspec("history", "rm", ids[0], "--yes")
    assert "sky" in localspec("history", "list", "--archived", "--deleted").out


def test_a_list_is_filtered_and_cut(localspec: Localspec, ids: tuple[str, str]) -> None:
    """And says what it leaves out."""
    assert localspec("history", "list", "--filter", "sky").out.count("\n") == 2
    assert "No title has the letters of 'zz'" in localspec("history", "list", "--filter", "zz").out
    assert "1 more; without --limit all are listed." in localspec("history", "list", "--limit", "1").out
    assert [r["id"] for r in json.loads(localspec("history", "list", "--filter", "wsb", "--json").out)] == [ids[0]]


def test_a_filter_of_places_that_keeps_nothing_says_what_else_it_may_look_through(
    localspec: Localspec, ids: tuple[str, str]
) -> None:
    """It speaks of letters only if letters were asked for."""
    assert "With is:any" in localspec("history", "list", "--filter", "folder:none").out
    assert "is:any" not in localspec("history", "list", "--archived", "--filter", "tag:none").out
    assert "No title has the letters" in localspec("history", "list", "--filter", "qqq").out


def test_a_conversation_is_shown(localspec: Localspec, ids: tuple[str, str]) -> None:
    """The branch that was open last, one with a certain message, or all."""
    out = localspec("history", "show", ids[0][:8]).out
    assert "Why is the sky blue?" in out
    assert "version 1/2" in out
    assert "sea" not in out
    everything = localspec("history", "show", ids[0], "--all").out
    assert "Why is the sea blue?" in everything
    assert "broken off by an error" in everything
    (sea,) = [
        m
        for m in json.loads(localspec("history", "show", ids[0], "--all", "--json").out)["messages"]
        if "sea" in m["content"]
    ]
    assert (sea["version"], sea["versions_n"]) == (2, 2)
    other = localspec("history", "show", ids[0], "--message", sea["id"][:6])
    assert "sea" in other.out
    assert "sky" not in other.out.splitlines()[2:]
    assert localspec("history", "show", ids[0], "--message", "zz").code == 4
    assert localspec("history", "show", ids[0], "--message", "zz", "--all").code == 2
    assert localspec("history", "show", "").code == 4


def test_a_hit_leads_to_its_place(localspec: Localspec, ids: tuple[str, str]) -> None:
    """The command it names shows it."""
    out = localspec("history", "search", "scatters", "light").out
    command = out.splitlines()[-1].removeprefix("To read it in its conversation: localspec ")
    assert "Because air scatters blue light." in localspec(*command.split()).out
    (hit,) = json.loads(localspec("history", "search", "scatters", "--json").out)
    assert (hit["conversation"], hit["role"], hit["title"]) == (ids[0], "assistant", "Why is the sky blue?")
    assert {"text": "scatters", "hit": True} in hit["snippet"]
    assert localspec("history", "search").code == 2


@pytest.mark.parametrize("kind", ["markdown", "html", "json", "ndjson"])
def test_what_is_exported_is_the_same_in_a_file(
    localspec: Localspec, ids: tuple[str, str], tmp_path: Path, kind: str
) -> None:
    """And no file is overwritten."""
    arguments = ("history", "export", "--all", "--format", kind)
    file = tmp_path / "out"
    out = localspec(*arguments).out
    done = localspec(*arguments, "--output", file)
    assert (done.code, done.out) == (0, "")
    assert "2 conversations written to" in done.err
    assert file.read_text(encoding="utf-8") == out
    assert "日本語" in out
    assert localspec(*arguments, "-o", file).code == 2
    assert localspec(*arguments, "-o", "-").out == localspec(*arguments).out
    assert localspec(*arguments, "-o", tmp_path / "no" / "out").code == 13
    assert file.read_text(encoding="utf-8") == out


@pytest.mark.parametrize(
    ("error", "code"), [(OSError(errno.ENOSPC, "No space left on device"), 13), (KeyboardInterrupt(), 130)]
)
@pytest.mark.parametrize(
    ("command", "step"),
    [
        (("export", "--all"), "localspec.store.files.export.to_markdown"),
        (("disagreements",), "localspec.insight.stats.disagreements.Disagreements.of"),
    ],
)
def test_a_file_that_is_not_finished_is_not_kept(
    localspec: Localspec,
    ids: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    step: str,
    error: BaseException,
    code: int,
) -> None:
    """Its name is free for the next try; and what is written is its owner's alone."""
    file = tmp_path / "out"
    arguments: tuple[str | Path, ...] = ("history", *command, "-o", file)

    def fail(*_: object) -> None:
        assert [each.name.startswith(".") for each in tmp_path.iterdir() if each.suffix == "" and each.is_file()] == [
            True
        ]
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        assert localspec(*arguments).code == code
    assert not file.exists()
    assert localspec(*arguments).code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_export_is_of_something(localspec: Localspec, ids: tuple[str, str]) -> None:
    """Some or all, not both and not neither."""
    assert localspec("history", "export").code == 2
    twice = localspec("history", "export", ids[0], "--all")
    assert (twice.code, "Give IDs, --all or --matching, one of them." in twice.err) == (2, True)
    assert localspec("history", "export", ids[0][:6], ids[0]).out.count("# Why is the sky blue?") == 1


def test_the_ending_of_the_file_says_the_form(localspec: Localspec, ids: tuple[str, str], tmp_path: Path) -> None:
    """Unless the form is named; an ending that says nothing is refused before there is a file."""
    for ending, kind in (
        (".json", "json"),
        (".HTML", "html"),
        (".NDJSON", "ndjson"),
        (".md", "markdown"),
        (".txt", "markdown"),
    ):
        file = tmp_path / f"out{ending}"
        assert localspec("history", "export", "--all", "-o", file).code == 0
        assert file.read_text("utf-8") == localspec("history", "export", "--all", "--format", kind).out
    page = tmp_path / "out.pdf"
    refused = localspec("history", "export", "--all", "-o", page)
    assert (refused.code, page.exists()) == (2, False)
    assert all(word in refused.err for word in (".pdf", ".md", ".txt", ".json", ".ndjson"))
    assert localspec("history", "export", "--all", "--format", "json", "-o", page).code == 0


def test_what_was_exported_comes_back(
    localspec: Localspec, ids: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another home; once, unless a copy is wanted."""
    file = tmp_path / "all.json"
    localspec("history", "export", "--all", "--format", "json", "-o", file)
    listed = localspec("history", "list", "--json").out
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "elsewhere"))
    assert "2 conversations imported." in localspec("history", "import", file).out
    assert localspec("history", "list", "--json").out == listed
    again = json.loads(localspec("history", "import", file, "--json").out)
    assert (again["imported"], set(again["known"])) == ([], set(ids))
    assert "2 skipped" in localspec("history", "import", file).out
    assert "2 conversations imported." in localspec("history", "import", file, "--copy").out
    assert len(json.loads(localspec("history", "list", "--json").out)) == 4


def test_a_malformed_file_keeps_all_others_out(localspec: Localspec, tmp_path: Path) -> None:
    """With a sentence that names the place."""
    (tmp_path / "good.json").write_text(json.dumps(CHATGPT), encoding="utf-8")
    bad = json.loads(json.dumps(CHATGPT))
    bad[0]["mapping"]["q"]["message"]["author"] = 7
    (tmp_path / "bad.json").write_text(json.dumps(bad), encoding="utf-8")
    done = localspec("history", "import", tmp_path / "good.json", tmp_path / "bad.json")
    assert done.code == 3
    assert "[0].mapping.q.message.author is a whole number, not an object" in done.err
    assert localspec("history", "list", "--json").out.strip() == "[]"


def test_what_is_deleted_can_be_restored(localspec: Localspec, ids: tuple[str, str]) -> None:
    """By the command that is told; without a terminal nothing goes unasked."""
    refused = localspec("history", "rm", ids[0])
    assert (refused.code, "Nothing was deleted" in refused.err) == (2, True)
    command = localspec("history", "rm", ids[0], "--yes").out.splitlines()[-1].partition("localspec ")[2]
    assert ids[0] not in localspec("history", "list", "--json").out
    assert ids[0] in localspec("history", "list", "--deleted", "--json").out
    assert localspec("history", "show", ids[0]).code == 4
    assert "Restored: Why is the sky blue?" in localspec(*command.split()).out
    assert ids[0] in localspec("history", "list", "--json").out


def test_a_title_is_given_and_taken_back(localspec: Localspec, ids: tuple[str, str]) -> None:
    """Without one, it is made from the question again; and no other conversation is touched."""

    def titles() -> set[str]:
        return {record["title"] for record in json.loads(localspec("history", "list", "--json").out)}

    before = titles()
    assert (
        localspec("history", "rename", ids[0][:8], "Colours", "of", "heaven").out == "The title is: Colours of heaven\n"
    )
    assert titles() == before - {"Why is the sky blue?"} | {"Colours of heaven"}
    localspec("history", "rename", ids[0])
    assert titles() == before
    assert localspec("history", "rename", "zz", "x").code == 4


def test_what_is_pinned_stands_first(localspec: Localspec, ids: tuple[str, str]) -> None:
    """Until it is let go."""

    def listed() -> list[str]:
        return [record["id"] for record in json.loads(localspec("history", "list", "--json").out)]

    assert listed() == [ids[1], ids[0]]
    assert localspec("history", "pin", ids[0]).out == "Pinned: Why is the sky blue?\n"
    assert listed() == [ids[0], ids[1]]
    localspec("history", "pin", ids[0], "--off")
    assert listed() == [ids[1], ids[0]]


def test_several_are_filed_and_archived_at_once(localspec: Localspec, ids: tuple[str, str]) -> None:
    """By ids or by a filter; what is archived is listed and searched only when asked for."""

    def listed(*options: str) -> list[str]:
        return [record["id"] for record in json.loads(localspec("history", "list", "--json", *options).out)]

    done = localspec("history", "file", *ids, "--folder", "Sky / blue", "--tag", "#Work")
    assert done.out.splitlines()[0] == "Why is the sky blue?: Sky/blue #work"
    localspec("history", "file", "--matching", "tag:work why", "--untag", "work", "--folder", "none")
    assert (listed("--filter", "tag:work"), listed("--filter", "folder:sky")) == ([ids[1]], [ids[1]])
    assert "#work" in localspec("history", "list").out
    assert localspec("history", "archive", "--matching", "tag:work").out.startswith("Archived: ")
    assert (listed(), listed("--archived")) == ([ids[0]], [ids[1]])
    assert localspec("history", "search", "certainly").code == 0
    assert [len(json.loads(localspec("history", "search", "--json", *words).out)) for words in SEARCHED] == [0, 1, 1]
    localspec("history", "archive", "--matching", "is:archived", "--off")
    assert listed() == [ids[1], ids[0]]
    twice = localspec("history", "archive", ids[0], "--matching", "x")
    assert (twice.code, "Give IDs or --matching FILTER, not both." in twice.err) == (2, True)
    assert localspec("history", "pin", "--matching", "tag:nothing").code == 4
    assert localspec("history", "file", ids[0]).code == 2
    for option in ("--tag", "--untag", "--folder"):
        refused = localspec("history", "file", ids[0], option, "")
        assert (refused.code, f"{option} is empty" in refused.err) == (2, True)
    localspec("history", "rm", "--yes", "--matching", "is:any")
    assert listed() == []


@pytest.mark.parametrize("filter_", ["", " ", "tag:#"])
@pytest.mark.parametrize("command", [("rm", "--yes"), ("archive",), ("pin",), ("file", "--tag", "x"), ("export",)])
def test_an_empty_filter_means_no_conversation(
    localspec: Localspec, ids: tuple[str, str], command: tuple[str, ...], filter_: str
) -> None:
    """As a variable of the shell that is not set gives it; all are meant only where that is said."""
    before = localspec("history", "list", "--json").out
    done = localspec("history", *command, "--matching", filter_)
    assert (done.code, done.out, "is:any" in done.err) == (2, "", True)
    assert localspec("history", "list", "--json").out == before


SEARCHED = (["certainly"], ["certainly", "is:any"], ["is:archived"])


@pytest.mark.parametrize(("answer", "left"), [(b"n\n", 2), (b"\n", 2), (b"y\n", 1)])
def test_a_person_is_asked(localspec: Localspec, ids: tuple[str, str], answer: bytes, left: int) -> None:
    """Only yes deletes."""
    localspec("history", "rm", ids[0], world=FakeWorld(terminal=True), stdin=answer)
    assert len(json.loads(localspec("history", "list", "--json").out)) == left


def test_for_good_is_for_good(localspec: Localspec, ids: tuple[str, str]) -> None:
    """Also of what was deleted before."""
    localspec("history", "rm", ids[0], "--yes")
    localspec("history", "rm", ids[0], ids[1], "--forever", "--yes")
    assert localspec("history", "restore", ids[0]).code == 4
    assert localspec("history", "list", "--json").out.strip() == "[]"


def test_for_good_leaves_no_word_of_what_was_typed(localspec: Localspec) -> None:
    """Neither among the messages sent before, with a paste in them or a file, nor of what was still being written."""
    paste = "[pasted text: 2 kB, 30 lines]"
    written = (
        WrittenMessage("Tell me of secret one"),
        WrittenMessage(f"See {paste} and secret two", {paste: "pasted words"}),
        WrittenMessage(
            "Of @notes.txt secret three",
            attachments=(Attachment("notes.txt", (TextFile("notes.txt", "in the file"),)),),
        ),
        WrittenMessage("Something else"),
    )
    store = Store.open()
    thread = converse(store, *((message.content, "Well.") for message in written[:3]))
    store.close()
    history = PromptHistory(user_paths().data / SENT_MESSAGES)
    for message in written:
        history.add(message)
    UnsentMessages(user_paths().data / UNSENT).save(thread.id, WrittenMessage("secret four"))
    assert localspec("history", "rm", thread.id, "--forever", "--yes").code == 0
    left = b"".join(path.read_bytes() for path in user_paths().data.rglob("*") if path.is_file())
    assert b"secret" not in left
    assert b"pasted words" not in left
    assert [message.text for message in PromptHistory(user_paths().data / SENT_MESSAGES).messages] == ["Something else"]


def test_for_good_names_what_models_keep(localspec: Localspec, ids: tuple[str, str]) -> None:
    """Where conversations cannot be told apart."""
    assert "replies" not in localspec("history", "rm", ids[0], "--forever", "--yes").out
    (user_paths().data / "replies").mkdir()
    (user_paths().data / "replies" / "abc").write_bytes(b"tokens")
    configure("[audit]\naudit_log = 'audit.ndjson'\n")
    config_file().with_name("audit.ndjson").touch()
    gone = localspec("history", "rm", ids[1], "--forever", "--yes").out
    assert "--remember-replies" in gone
    assert str(config_file().with_name("audit.ndjson")) in gone


def test_what_was_typed_and_cannot_be_deleted_stops_the_deletion(
    localspec: Localspec, ids: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all conversations, also where only what was typed in the last of them cannot be deleted."""
    where: list[object] = []

    def refused(self: PromptHistory, texts: object) -> None:
        where.append(texts)
        if len(where) == 2:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(PromptHistory, "forget", refused)
    done = localspec("history", "rm", *ids, "--forever", "--yes")
    assert (done.code, "Nothing was deleted" in done.err) == (11, True)
    assert all(each in localspec("history", "list", "--json").out for each in ids)


def test_copies_that_keep_what_was_deleted_are_named(localspec: Localspec, ids: tuple[str, str]) -> None:
    """Those that damage or a migration left beside the history."""
    copy = database_file().with_name("history-before-v3.db")
    copy.write_bytes(database_file().read_bytes())
    assert str(copy) not in localspec("history", "rm", ids[0], "--yes").out
    assert f"delete {copy}." in localspec("history", "rm", ids[1], "--forever", "--yes").out


def test_a_damaged_file_is_told_on_the_side(localspec: Localspec, ids: tuple[str, str]) -> None:
    """The listing itself stays what programs can read."""
    database_file().write_bytes(b"no database " * 1000)
    done = localspec("history", "list", "--json")
    assert json.loads(done.out) == []
    assert "was renamed to" in done.err


@pytest.mark.parametrize(
    "command",
    [("rename",), ("pin",), ("archive",), ("file", "--tag", "a"), ("rm", "--yes"), ("rm", "--forever"), ("import",)],
    ids=" ".join,
)
def test_what_can_only_be_read_is_not_changed(
    localspec: Localspec, ids: tuple[str, str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    """And is told once, before anything is asked."""
    with closing(sqlite3.connect(database_file())) as connection:
        connection.execute("PRAGMA user_version = 99")
    (tmp_path / "talk.json").write_text('{"format": "localspec-conversations", "version": 1, "conversations": []}')
    done = localspec("history", *command, tmp_path / "talk.json" if command == ("import",) else ids[0])
    assert (done.code, done.out) == (11, "")
    assert done.err.count("stored by a newer LocalSpec") == 1
    assert "New messages" not in done.err
    assert localspec("history", "show", ids[0]).code == 0


def test_a_reply_that_was_cut_off_is_shown_as_such(localspec: Localspec) -> None:
    """After a program died."""
    store = Store.open()
    thread = store.begin()
    thread.ask("Go on.")
    thread.begin_reply(ABOUT)
    store.close()
    assert "cut off when the program ended" in localspec("history", "show", thread.id).out


@pytest.mark.parametrize(
    ("line", "width", "pieces"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("  one two three", 8, ["  one", "  two", "  three"]),
        ("", 5, [""]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("日本語日本", 4, ["日本", "語日", "本"]),
        ("- 日本語日本", 6, ["- 日本", "語日本"]),
        ("one" + " " * 9 + "two", 40, ["one" + " " * 9 + "two"]),
        ("   ", 1, [""]),
    ],
)
def test_lines_are_broken_by_cells(line: str, width: int, pieces: list[str]) -> None:
    """At words where that is possible."""
    assert list(broken(line, width)) == pieces


def test_a_long_line_is_measured_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text without spaces, as Japanese is, took minutes by the page, and so did a long title of an import."""
    measured: list[int] = []

    def noting(text: str) -> int:
        measured.append(len(text))
        return cells(text)

    monkeypatch.setattr(history_text, "cells", noting)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    text = "日本語" * 500
    assert [len(piece) for piece in broken(text, 80)] == [40] * 37 + [20]
    assert history_text.cut(text) == "日本語" * 13 + "…"
    assert sum(measured) < 10 * len(text)


def test_history_needs_no_engine() -> None:
    """Neither llama.cpp nor the screen nor numpy is loaded for it."""
    code = (
        "import sys, localspec.store, localspec.store.files, localspec.cli.history_text\n"
        "print(*[name for name in ('llama_cpp', 'textual', 'numpy', 'jinja2', 'filelock') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
