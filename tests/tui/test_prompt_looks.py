"""What the prompt looks like with something open above it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.prompt_app import PromptApp, listed, paste
from tests.tui.support import wait_until

NO_COLOR = "no-color"

Scene = Callable[[PromptApp, Pilot[Any]], Awaitable[None]]


async def files(app: PromptApp, pilot: Pilot[Any]) -> None:
    await pilot.press(*"Compare @s")
    await wait_until(pilot, lambda: "src/app.py" in listed(app))
    await pilot.press("down")


async def attached(app: PromptApp, pilot: Pilot[Any]) -> None:
    app.prompt.fit(100)
    await pilot.press(*"See ")
    for path in ("src/", "README.md", "picture.png", "large.txt"):
        app.prompt.begin_attaching(path)
        await wait_until(pilot, lambda path=path: app.prompt.enclosures.knows(path) or path in app.trouble)  # type: ignore[misc]
    await paste(pilot, "a line\n" * 12_034)
    app.prompt.weigh()


async def sent(app: PromptApp, pilot: Pilot[Any]) -> None:
    for text in ("Tell me a story about a fox", "Another story\nwith two lines", "What is a draft?"):
        app.prompt.set_text(text)
        await pilot.press("enter")
    app.prompt.search_sent()
    await pilot.press(*"story", "down")


@pytest.mark.parametrize(
    ("scene", "size", "theme"),
    [
        (files, (80, 14), "localspec-dark"),
        (attached, (80, 14), "localspec-dark"),
        (attached, (40, 14), "localspec-light"),
        (sent, (60, 8), NO_COLOR),
    ],
    ids=["files", "attached", "attached-narrow", "sent"],
)
def test_looks(
    scene: Scene,
    size: tuple[int, int],
    theme: str,
    snap_compare: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The prompt is the one that was looked at and approved."""
    if theme == NO_COLOR:
        monkeypatch.setenv("NO_COLOR", "1")
    texts = {
        "README.md": "Read me.\n" * 40,
        "src/app.py": "print(1)\n",
        "src/deep/store.py": "x\n",
        "large.txt": "y" * 2000,
    }
    for name, text in texts.items():
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).write_text(text)
    (tmp_path / "files" / "picture.png").write_bytes(b"\x89PNG\0\0")
    monkeypatch.chdir(tmp_path / "files")
    app = PromptApp(tmp_path / "data")
    if theme != NO_COLOR:
        app.theme = theme

    async def prepare(pilot: Pilot[Any]) -> None:
        await scene(app, pilot)
        app.prompt.area.cursor_blink = False
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=prepare)
