"""What reaches the terminal's writing thread."""

from __future__ import annotations

import pytest
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._compositor import LayoutUpdate
from textual.drivers.linux_driver import LinuxDriver

from localspec.tui.textual_fixes.driver import TerminalDriver
from tests.tui.support import FakeEngine, make_app, ready, wait_until


def test_a_frame_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is written in between; what is written outside of frames goes as it comes."""
    written: list[str] = []
    monkeypatch.setattr(LinuxDriver, "write", lambda self, data: written.append(data))
    driver = TerminalDriver.__new__(TerminalDriver)
    for data in ("title", SYNC_START, "a line", "the cursor", SYNC_END, "bell", SYNC_START, SYNC_END, "title"):
        driver.write(data)
    frames = [f"{SYNC_START}a line" + f"the cursor{SYNC_END}", SYNC_START + SYNC_END]
    assert written == ["title", frames[0], "bell", frames[1], "title"]


async def test_the_screen_is_drawn_whole_for_a_program_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a shell, which has had the terminal meanwhile: nothing of what was drawn before is there any more."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        drawn: list[object] = []
        monkeypatch.setattr(app, "_display", lambda screen, update: drawn.append(update))
        app.post_message(TerminalDriver.SignalResume())
        await wait_until(pilot, lambda: any(isinstance(update, LayoutUpdate) for update in drawn))
