"""Themes: everything that is said can be read, in as many colours as the terminal has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import OptionList

from localspec.chat.commands.places import known
from localspec.chat.pair_slot import Phase
from localspec.chat.text.links import Link
from localspec.config import setting
from localspec.tui.app import ChatApp
from localspec.tui.screens.links import LinksScreen
from localspec.tui.theme import (
    DARK,
    HIGH_CONTRAST,
    LIGHT,
    OWN_THEMES,
    TERMINAL_DARK,
    TERMINAL_LIGHT,
    theme_for,
)
from localspec.tui.tokens.palette import MIN_CONTRAST, contrast
from tests.tui.pairs_support import shelf_of
from tests.tui.settings_support import chat_config
from tests.tui.stats_support import full_store
from tests.tui.support import FakeEngine, wait_until

TEXTS = ("foreground", "quiet", "accent", "error", "warning", "success")
BACKGROUNDS = ("background", "surface")


def colour(theme: Theme, name: str) -> Color:
    return Color.parse(str(theme.variables.get(name) or getattr(theme, name)))


def in_256(colour: Color) -> Color:
    """What a terminal of 256 colours makes of it."""
    nearest = RichColor.from_rgb(*colour.rgb).downgrade(ColorSystem.EIGHT_BIT)
    return Color(*nearest.get_truecolor())


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: str(theme.name))
@pytest.mark.parametrize("name", TEXTS)
def test_every_text_can_be_read(theme: Theme, name: str) -> None:
    """On both backgrounds, with 16 million colours and with 256."""
    for background in BACKGROUNDS:
        text, ground = colour(theme, name), colour(theme, background)
        assert contrast(text, ground) >= MIN_CONTRAST, f"{contrast(text, ground):.2f} on {background}"
        few = contrast(in_256(text), in_256(ground))
        assert few >= MIN_CONTRAST, f"{few:.2f} on {background} of 256"


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: str(theme.name))
def test_a_highlighted_row_can_be_read(theme: Theme) -> None:
    """It lies on the panel's colour."""
    for name in TEXTS:
        assert contrast(colour(theme, name), colour(theme, "panel")) >= MIN_CONTRAST, name


def test_high_contrast_is_higher() -> None:
    """WCAG's stricter threshold, for all it says; twice that for the text."""
    for name in TEXTS:
        assert contrast(colour(HIGH_CONTRAST, name), colour(HIGH_CONTRAST, "background")) >= 7
    assert contrast(colour(HIGH_CONTRAST, "foreground"), colour(HIGH_CONTRAST, "background")) == pytest.approx(21)


@pytest.mark.parametrize("choice", setting("theme").kind.words)  # type: ignore[attr-defined]
@pytest.mark.parametrize("environ", [{}, {"COLORFGBG": "0;15"}, {"COLORFGBG": "15;0"}, {"COLORFGBG": "nonsense"}])
@pytest.mark.parametrize("colours", [None, "standard", "256", "truecolor"])
def test_every_choice_is_a_theme(choice: str, environ: dict[str, str], colours: str | None) -> None:
    """Whatever the terminal says or does not say."""
    assert theme_for(choice, environ, colours) in {theme.name for theme in OWN_THEMES} | set(BUILTIN_THEMES)


def test_auto_follows_the_terminal() -> None:
    """Its background as far as it tells, and its colours where it has only sixteen."""
    light = {"COLORFGBG": "0;15"}
    assert theme_for("auto", {}, "truecolor") == DARK.name
    assert theme_for("auto", light, "256") == LIGHT.name
    assert theme_for("auto", {}, "standard") == TERMINAL_DARK
    assert theme_for("auto", light, "standard") == TERMINAL_LIGHT
    assert theme_for("terminal", light, "truecolor") == TERMINAL_LIGHT


def test_a_chosen_theme_is_taken_at_its_word() -> None:
    """Also where the terminal looks otherwise; where it has only sixteen colours, as to whether it is dark or light."""
    light = {"COLORFGBG": "0;15"}
    assert theme_for("dark", light, "256") == DARK.name
    assert theme_for("high-contrast", light, "truecolor") == HIGH_CONTRAST.name
    assert theme_for("light", {}, "256") == LIGHT.name
    assert theme_for("dark", light, "standard") == TERMINAL_DARK
    assert theme_for("high-contrast", light, "standard") == TERMINAL_DARK
    assert theme_for("light", {}, "standard") == TERMINAL_LIGHT


SIXTEEN = {
    "VGA": (
        *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170)),
        *((170, 170, 170), (85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255)),
        *((255, 85, 255), (85, 255, 255), (255, 255, 255)),
    ),
    "xterm": (
        *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205)),
        *((229, 229, 229), (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255)),
        *((255, 0, 255), (0, 255, 255), (255, 255, 255)),
    ),
}
"""What two kinds of terminal make of their colours, as red, green and blue."""


def as_seen(colour: RichColor | None, sixteen: Sequence[tuple[int, int, int]], default: Color) -> Color:
    if colour is None or colour.is_default:
        return default
    return Color(*(sixteen[colour.number] if colour.number is not None else colour.get_truecolor()))


def bars(screen: Screen[Any]) -> list[tuple[str, RichColor | None, RichColor | None]]:
    """Each piece of text on a highlighted row, with its colours."""
    found = []
    for options in screen.query(OptionList):
        rows = [y for y, (index, _) in enumerate(options._lines) if index == options.highlighted]
        strips = [options.render_line(y - int(options.scroll_offset.y)) for y in rows]
        pieces = [segment for strip in strips for segment in strip if segment.style and segment.text.strip()]
        found += [(piece.text, piece.style.color, piece.style.bgcolor) for piece in pieces if piece.style]
    return found


THEMES = (*(str(theme.name) for theme in OWN_THEMES), TERMINAL_DARK, TERMINAL_LIGHT)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("place", ["conversations", "pairs", "stats", "settings", "search", "links"])
async def test_every_piece_of_a_highlighted_row_can_be_read(theme: str, place: str, tmp_path: Path) -> None:
    """As drawn, in every list; in the terminal's own colours as well, with what they are by default."""
    engine, store = FakeEngine(), full_store(tmp_path / "history.db")
    app = ChatApp(chat_config(""), engine, engine.inbox, count().__next__, shelf_of(), store)
    async with app.run_test(size=(100, 40)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: app.session.phase is Phase.IDLE)
        app.theme = theme
        if place == "links":
            app.push_screen(LinksScreen([Link("a page", "https://a.org")]))
        else:
            await app._chat.run_command(known()[place])
        await pilot.pause()
        if place == "search":
            word = store.conversations()[0].heading.title.split()[0]
            await pilot.press(*word)
        await wait_until(pilot, lambda: bars(app.screen))
        pieces = bars(app.screen)
        store.close()
    dark = theme != TERMINAL_LIGHT
    for sixteen in SIXTEEN.values():
        for text, front, back in pieces:
            seen = as_seen(front, sixteen, Color(*sixteen[7 if dark else 0]))
            ground = as_seen(back, sixteen, Color(*sixteen[0 if dark else 15]))
            assert contrast(seen, ground) >= MIN_CONTRAST, f"{text!r}: {contrast(seen, ground):.2f}"
