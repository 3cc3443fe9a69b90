"""What reaches the terminal's writing thread."""

from __future__ import annotations

import pytest
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual.drivers.linux_driver import LinuxDriver

from localspec.tui.textual_fixes.driver import TerminalDriver


def test_a_frame_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is written in between; what is written outside of frames goes as it comes."""
    written: list[str] = []
    monkeypatch.setattr(LinuxDriver, "write", lambda self, data: written.append(data))
    driver = TerminalDriver.__new__(TerminalDriver)
    for data in ("title", SYNC_START, "a line", "the cursor", SYNC_END, "bell", SYNC_START, SYNC_END, "title"):
        driver.write(data)
    frames = [f"{SYNC_START}a line" + f"the cursor{SYNC_END}", SYNC_START + SYNC_END]
    assert written == ["title", frames[0], "bell", frames[1], "title"]
