"""What is said while a cache is kept on disk."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr

import pytest

from localspec.runtime.cache_notices import told_if_long
from localspec.runtime.worker.messages import Request
from localspec.tui.app import ChatApp, run_app
from tests.tui.fakes import with_settings
from tests.tui.pairs_support import BEST, MB, FakeWorld, progressed
from tests.tui.support import LAUNCH

PATIENCE_S = 120.0


class Heard(io.StringIO):
    """Knows when something was said, or would have been at a terminal."""

    def __init__(self, *, terminal: bool = True) -> None:
        super().__init__()
        self.said = threading.Event()
        self._terminal = terminal

    def isatty(self) -> bool:
        if not self._terminal:
            self.said.set()
        return self._terminal

    def flush(self) -> None:
        self.said.set()


def test_nobody_waits_without_a_word() -> None:
    with redirect_stderr(Heard()) as heard, told_if_long("It is being kept.", long_s=0.0):
        assert heard.said.wait(PATIENCE_S)
    assert heard.getvalue() == "It is being kept.\n"


def test_what_is_done_at_once_is_done_in_silence() -> None:
    with redirect_stderr(Heard()) as heard, told_if_long("It is being kept.", long_s=PATIENCE_S):
        pass
    assert heard.getvalue() == ""


def test_nothing_is_said_where_nobody_waits() -> None:
    """Into a file goes only what matters later."""
    heard = Heard(terminal=False)
    with redirect_stderr(heard), told_if_long("It is being kept.", long_s=0.0):
        assert heard.said.wait(PATIENCE_S)
    assert heard.getvalue() == ""


class Idle:
    """An engine's client that nothing is asked of."""

    def start(self) -> None:
        pass

    def send(self, request: Request) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_download_that_ends_with_the_app_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """How far it came, and how to go on."""
    world, told = FakeWorld(), threading.Event()

    def run(app: ChatApp) -> None:
        app._library.change_signal.listen(told.set)
        world.feed.put(progressed(2312 * MB))
        app._library.fetch(BEST.id)
        while (now := app._library.downloads.get(BEST.id)) is None or not now.percent:
            assert told.wait(PATIENCE_S)
            app._library.change_signal.take()
            app._library.change_signal.arm()

    monkeypatch.setattr("localspec.tui.app.LocalPairs", lambda settings: world)
    monkeypatch.setattr(ChatApp, "run", run)
    with redirect_stderr(Heard()) as heard:
        run_app(with_settings(LAUNCH), lambda deliver: Idle())
    world.feed.put(None)
    assert heard.getvalue() == (
        "The download of qwen3-8b stopped at 40 %; it goes on at the next start, "
        "or with `localspec pairs pull qwen3-8b`.\n"
    )
    assert [stop.is_set() for stop in world.stops] == [True]
