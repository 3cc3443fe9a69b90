"""The path of a token in the app: the files it passes from the queue of answers to its colour, none of them twice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import localspec
from localspec.chat.answer_queue import AnswerQueue
from localspec.chat.pacing import Pacer
from localspec.runtime.messages import Reply
from localspec.tui.tokens.layout import TokenLayout
from localspec.tui.tokens.palette import Palette
from tests.tui.support import FakeEngine, make_app, make_round
from tests.tui.test_chat import begin, written

PATH = [
    "chat/answer_queue.py",
    "chat/session.py",
    "chat/pacing.py",
    "chat/active_reply.py",
    "chat/tokens/inspectable_reply.py",
    "runtime/messages.py",
    "tui/controllers/replies.py",
    "tui/tokens/token_view.py",
    "tui/tokens/layout.py",
    "tui/tokens/palette.py",
]
"""As in docs/architecture.md. Before it, a token passes five files from the engine's loop through the pipe."""
STATIONS: list[tuple[type, str]] = [
    (AnswerQueue, "take"),
    (Pacer, "push"),
    (Pacer, "due"),
    (Reply, "receive"),
    (TokenLayout, "extend"),
    (Palette, "mark"),
]
PACKAGE = Path(localspec.__file__).parent


def files_below(first: str) -> list[str]:
    """The files of the functions that are running, innermost last, from the outermost call in ``first`` on."""
    files, frame = [], sys._getframe(2)
    while frame.f_back is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            files.append(path.relative_to(PACKAGE).as_posix())
        frame = frame.f_back
    files.reverse()
    return files[files.index(first) :] if first in files else []


async def test_a_token_passes_ten_files_in_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that runs where the token is taken, queued, kept, laid out and coloured stands in these files."""
    passed: set[str] = set()

    def watch(owner: type, name: str) -> None:
        done = getattr(owner, name)

        def watched(self: object, *arguments: Any, **named: Any) -> Any:
            first = "tui/tokens/token_view.py" if owner is Palette else "tui/controllers/replies.py"
            if files := files_below(first):
                passed.update(files, [Path(done.__code__.co_filename).relative_to(PACKAGE).as_posix()])
            return done(self, *arguments, **named)

        monkeypatch.setattr(owner, name, watched)

    engine = FakeEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        await begin(pilot, engine)
        for owner, name in STATIONS:
            watch(owner, name)
        engine.write([make_round(["One", " two"], rejected=[" three"])])
        await written(pilot, 2)
        await pilot.pause()
    assert passed == set(PATH)
