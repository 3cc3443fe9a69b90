"""What the colours have to be: readable, and never the only cue."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from localspec.engine.events import Origin
from localspec.tui.palette import MEANINGS, MIN_CONTRAST, contrast, palette_for
from localspec.tui.theme import DARK, LIGHT, preferred_theme

THEMES = [DARK, LIGHT, *(theme for theme in BUILTIN_THEMES.values() if not theme.ansi)]


def colour(theme: Theme, name: str) -> Color:
    return Color.parse(theme.to_color_system().generate()[name])


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: str(theme.name))
def test_every_mark_can_be_read_on_every_theme(theme: Theme) -> None:
    """Contrast is at least 4.5:1 on the background of each theme that one can choose."""
    background = colour(theme, "background")
    palette = palette_for(background, dark=theme.dark)
    for origin in (Origin.ACCEPTED, Origin.CORRECTED, Origin.BONUS):
        mark = palette.style(origin).color
        assert mark is not None
        assert mark.triplet is not None
        assert contrast(Color(*mark.triplet), background) >= MIN_CONTRAST


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: str(theme.name))
def test_the_text_of_our_themes_can_be_read(theme: Theme) -> None:
    """So can what is secondary, the accent and errors, on all our backgrounds."""
    variables = theme.variables | {"foreground": theme.foreground, "accent": theme.accent, "error": theme.error}
    for name in ("foreground", "quiet", "accent", "error"):
        for background in (theme.background, theme.surface):
            ratio = contrast(Color.parse(str(variables[name])), Color.parse(str(background)))
            assert ratio >= MIN_CONTRAST, f"{name} on {background}: {ratio:.2f}"


@pytest.mark.parametrize("arguments", [{"dark": True}, {"dark": False}, {"dark": True, "ansi": True}])
def test_no_two_origins_look_alike_without_colour(arguments: dict[str, bool]) -> None:
    """Bold and underline alone tell the four origins apart, with the same cues in every theme."""
    palette = palette_for(Color.parse("#000000"), **arguments)
    bare = palette_for(Color.parse("#000000"), dark=True, no_color=True)
    cues = {origin: (bool(palette.style(origin).bold), bool(palette.style(origin).underline)) for origin in Origin}
    assert len(set(cues.values())) == len(Origin)
    for origin in Origin:
        assert bare.style(origin).color is None
        assert (bool(bare.style(origin).bold), bool(bare.style(origin).underline)) == cues[origin]


def test_every_origin_has_a_meaning() -> None:
    """The legend leaves nobody out."""
    assert set(MEANINGS) == set(Origin)


def test_a_light_terminal_gets_the_light_theme() -> None:
    """As far as the terminal tells its background; dark otherwise."""
    assert preferred_theme({"COLORFGBG": "0;15"}) == LIGHT.name
    assert preferred_theme({"COLORFGBG": "15;0"}) == DARK.name
    assert preferred_theme({}) == DARK.name
