"""What all tests need that compare a screen with the picture of it that was approved."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from localspec.tui.theme import DARK
from tests.tui.support import chat

SMALL, MEDIUM, LARGE = (60, 15), (80, 24), (120, 40)
NO_COLOR = "no-color"
"""A look that is no theme."""


def name_of(value: object) -> str:
    """What a scene, a size or a look is called in the name of a picture."""
    if isinstance(value, tuple):
        return f"{value[0]}x{value[1]}"
    return str(getattr(value, "__name__", value)).replace(" ", "-")


def theme_of(look: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The theme for a look; to be asked for before there is an app, which asks once whether to have colours."""
    if look != NO_COLOR:
        return look
    monkeypatch.setenv("NO_COLOR", "1")
    return DARK.name


async def hold_still(pilot: Pilot[Any]) -> None:
    """Stop what changes a picture by itself: figures that are drawn, and cursors that blink."""
    chat(pilot)._replies._timer.pause()
    for screen in pilot.app.screen_stack:
        for area in screen.query(TextArea):
            area.cursor_blink = False
        for field in screen.query(Input):
            field.cursor_blink = False
    await pilot.pause()
