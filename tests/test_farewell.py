"""What is said while a cache is kept on disk."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr

from localspec.farewell import told_if_long

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
