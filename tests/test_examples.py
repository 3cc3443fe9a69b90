"""The front end of docs/examples: it is small, it stands on the core alone, and it works."""

from __future__ import annotations

import ast
import io
import os
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.tally import Tally
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions, Progress
from localspec.store import Store
from tests.builtin import DRAFT, TARGET
from tests.cli.support import FakePair, info_of
from tests.tui.support import rounds_of

LOOP = Path(__file__).parents[1] / "docs" / "examples" / "plain_loop.py"
FRONT_ENDS = {"cli", "line", "tui", "web"}


def conversation() -> list[tuple[Role, str]]:
    """The only one in the store."""
    store = Store.open()
    try:
        (summary,) = store.conversations()
        return [(node.role, node.content) for node in store.open_conversation(summary.heading.id).path]
    finally:
        store.close()


def test_it_is_short_and_stands_on_the_core_alone() -> None:
    """At most 80 lines; nothing of another front end, and nothing private."""
    source = LOOP.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 80
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("localspec"):
            assert node.module.split(".")[1] not in FRONT_ENDS
        assert not (isinstance(node, ast.Attribute) and node.attr.startswith("_"))


def test_it_chats_with_the_built_in_pair_through_a_pipe() -> None:
    """Replies with marks on standard output, the rest on standard error; both turns are kept in one conversation."""
    done = subprocess.run(
        [sys.executable, LOOP, TARGET, DRAFT],
        input="Tell me a story about a fox.\nAnd then?\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        cwd=LOOP.parents[2],
    )
    questions = [content for role, content in conversation() if role is Role.USER]
    replies = [content for role, content in conversation() if role is Role.ASSISTANT]
    assert questions == ["Tell me a story about a fox.", "And then?"]
    assert re.sub(r"[][{}<>]", "", done.stdout) == re.sub(r"[][{}<>]", "", "".join(replies))
    assert len(re.findall(r"^\d+ tokens, ", done.stderr, re.MULTILINE)) == 2


class StoppablePair(FakePair):
    """Writes the first rounds of a reply, and then waits to be stopped; a reply gone on with comes to its end."""

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        self.asked.append((prompt, options))
        rounds = rounds_of("Once upon a time.")
        tally = Tally()
        yield Started(3, 0, 1)
        for round_ in rounds[1:] if prefix else rounds[:1]:
            tally.add(round_)
            yield round_
        while not (prefix or self.cancel.is_set()):
            os.sched_yield()
        yield Finished(FinishReason.STOP if prefix else FinishReason.CANCELLED, "", tally.timings())


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The loop in this process over such a pair; Ctrl-C comes with the first round."""

    def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        return StoppablePair(info_of(options), cancel)

    monkeypatch.setattr("localspec.runtime.load.open_pair", open_pair)

    def run(typed: str) -> None:
        names: dict[str, Any] = runpy.run_path(str(LOOP))
        show = names["show"]

        def interrupted(event: Event) -> None:
            show(event)
            if isinstance(event, Round) and event.index == 0:
                signal.raise_signal(signal.SIGINT)

        names["answer"].__globals__["show"] = interrupted
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        names["main"](TARGET)

    return run


def test_a_reply_does_not_steer_the_terminal(loop: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its control characters are shown as signs."""

    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Tty()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setattr("sys.stderr", sys.stderr)
    hostile = rounds_of("\x1b[2J\x1b]0;mine\x07 Once.")
    monkeypatch.setattr("tests.test_examples.rounds_of", lambda text: hostile)
    loop("A story?\n")
    assert "[2J" in screen.getvalue()
    assert "\x1b" not in screen.getvalue()


def test_ctrl_c_stops_a_reply_and_an_empty_line_goes_on_with_it(
    loop: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The text that came stays, in the store too; the next message follows it."""
    loop("A story?\n\n\n")
    whole = "".join(token.text for round_ in rounds_of("Once upon a time.") for token in round_.tokens)
    assert conversation() == [(Role.USER, "A story?"), (Role.ASSISTANT, whole)]
    written = capsys.readouterr().out
    assert re.sub(r"[][{}<>]", "", written) == whole
    assert set("[]{}<>") & set(written)
