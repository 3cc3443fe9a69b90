"""Files that are no text, in the line mode: a sentence, and nothing that was said or attached is lost."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld
from tests.line.test_conversations import PLAIN, asked, lines
from tests.line.test_terminal import PATIENCE_S, Start, ended, path, start
from tests.terminal import Terminal

__all__ = ["start"]

NO_TEXT = {
    "binary": (b"\x7fELF\0\1", "is not text"),
    "latin-1": ("café".encode("latin-1"), "is not UTF-8 text"),
    "torn": ("one\ntwo 漢".encode()[:-1], "is not UTF-8 text"),
}


def wait_for_times(terminal: Terminal, text: str, n: int) -> None:
    """Until it was painted so often, wherever lines break, and no longer than anybody waits."""
    deadline_s = time.monotonic() + PATIENCE_S
    while b" ".join(terminal.painted.split()).count(text.encode()) < n:
        assert time.monotonic() < deadline_s, text
        terminal.read(0.1)


@pytest.mark.parametrize(("content", "said"), NO_TEXT.values(), ids=NO_TEXT)
def test_a_file_that_is_no_text_is_refused(start: Start, tmp_path: Path, content: bytes, said: str) -> None:
    """By command and in a message, which is not sent; what was attached before still goes with the next one."""
    (tmp_path / "note.txt").write_text("read me\n", "utf-8")
    (tmp_path / "bad").write_bytes(content)
    terminal = start()
    terminal.type(f"/attach {tmp_path}/note.txt\n")
    wait_for_times(terminal, "The next message goes with", 1)
    terminal.type(f"/attach {tmp_path}/bad\n")
    wait_for_times(terminal, said, 1)
    terminal.type(f"what is @{tmp_path}/bad about\n")
    wait_for_times(terminal, said, 2)
    terminal.type("/attach\n")
    wait_for_times(terminal, "The next message goes with", 2)
    terminal.type("and this?\n")
    wait_for_times(terminal, "guesses accepted", 1)
    terminal.type("/quit\n")
    assert ended(terminal) == 0
    assert b"Traceback" not in terminal.painted
    (question, _) = path()
    assert question.content.endswith("read me\n```\n\nand this?")


def test_a_script_ends_at_it_with_what_was_said_kept(localspec: Localspec, tmp_path: Path) -> None:
    """As at any mistake of a script; the message before was answered."""
    (tmp_path / "bad").write_bytes(b"\xff\xfe\0")
    world = FakeWorld()
    done = localspec(*PLAIN, world=world, stdin=lines("one", f"/attach {tmp_path / 'bad'}", "two"))
    assert done.code == 3
    assert "bad is not text" in done.err
    assert asked(world)[-1] == "one"
