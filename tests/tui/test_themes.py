"""Themes: everything that is said can be read, in as many colours as the terminal has."""

from __future__ import annotations

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from localspec.config import setting
from localspec.tui.palette import MIN_CONTRAST, contrast
from localspec.tui.theme import (
    DARK,
    HIGH_CONTRAST,
    LIGHT,
    OWN_THEMES,
    TERMINAL_DARK,
    TERMINAL_LIGHT,
    theme_for,
)

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
    for name in ("foreground", "quiet"):
        assert contrast(colour(theme, name), colour(theme, "panel")) >= MIN_CONTRAST


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
    """Also where the terminal looks otherwise."""
    assert theme_for("dark", {"COLORFGBG": "0;15"}, "standard") == DARK.name
    assert theme_for("high-contrast", {}, "standard") == HIGH_CONTRAST.name
