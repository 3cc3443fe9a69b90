"""What the colours have to be: readable, and never the only cue."""

from __future__ import annotations

import pytest
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from localspec.engine.events import Origin
from localspec.tui.palette import MEANINGS, MIN_CONTRAST, contrast, palette_for
from localspec.tui.theme import DARK, LIGHT, theme_for
from localspec.tui.truth import KINDS, UNKNOWN, Mode

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
    assert theme_for("auto", {"COLORFGBG": "0;15"}) == LIGHT.name
    assert theme_for("auto", {"COLORFGBG": "15;0"}) == DARK.name
    assert theme_for("auto", {}) == DARK.name


MARKED = [(mode, kind) for mode in Mode for kind in KINDS[mode]]


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: str(theme.name))
def test_every_mode_can_be_read_on_every_theme(theme: Theme) -> None:
    """Each colour of each mode has a contrast of 4.5:1; also reversed, which is the same two colours."""
    background = colour(theme, "background")
    palette = palette_for(background, dark=theme.dark)
    for mode, kind in MARKED:
        mark = palette.mark(mode, kind).color
        if mark is not None:
            assert mark.triplet is not None
            assert contrast(Color(*mark.triplet), background) >= MIN_CONTRAST, (mode, kind)


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.OFF])
def test_no_mode_goes_by_colour_alone(mode: Mode) -> None:
    """Without colour the kinds of a mode still differ, and their cues are those of every theme.

    Tokens by an unknown drafter have a look of their own; those of unknown heat look like the likeliest.
    """
    palettes = [
        palette_for(Color.parse("#000000"), dark=True, no_color=True),
        palette_for(Color.parse("#000000"), dark=True),
        palette_for(Color.parse("#ffffff"), dark=False),
        palette_for(Color.parse("#000000"), dark=True, ansi=True),
        palette_for(Color.parse("#ffffff"), dark=False, ansi=True),
    ]
    kinds = [kind for kind in KINDS[mode] if kind != UNKNOWN]
    cues = [[cue(palette.mark(mode, kind)) for kind in kinds] for palette in palettes]
    assert all(palettes[0].mark(mode, kind).color is None for kind in kinds)
    assert all(other == cues[0] for other in cues)
    assert len(set(cues[0])) == len(kinds)


def test_no_marks_are_no_marks() -> None:
    """The mode that is off leaves every token as the theme has text."""
    palette = palette_for(Color.parse("#000000"), dark=True)
    assert all(palette.mark(Mode.OFF, kind) == Style() for kind in KINDS[Mode.OFF])


@pytest.mark.parametrize(("system", "n"), [(ColorSystem.EIGHT_BIT, 2.5), (ColorSystem.STANDARD, 1.5)])
def test_fewer_colours_keep_the_marks_visible(system: ColorSystem, n: float) -> None:
    """With 256 or 16 colours the nearest ones still stand out from our dark background; the cues stay as they are."""
    background = Color.parse(str(DARK.background))
    palette = palette_for(background, dark=True)
    for mode, kind in MARKED:
        mark = palette.mark(mode, kind).color
        if mark is not None:
            nearest = mark.downgrade(system).get_truecolor()
            assert contrast(Color(*nearest), background) >= n, (mode, kind)


def cue(style: Style) -> tuple[bool, bool, bool]:
    return bool(style.bold), bool(style.underline), bool(style.reverse)
