"""The status line: one row of the terminal, which is rewritten and finally erased."""

from __future__ import annotations

import io
import os
import sys

import pytest

from localspec.cli.streams import Status


class _Terminal(io.StringIO):
    """A terminal of 24 columns."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


def test_a_status_is_one_row_of_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that it leaves could not be erased."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(os, "get_terminal_size", lambda descriptor: os.terminal_size((24, 8)))
    monkeypatch.setenv("TERM", "xterm")
    status = Status()
    status.show("measuring this machine (threads)", 0.5)
    status.show("reading\nthe files", 1.0)
    status.clear()
    erase = "\x1b[G\x1b[2K"
    assert terminal.getvalue().split(erase) == ["", "measuring this ma… 50 %", "reading␊the files 100 %", ""]
