"""What is said while the engine ends after the screen."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr

from localspec.tui.farewell import told_if_long

PATIENCE_S = 120.0


class Heard(io.StringIO):
    """Knows when something was said."""

    def __init__(self) -> None:
        super().__init__()
        self.said = threading.Event()

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
