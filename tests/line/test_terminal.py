"""The line mode at a terminal, with keys."""

from __future__ import annotations

import re
import readline
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localspec.base.paths import user_paths
from localspec.chat.compose.history import PromptHistory
from localspec.models.pairs.collecting import collect
from localspec.runtime.messages import Role
from localspec.store import Node, ReplyState, Store
from tests.cli.support import ENDLESS, FAKE, FILES
from tests.config.support import add_persona
from tests.terminal import Terminal
from tests.tiny_models import write_tiny

PATIENCE_S = 120.0
Start = Callable[..., Terminal]


@pytest.fixture
def start() -> Iterator[Start]:
    """``localspec chat --plain`` on a terminal; it has invited to type."""
    started: list[Terminal] = []

    def run(*arguments: str, term: str = "dumb", columns: int = 200) -> Terminal:
        command = [sys.executable, "-c", FAKE, "chat", "--plain", *FILES, *arguments]
        started.append(Terminal(command, {"TERM": term, "INPUTRC": "/dev/null"}, columns=columns))
        started[-1].wait_for("> ", PATIENCE_S)
        return started[-1]

    yield run
    for terminal in started:
        terminal.close()


def ended(terminal: Terminal) -> int:
    """The exit code, once all that was painted has been read. Raises TimeoutError if it goes on."""
    deadline_s = time.monotonic() + PATIENCE_S
    while terminal.process.poll() is None:
        terminal.read(0.1)
        if time.monotonic() > deadline_s:
            raise TimeoutError("the chat has not ended")
    while terminal.read(0.0) and terminal.painted[-1:] != b"":
        break
    return terminal.process.wait()


def press(terminal: Terminal, keys: str) -> None:
    """Press keys once the line editor is there to see them: it has invited to type."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not terminal.painted.endswith(b"> "):
        terminal.read(0.1)
        if time.monotonic() > deadline_s:
            raise TimeoutError("nobody was invited to type")
    terminal.type(keys)


def path() -> list[Node]:
    store = Store.open()
    thread = store.open_conversation(store.conversations()[0].heading.id)
    store.close()
    return list(thread.path)


def test_a_dumb_terminal_sees_text_alone(start: Start) -> None:
    """No escape sequence, and no sign that overwrites a line."""
    terminal = start(term="dumb")
    terminal.type("hello\n")
    terminal.wait_for("guesses accepted", PATIENCE_S)
    terminal.type("/marks\nhello\n/quit\n")
    assert ended(terminal) == 0
    assert "dreiß".encode() in terminal.painted
    assert b"\x1b" not in terminal.painted
    assert b"\b" not in terminal.painted
    assert not re.search(rb"\r(?!\n|\r)", terminal.painted)


def test_ctrl_c_stops_the_reply_and_keeps_its_text(start: Start) -> None:
    """The chat goes on; at the prompt it takes two to leave."""
    terminal = start(*ENDLESS)
    terminal.type("hello\n")
    terminal.wait_for("two", PATIENCE_S)
    terminal.type("\x03")
    terminal.wait_for("Stopped; /continue goes on.", PATIENCE_S)
    terminal.type("/rename kept\n")
    terminal.wait_for("The title is: kept.", PATIENCE_S)
    press(terminal, "\x03")
    terminal.wait_for("Ctrl-C once more leaves", PATIENCE_S)
    press(terminal, "\x03")
    assert ended(terminal) == 130
    assert b"Traceback" not in terminal.painted
    question, reply = path()
    assert (question.content, reply.role, reply.state) == ("hello", Role.ASSISTANT, ReplyState.DONE)
    assert "two" in reply.content


def test_mistakes_end_nothing(start: Start, tmp_path: Path) -> None:
    """Unknown words, files that are not there, bytes that are no text, a Ctrl-C now and then."""
    terminal = start()
    for typed, said in (
        (b"/lsit\n", "Did you mean /list?"),
        (b"/open 5\n", "none were listed"),
        (f"/attach {tmp_path}/none\n".encode(), "There is no file"),
        (b"\xff\xfe\n", "is not UTF-8 text"),
        (b"hello\n", "guesses accepted"),
    ):
        terminal.type(typed)
        terminal.wait_for(said, PATIENCE_S)
    for _ in range(2):
        press(terminal, "\x03")
        terminal.wait_for("Ctrl-C once more leaves", PATIENCE_S)
        terminal.type('"""half a message\n')
        terminal.wait_for("... ", PATIENCE_S)
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C once more leaves", PATIENCE_S)
        terminal.type("/stop\n")
        terminal.wait_for("No reply is being written", PATIENCE_S)
    press(terminal, "\x04")
    assert ended(terminal) == 0


@pytest.mark.skipif("libedit" in (readline.__doc__ or ""), reason="libedit knows no bracketed paste")
def test_several_lines_that_are_pasted_are_one_message(start: Start) -> None:
    """The terminal is asked to say what is pasted."""
    terminal = start(term="xterm")
    assert b"\x1b[?2004h" in terminal.painted
    press(terminal, "\x1b[200~def one():\n    return 1\x1b[201~\n")
    terminal.wait_for("guesses accepted", PATIENCE_S)
    press(terminal, "/quit\n")
    assert ended(terminal) == 0
    assert [node.content for node in path() if node.role is Role.USER] == ["def one():\n    return 1"]


def test_what_was_sent_comes_back_with_up(start: Start) -> None:
    """Also in the next chat; the list is the one of the chat screen."""
    terminal = start(term="xterm")
    terminal.type("hello there\n")
    terminal.wait_for("guesses accepted", PATIENCE_S)
    terminal.type("/quit\n")
    assert ended(terminal) == 0
    again = start(term="xterm")
    again.type("\x1b[A again\n")
    again.wait_for("guesses accepted", PATIENCE_S)
    again.type("/quit\n")
    assert ended(again) == 0
    messages = PromptHistory(user_paths().data / "sent-messages.jsonl").messages
    assert [written.text for written in messages] == ["hello there", "hello there again"]


def test_editing_begins_with_the_question(start: Start) -> None:
    """Keys change it in place; an empty answer leaves it."""
    terminal = start(term="xterm")
    terminal.type("hello\n")
    terminal.wait_for("guesses accepted", PATIENCE_S)
    terminal.type("/edit\n")
    terminal.wait_for("Type it anew", PATIENCE_S)
    terminal.type(" there\n")
    terminal.wait_for("guesses accepted", PATIENCE_S)
    terminal.type("/quit\n")
    assert ended(terminal) == 0
    assert path()[0].content == "hello there"


def test_tab_completes_commands_files_and_values(start: Start, tmp_path: Path) -> None:
    """Of a command whose values are known: a persona, a setting."""
    add_persona("pirate.md", "Speak as a pirate.")
    (tmp_path / "a note.txt").write_text("read me", "utf-8")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "first.txt").write_text("read me", "utf-8")
    terminal = start(term="xterm")
    terminal.type(f"/att\t{tmp_path}/no\tfi\t\n")
    terminal.wait_for("The next message goes with", PATIENCE_S)
    terminal.type(f"/sch\t{tmp_path}/no\tfi\t\n")
    terminal.wait_for("no JSON", PATIENCE_S)
    terminal.type("/pers\tpi\t\n")
    terminal.wait_for("pirate speaks", PATIENCE_S)
    terminal.type("/set tempera\t 0.3\n")
    terminal.wait_for("Temperature is 0.3", PATIENCE_S)
    terminal.type("/quit\n")
    assert ended(terminal) == 0


def test_files_are_named_in_what_is_typed(start: Start, tmp_path: Path) -> None:
    """Also behind the pairs of a comparison, which Tab completes. A name that no file has is only text."""
    note = tmp_path / "note.txt"
    note.write_text("read me", "utf-8")
    collect([write_tiny(tmp_path / "tiny.gguf", "llama")])
    terminal = start()
    terminal.type(f"/attach {note}\nwhat is in @{note}, my @friend and @{'x' * 300}?\n")
    terminal.wait_for("guesses accepted", PATIENCE_S)
    terminal.type(f"/compare builtin ti\t and in @{note}?\n")
    terminal.wait_for("Each reply is a version", PATIENCE_S)
    terminal.type("/quit\n")
    assert ended(terminal) == 0
    questions = [node.content for node in path() if node.role is Role.USER]
    assert [each.startswith(f"File: {note}\n") for each in questions] == [True, True]
    assert questions[0].count("File: ") == 1


def test_long_sentences_break_at_words(start: Start) -> None:
    """On a narrow terminal no word of a remark is cut in two."""
    terminal = start(columns=40)
    terminal.type("/stop\n")
    terminal.wait_for("stays.", PATIENCE_S)
    press(terminal, "/quit\n")
    assert ended(terminal) == 0
    assert [line for line in terminal.painted.decode().splitlines() if len(line) > 40] == []


def test_what_is_not_stored_is_not_left_unsaid(start: Start, tmp_path: Path) -> None:
    """A store of a newer version is not written to: leaving takes a second /quit, and exporting works."""
    Store.open().close()
    connection = sqlite3.connect(user_paths().data / "history.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    terminal = start()
    terminal.type("hello\n")
    terminal.wait_for("guesses accepted", PATIENCE_S)
    terminal.type("/quit\n")
    terminal.wait_for("is lost when you leave", PATIENCE_S)
    terminal.type(f"/export {tmp_path}/talk.md\n")
    terminal.wait_for("is written to", PATIENCE_S)
    terminal.type("/quit\n")
    assert ended(terminal) == 0
    assert "hello" in (tmp_path / "talk.md").read_text("utf-8")
