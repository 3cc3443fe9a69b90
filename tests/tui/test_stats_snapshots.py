"""What the screen of figures looks like, at several sizes and in several colours."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.tui.theme import DARK, HIGH_CONTRAST, LIGHT, TERMINAL_DARK
from tests.tui.looks import NO_COLOR, name_of, theme_of
from tests.tui.stats_support import full_store, open_stats
from tests.tui.stats_support import utc as utc
from tests.tui.support import FakeEngine, make_app

TINY, SMALL, MEDIUM, LARGE, WIDE = (20, 5), (40, 12), (80, 24), (120, 40), (200, 50)


@pytest.mark.parametrize(
    ("keys", "size", "look"),
    [
        ("", MEDIUM, DARK.name),
        ("down down", LARGE, LIGHT.name),
        ("tab down", MEDIUM, TERMINAL_DARK),
        ("left", WIDE, HIGH_CONTRAST.name),
        ("left left pagedown", SMALL, NO_COLOR),
        ("down", TINY, LIGHT.name),
    ],
    ids=name_of,
)
def test_looks(
    keys: str, size: tuple[int, int], look: str, snap_compare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen is the one that was looked at and approved."""
    theme = theme_of(look, monkeypatch)
    with closing(full_store(tmp_path / "history.db")) as store:
        app = make_app(FakeEngine(), store=store)
        app.theme = theme

        async def prepare(pilot: Pilot[Any]) -> None:
            await open_stats(pilot, *keys.split())

        assert snap_compare(app, terminal_size=size, run_before=prepare)


def test_nothing_yet(snap_compare: Any) -> None:
    """A sentence says what will be here."""
    app = make_app(FakeEngine())
    app.theme = LIGHT.name
    assert snap_compare(app, terminal_size=(60, 15), run_before=open_stats)
