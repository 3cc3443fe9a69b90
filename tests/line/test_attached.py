"""Files that are no text, in the line mode: a sentence, and nothing that was said or attached is lost."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from localspec.config.text_folder import PROMPTS
from localspec.engine.cancel import Cancellation
from localspec.models.pairs.collecting import collect
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Role
from localspec.runtime.options import LoadOptions, Progress
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld
from tests.line.test_conversations import PLAIN, asked, lines
from tests.line.test_terminal import PATIENCE_S, Start, ended, path, start
from tests.terminal import Terminal
from tests.tiny_models import write_tiny

__all__ = ["start"]


def wait_for_times(terminal: Terminal, text: str, n: int) -> None:
    """Until it was painted so often, wherever lines break, and no longer than anybody waits."""
    deadline_s = time.monotonic() + PATIENCE_S
    while b" ".join(terminal.painted.split()).count(text.encode()) < n:
        assert time.monotonic() < deadline_s, text
        terminal.read(0.1)


def test_a_file_that_is_no_text_is_refused(start: Start, tmp_path: Path) -> None:
    """By command and in a message, which is not sent; what was attached before still goes with the next one."""
    (tmp_path / "note.txt").write_text("read me\n", "utf-8")
    (tmp_path / "bad").write_bytes(b"\x7fELF\0\1")
    said = "is not text"
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
    (tmp_path / "bad").write_bytes(b"\x7fELF\0\1")
    world = FakeWorld()
    done = localspec(*PLAIN, world=world, stdin=lines("one", f"/attach {tmp_path / 'bad'}", "two"))
    assert done.code == 3
    assert "bad is not text" in done.err
    assert asked(world)[-1] == "one"


def test_files_go_with_the_next_message_whichever_command_says_it(localspec: Localspec, tmp_path: Path) -> None:
    """One for several pairs, or a prompt of the user's own; the message after it has none."""
    (tmp_path / "note.txt").write_text("read me\n", "utf-8")
    PROMPTS.path.mkdir(parents=True)
    (PROMPTS.path / "check.md").write_text("is it right", "utf-8")
    collect([write_tiny(tmp_path / "tiny.gguf", "llama")])
    attach = f"/attach {tmp_path / 'note.txt'}"
    done = localspec(
        "chat", "--plain", stdin=lines(attach, "/compare tiny why so", "/attach", attach, "/prompt check", "two")
    )
    assert done.code == 0, done.err
    assert "Nothing is attached" in done.err
    questions = [node.content for node in path() if node.role is Role.USER]
    assert [(each.rpartition("\n")[2], "read me" in each) for each in questions] == [
        ("why so", True),
        ("is it right", True),
        ("two", False),
    ]


class NarrowTiny(FakeWorld):
    """The pair "tiny" has a small context."""

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        if options.target.stem == "tiny":
            options = replace(options, n_ctx=256)
        return super().open_pair(options, cancel, progress)


def test_a_file_is_fitted_to_the_pair_that_reads_it(localspec: Localspec, tmp_path: Path) -> None:
    """Another may have been chosen since it was attached."""
    (tmp_path / "long.txt").write_text("many words\n\n" * 90, "utf-8")
    collect([write_tiny(tmp_path / "tiny.gguf", "llama")])
    said = (f"/attach {tmp_path / 'long.txt'}", "/pair tiny", "many words?")
    done = localspec("chat", "--plain", world=NarrowTiny(), stdin=lines(*said))
    assert done.code == 0, done.err
    assert "long.txt is too large to be read whole" in done.err
