"""What the settings look like, at three sizes and in several colours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from localspec.tui.theme import DARK, HIGH_CONTRAST, LIGHT, TERMINAL_DARK
from tests.tui.settings_support import details, open_settings, rows, said, screen, settings_app
from tests.tui.support import FakeEngine, wait_until

SMALL, MEDIUM, LARGE = (60, 15), (80, 24), (120, 40)
NO_COLOR = "no-color"
TEXT = """\
[model]
threads = 2
ctx = 4096
[sampling]
preset = "precise"
temprature = 0.5
[reply]
stop = ["\\n\\n"]
[keys]
stop = "ctrl+n"
[pair.builtin]
temperature = 0.4
top_k = 20
"""

Scene = Callable[[Pilot[Any]], Awaitable[None]]


async def listed(pilot: Pilot[Any]) -> None:
    await open_settings(pilot)
    await wait_until(pilot, lambda: any(len(row) > 60 for row in rows(pilot)))


async def found(pilot: Pilot[Any]) -> None:
    await open_settings(pilot, "likely")
    await pilot.press("down", "down")
    await wait_until(pilot, lambda: "0.95" in details(pilot))


async def refused(pilot: Pilot[Any]) -> None:
    await open_settings(pilot, "sampling.min_p")
    await pilot.press("enter", "2", "enter")
    await wait_until(pilot, lambda: "it should be" in said(pilot))


async def changed(pilot: Pilot[Any]) -> None:
    await open_settings(pilot, "ctx")
    await pilot.press("enter", *"8192", "enter")
    await wait_until(pilot, lambda: "8192" in said(pilot))


async def for_the_pair(pilot: Pilot[Any]) -> None:
    await open_settings(pilot, "for this pair")
    await pilot.press("ctrl+t")
    await wait_until(pilot, lambda: "for this pair alone" in said(pilot) and "0.4" in details(pilot))


@pytest.mark.parametrize(
    ("scene", "size", "look"),
    [
        (listed, MEDIUM, DARK.name),
        (found, LARGE, LIGHT.name),
        (refused, MEDIUM, HIGH_CONTRAST.name),
        (changed, SMALL, NO_COLOR),
        (changed, MEDIUM, TERMINAL_DARK),
        (for_the_pair, MEDIUM, DARK.name),
    ],
    ids=lambda value: f"{value[0]}x{value[1]}" if isinstance(value, tuple) else getattr(value, "__name__", str(value)),
)
def test_looks(
    scene: Scene, size: tuple[int, int], look: str, snap_compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen is the one that was looked at and approved."""
    if look == NO_COLOR:
        monkeypatch.setenv("NO_COLOR", "1")
    app = settings_app(FakeEngine(), TEXT, "--seed", "7")
    app.theme = DARK.name if look == NO_COLOR else look

    async def prepare(pilot: Pilot[Any]) -> None:
        await scene(pilot)
        for field in screen(pilot).query(Input):
            field.cursor_blink = False
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=prepare)
